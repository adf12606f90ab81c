"""Decide when people are notified of a group's trouble, and of what. Pure.

# Note [One notice per trouble]

An outage begins when a group is ERROR or WARNING, and ends when it is RUNNING or COOLDOWN again, or is no longer kept
(ORPHANED, DELETING). There is one notice when it begins, one if it becomes worse, and one when it is over; however
often a group changes between WARNING and ERROR, the worse gives one notice. SCALING, STARTING and PAUSED mean nothing
here: a step that failed for good is not retried all the time, and in between the group only looks busy.

ERROR gives a notice at once. WARNING must last for one interval, and so must the end: what comes and goes within an
interval notifies no person. The last notice is in the store, so a restart neither repeats nor forgets one; only the
length of a state without a notice is counted anew.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import assert_never

from config.model.catalogue import Group
from config.model.observability import NotifyCommand, NotifySlack, NotifyTarget, NotifyUrl, Severity
from config.units import GroupId, Instant, Seconds
from handler.planning.status import GroupCondition
from trigger.requests import Clamp

_FIRST_PAUSE: Seconds = 5.0
_LONGEST_PAUSE: Seconds = 900.0
_PATIENCE: Seconds = 86400.0
_MESSAGES = 20
_LONGEST_MESSAGE = 500


class StateTurn(enum.Enum):
    """Which way a group has turned."""

    ENTERED = "entered"
    LEFT = "left"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One notification of people."""

    group: GroupId
    turn: StateTurn
    severity: Severity
    """The state that began; at the end of an outage, the worst state in its notices."""
    condition: GroupCondition
    """How the group is."""
    messages: tuple[str, ...]
    """Why, in words."""
    since: Instant
    """When the outage began: the same in all its notices."""
    at: Instant

    @property
    def outage(self) -> str:
        """The outage that it is about: what notices that belong together share."""
        return f"{self.group}.{round(self.since * 1000)}"

    @property
    def id(self) -> str:
        """The same for the same news, whenever and however often it is found or sent."""
        return f"{self.outage}.{self.severity.value}.{self.turn.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionNotice:
    """One notification of a change of a group's desired size."""

    group: GroupId
    at: Instant
    reason: str
    """A word of the closed list of reasons."""
    by: str
    """The cause and the policy, alert, schedule or person; empty: none asked."""
    desired_from: int | None
    desired_to: int | None
    clamps: tuple[Clamp, ...] = ()

    @property
    def id(self) -> str:
        """The same for the same decision, whenever and however often it is found or sent."""
        return f"{self.group}.{round(self.at * 1000)}.desired.{self.desired_to}"


News = Notice | DecisionNotice


