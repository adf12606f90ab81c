"""What `trimtab doctor` asks of clouds, profiles and balancers, and what it makes of the answers.

A driver offers checks (`Examined`): each is one question, asked and answered by itself, which changes nothing.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Protocol, runtime_checkable

from config.causes import REMEDIES, FailureCause
from config.model.catalogue import Profile
from config.units import Instant, Seconds
from handler.planning.headroom import Quota, UsageLimit, headroom_of

_ASKEW: Seconds = 30.0
"""From here on clocks disagree: well beyond what a slow answer explains, well within what ages are judged by."""

UNREACHED = "see that it runs, and that its address can be reached from here; then ask again"
"""How to fix an endpoint that does not answer."""


class CheckVerdict(enum.Enum):
    """The result of a check."""

    OK = "ok"
    UNKNOWN = "unknown"
    """Not known; there is no sign of a problem."""
    PROBLEM = "problem"


class About(enum.Enum):
    """The subject of a check."""

    CLOUD = "cloud"
    PROFILE = "profile"
    BALANCER = "balancer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The finding of one check."""

    verdict: CheckVerdict
    words: str
    remedy: str = ""
    """What a person can do; empty: nothing is needed, or the words contain it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check."""

    about: About
    name: str
    """The id of the cloud, profile or balancer, as the file has it."""
    what: str
    """The subject in a word or two."""
    look: Callable[[], Look]
    """Runs the check. A `DriverError` is a result, too: the check fails, or the endpoint does not answer."""
    remedy: str = ""
    """What to do where a refusal comes without a reason; empty: follow its message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorFinding:
    """The finding of one check, with the groups that it concerns."""

    about: About
    name: str
    what: str
    groups: tuple[str, ...]
    """The groups that it concerns."""
    verdict: CheckVerdict
    words: str
    """The finding in words; never a secret."""
    remedy: str = ""


@runtime_checkable
class Examined(Protocol):
    """A driver of a cloud with checks for `doctor`."""

    def checks(self, profiles: Sequence[Profile], most: int) -> Sequence[Check]:
        """Return the checks of this cloud. No call is made before a check's own ``look``.

        Args:
            profiles: the profiles of groups on this cloud.
            most: how many members these groups may have together.
        """
        ...


@runtime_checkable
class Inspected(Protocol):
    """A driver of a balancer with checks for `doctor`."""

    def checks(self, name: str) -> Sequence[Check]:
        """Return the checks, as `Examined` does; ``name``: the balancer's id in the file."""
        ...


def fine(words: str) -> Look:
    """Return a finding without a problem."""
    return Look(verdict=CheckVerdict.OK, words=words)


def wrong(words: str, remedy: str = "") -> Look:
    """Something is not."""
    return Look(verdict=CheckVerdict.PROBLEM, words=words, remedy=remedy)


def unknown(words: str) -> Look:
    """Return a finding that is not known."""
    return Look(verdict=CheckVerdict.UNKNOWN, words=words)


def found(kind: str, written: str, id: str) -> Look:
    """A name that means something.

    >>> found("image", "web", "7c1b").words, found("image", "7c1b", "7c1b").words
    ('image web is 7c1b', 'image 7c1b is there')
    """
    return fine(f"{kind} {written} is there" if written == id else f"{kind} {written} is {id}")


# Clocks


def clock_look(date: str | None, before: Instant, after: Instant) -> Look:
    """Hold the other side's clock against ours.

    Args:
        date: the field Date of its answer (RFC 9110, 6.6.1), in whole seconds; ``None``: it has none.
        before: our clock when it was asked.
        after: our clock when it had answered.

    >>> clock_look("Sat, 31 Jan 2026 14:20:01 GMT", Instant(1769869200.0), Instant(1769869201.5)).words
    'its clock agrees with ours'
    >>> clock_look("Sat, 31 Jan 2026 14:22:00 GMT", Instant(1769869200.0), Instant(1769869201.5)).words
    'its clock is 118 s ahead of ours'
    """
    try:
        theirs = None if date is None else parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        theirs = None
    if theirs is None:
        return unknown("its answers do not contain the time")
    ahead, behind = theirs - after, before - (theirs + 1.0)
    if max(ahead, behind) < _ASKEW:
        return fine("its clock agrees with ours")
    apart = f"{ahead:.0f} s ahead of" if ahead > behind else f"{behind:.0f} s behind"
    return wrong(f"its clock is {apart} ours", "let both keep time by NTP: ages of machines are judged by it")


def look_at_clock(ask: Callable[[], str | None], clock: Callable[[], Instant]) -> Look:
    """Compare clocks by an answer; ``ask`` returns its field Date, as `clock_look` takes it. Raises what it raises."""
    before = clock()
    date = ask()
    return clock_look(date, before, clock())


# Quotas


def quota_look(machines: UsageLimit, others: Sequence[UsageLimit], most: int, present: int) -> Look:
    """Check whether the groups can grow to their maximum.

    Args:
        machines: all machines of this account.
        others: what else is counted there.
        most: how many members the groups may have, all together.
        present: how many of these there are.

    >>> cores = UsageLimit(what="cores", used=8, most=None)
    >>> look = quota_look(UsageLimit(what="machines", used=4, most=10), [cores], 12, 4)
    >>> look.words
    'there is room for 6 more machines, and groups may want 8: machines 4 of 10, cores 8 without a limit'
    >>> look.remedy
    "raise the account's limit, or lower max"
    """
    limits = ", ".join(str(limit) for limit in (machines, *others))
    wanted = max(most - present, 0)
    left = None if machines.most is None else max(machines.most - machines.used, 0)
    if left is not None and left < wanted:
        words = f"there is room for {left:g} more machines, and groups may want {wanted}: {limits}"
        return wrong(words, REMEDIES[FailureCause.QUOTA])
    spent = [limit.what for limit in others if limit.most is not None and limit.used >= limit.most]
    if spent and wanted:
        return wrong(f"no {' and no '.join(spent)} left: {limits}", REMEDIES[FailureCause.QUOTA])
    return fine(limits)


def room_look(quotas: Sequence[Quota], most: int, present: int) -> Look:
    """Check the same for what members use besides machines.

    >>> ports = Quota(limit=UsageLimit(what="ports", used=4, most=10), each=2)
    >>> room_look([ports], 12, 4).words
    'there is room for 3 more members, and groups may want 8: ports 4 of 10, and each takes 2'
    """
    room, needed = headroom_of(quotas, {}), max(most - present, 0)
    if room is not None and room.members < needed:
        words = f"there is room for {room.members} more members, and groups may want {needed}: {room.by}"
        return wrong(words, REMEDIES[FailureCause.QUOTA])
    return fine(", ".join(str(quota.limit) for quota in quotas))
