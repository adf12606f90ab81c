"""Schedules: sizes and bounds that a calendar or a moment brings. Pure: the instant is an argument.

A `ScheduledLimit` stands from each of its times on until the end that follows, and is derived from nothing but the
declaration and the instant: a restart forgets nothing. A `ScheduledChange` is carried out once at each of its times;
which one was dealt with last is remembered by `trigger.policies.schedules`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from config.model.adjustments import Adjustment
from config.model.calendars import Calendar, last_before, next_after
from config.units import Instant, PolicyId, Seconds


class QuietScope(enum.Enum):
    """Which policies are quiet after a policy fired."""

    GROUP = "group"
    POLICY = "policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """One moment."""

    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class LastsFor:
    """So long after it began: real seconds, whatever the clock on the wall does."""

    span: Seconds


Times: TypeAlias = Calendar | Once
"""Closed union of when something is due."""

End: TypeAlias = Calendar | Once | LastsFor
"""Closed union of when something ends that is due at times."""


class ScheduledBound(enum.Enum):
    """Which bound a schedule moves."""

    FLOOR = "floor"
    CEILING = "ceiling"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledLimit:
    """From each of its times on until the end: no fewer members than ``size``, or no more."""

    id: PolicyId
    times: Times
    until: End
    limit: ScheduledBound
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledChange:
    """At each of its times: one adjustment; then be quiet for ``quiet_time``."""

    id: PolicyId
    times: Times
    adjustment: Adjustment
    grace: Seconds
    """How late it may still be carried out; 0: not at all. Infinite: however late."""
    quiet_time: Seconds = 300.0
    quiet_scope: QuietScope = QuietScope.GROUP


Schedule: TypeAlias = ScheduledLimit | ScheduledChange
"""Closed union of the policies with a calendar instead of conditions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundInForce:
    """A limit as it is at one instant."""

    limit: ScheduledLimit
    since: Instant | None
    """The last of its times, if it stands; ``None``: it does not."""
    until: Instant | None
    """Standing: when it ends; ``None``: never. Else: when it begins next; ``None``: never again."""

    @property
    def active(self) -> bool:
        """Whether it stands."""
        return self.since is not None


def standing(schedule: ScheduledLimit, instant: Instant) -> BoundInForce:
    """Say whether a limit stands, and until when that stays so. One that ends when it begins stands until the next."""
    known = _KNOWN.get(schedule)
    if known is not None and known[0] <= instant < known[1]:
        return known[2]
    since, following = last_time(schedule.times, instant), next_time(schedule.times, instant)
    ends = None if since is None else _end(schedule.until, since)
    if since is not None and (ends is None or instant < ends):
        found, begin = BoundInForce(limit=schedule, since=since, until=ends), since
        changes = [each for each in (ends, following) if each is not None]
    else:
        found, begin = BoundInForce(limit=schedule, since=None, until=following), instant
        changes = [] if following is None else [following]
    if len(_KNOWN) >= _MANY:
        _KNOWN.clear()
    _KNOWN[schedule] = (begin, min(changes, default=Instant(instant + 1)), found)
    return found


def last_time(times: Times, instant: Instant) -> Instant | None:
    """The last time at or before ``instant``; ``None``: there is none."""
    return _around(times, instant)[0]


def next_time(times: Times, instant: Instant) -> Instant | None:
    """The first time after ``instant``; ``None``: there is none."""
    return _around(times, instant)[1]


def _end(until: End, since: Instant) -> Instant | None:
    match until:
        case LastsFor(span=span):
            return Instant(since + span)
        case Once(at=at):
            return at
        case Calendar():
            return next_after(until, since)
        case _:
            assert_never(until)


def _around(times: Times, instant: Instant) -> tuple[Instant | None, Instant | None]:
    match times:
        case Once(at=at):
            return (at, None) if at <= instant else (None, at)
        case Calendar():
            last, following = _TIMES.get(times, (None, None))
            if last is not None and following is not None and last <= instant < following:
                return last, following
            last, following = last_before(times, instant), next_after(times, instant)
            if len(_TIMES) >= _MANY:
                _TIMES.clear()
            _TIMES[times] = last, following
            return last, following
        case _:
            assert_never(times)


_MANY = 10_000
_TIMES: dict[Calendar, tuple[Instant | None, Instant | None]] = {}
"""The times around the last instant: calendars are asked at every tick, and change their answer once a day."""
_KNOWN: dict[ScheduledLimit, tuple[Instant, Instant, BoundInForce]] = {}
"""From when to when the last answer holds."""