def words_of(news: News) -> str:
    """Return what a notification is about, for a line of history or of the log."""
    match news:
        case Notice():
            return f"{news.turn.value} {news.severity.value}"
        case DecisionNotice():
            return f"decided {news.desired_from} → {news.desired_to}"
        case _:
            assert_never(news)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """A notice that waits to be sent."""

    notice: News
    target: NotifyTarget
    attempts: int = 0
    """How often it was tried in vain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What became of sending a notice."""

    at: Instant
    delivered: bool
    next_at: Instant | None = None
    """When to try again; ``None``: it is delivered, or given up."""
    because: str = ""
    """Why it is not delivered, in words without secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """An outage with a notice that is not over."""

    since: Instant
    severity: Severity
    """The worst state with a notice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What is remembered of a group between two looks."""

    outage: Outage | None = None
    turned_at: Instant | None = None
    """Since when the state differs from the last notice."""


class _Well(enum.Enum):
    """A condition that is no trouble."""

    YES = "yes"
    KEPT_NO_LONGER = "kept no longer"
    SAYS_NOTHING = "says nothing"


def watch_after(last: Notice | None) -> Watch:
    """What to remember of a group that this was the last notice of, for example after a restart."""
    if last is None or last.turn is StateTurn.LEFT:
        return Watch()
    return Watch(outage=Outage(since=last.since, severity=last.severity))


def look(
    watch: Watch, group: Group, condition: GroupCondition, messages: tuple[str, ...], now: Instant
) -> tuple[Watch, Notice | None]:
    """Look at a group as it is now: what is news, and what to remember.

    The watch that comes with a notice holds only once that notice is on disk. See the note above.
    """
    if group.notify is None:
        return Watch(), None
    seen = _judged(condition, group.notify.on)
    if seen is _Well.SAYS_NOTHING:
        return watch, None
    following = _begun(watch, group, seen, now) if isinstance(seen, Severity) else _ended(watch, group, seen, now)
    turn = _turn(watch.outage, following.outage)
    if turn is None:
        return following, None
    outage = following.outage or watch.outage
    if outage is None:
        raise AssertionError("a turn without an outage")
    notice = Notice(
        group=group.id,
        turn=turn,
        severity=outage.severity,
        condition=condition,
        messages=tuple(message[:_LONGEST_MESSAGE] for message in messages[:_MESSAGES]),
        since=outage.since,
        at=now,
    )
    return following, notice


def _turn(before: Outage | None, after: Outage | None) -> StateTurn | None:
    if before == after:
        return None
    return StateTurn.LEFT if after is None else StateTurn.ENTERED


def _begun(watch: Watch, group: Group, seen: Severity, now: Instant) -> Watch:
    """Handle trouble: a notice at once for an error, otherwise after an interval, and never twice."""
    if watch.outage is not None:
        worse = seen is Severity.ERROR and watch.outage.severity is Severity.WARNING
        return Watch(outage=replace(watch.outage, severity=seen) if worse else watch.outage)
    since = watch.turned_at if watch.turned_at is not None else now
    if seen is Severity.WARNING and now - since < group.interval:
        return Watch(turned_at=since)
    return Watch(outage=Outage(since=since, severity=seen))


def _ended(watch: Watch, group: Group, seen: _Well, now: Instant) -> Watch:
    """Handle the end of trouble: a notice after an interval, or at once for a group that is no longer kept."""
    if watch.outage is None:
        return Watch()
    since = watch.turned_at if watch.turned_at is not None else now
    if seen is _Well.YES and now - since < group.interval:
        return replace(watch, turned_at=since)
    return Watch()


def _judged(condition: GroupCondition, on: tuple[Severity, ...]) -> Severity | _Well:
    match condition:
        case GroupCondition.ERROR:
            return Severity.ERROR if Severity.ERROR in on else _Well.YES
        case GroupCondition.WARNING:
            return Severity.WARNING if Severity.WARNING in on else _Well.YES
        case GroupCondition.RUNNING | GroupCondition.COOLDOWN:
            return _Well.YES
        case GroupCondition.DELETING | GroupCondition.ORPHANED:
            return _Well.KEPT_NO_LONGER
        case GroupCondition.SCALING | GroupCondition.STARTING | GroupCondition.PAUSED:
            return _Well.SAYS_NOTHING
        case _:
            assert_never(condition)


# Where it is sent.


def channel(target: NotifyTarget) -> str:
    """By which kind of way it is sent: ``command``, ``url`` or ``slack``."""
    match target:
        case NotifyCommand():
            return "command"
        case NotifyUrl():
            return "url"
        case NotifySlack():
            return "slack"
        case _:
            assert_never(target)


# When it is sent again.


def delivered(at: Instant) -> Tried:
    """It has arrived."""
    return Tried(at=at, delivered=True)


def failed(filed: Filed, because: str, at: Instant) -> Tried:
    """It has not arrived: again after 5 s, then twice as long each time, up to 15 min; given up after a day."""
    last_at = filed.notice.at + _PATIENCE
    if at >= last_at:
        return Tried(at=at, delivered=False, because=because)
    pause = min(_FIRST_PAUSE * 2.0 ** min(filed.attempts, 10), _LONGEST_PAUSE)
    return Tried(at=at, delivered=False, next_at=Instant(min(at + pause, last_at)), because=because)
