"""Write times in words, and what starts or ends at them: freezes, schedules, stabilisation, turns and pauses."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import assert_never

from config.model.adjustments import Adjustment
from config.model.effects import FrozenDirection
from config.model.freezes import Freezing
from config.model.schedules import BoundInForce, ScheduledBound
from config.units import GroupId, Instant, Seconds, format_span
from trigger.explain.explanation import Coming
from trigger.guards.stabilisation import Stabilising
from trigger.requests import FleetPause, Pause, Queued

_IN_SECONDS = 180.0
"""Shorter spans are written in seconds, so that a reader can compare them: 90 s of 120 s."""
_DAY_MS = 86_400_000


def say_span(length: Seconds) -> str:
    """Write how long something takes.

    >>> say_span(120.0), say_span(300.0)
    ('120 s', '5m')
    """
    return f"{length:.0f} s" if length < _IN_SECONDS else format_span(length)


def say_until(instant: Instant, now: Instant) -> str:
    """Write when something ends, and how long that is from now.

    >>> say_until(Instant(43200.0), Instant(43100.0))
    '12:00:00 (100 s left)'
    """
    left = f"{say_span(instant - now)} left" if instant > now else "over"
    return f"{say_clock(instant)} ({left})"


def say_clock(instant: Instant) -> str:
    """Write the time of day.

    >>> say_clock(Instant(43200.5))
    '12:00:00'
    """
    minutes, seconds = divmod(math.floor(instant) % 86_400, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"


def say_moment(instant: Instant) -> str:
    """Write the time of day of a decision, precise enough to find the decision again.

    >>> say_moment(Instant(43200.5))
    '12:00:00.500'
    """
    seconds, rest = divmod(whole_milliseconds(instant) % _DAY_MS, 1000)
    return f"{say_clock(Instant(float(seconds)))}.{rest:03}"


def whole_milliseconds(instant: Instant) -> int:
    """Count the whole milliseconds before an instant: ``n / 1000 <= instant < (n + 1) / 1000``, as floats compare.

    >>> whole_milliseconds(Instant(1772366400.532)), whole_milliseconds(Instant(1772366400.5319998))
    (1772366400532, 1772366400531)
    """
    count = math.floor(instant * 1000)
    if (count + 1) / 1000 <= instant:
        return count + 1
    return count - 1 if count / 1000 > instant else count


def say_freezing(state: Freezing, group: GroupId, now: Instant) -> str:
    """Say what a freeze window does and until when, or when it comes next; ``now`` is when a person reads it."""
    window = state.window
    name = f'freeze window "{window.calendar.cron}" {window.calendar.timezone}'
    if state.until is None:
        return f"{name} never comes again"
    day = f"{datetime.fromtimestamp(state.until, UTC):%Y-%m-%d %H:%M} UTC"
    if not state.active:
        return f"{name}: next at {day}, for {format_span(window.duration)}"
    what = "scaling" if window.way is FrozenDirection.BOTH else f"scale-{window.way.value}"
    return f"{name} blocks {what} of {group} until {day}{_left(state.until, now)}"


def say_limit(state: BoundInForce, group: GroupId, now: Instant) -> str:
    """Say what a limit does, since when and until when, or when it comes next; ``now`` is when a person reads it."""
    limit = state.limit
    if state.since is not None:
        way = "or more" if limit.limit is ScheduledBound.FLOOR else "or fewer"
        ends = "for ever" if state.until is None else f"until {say_day(state.until)}{_left(state.until, now)}"
        return f"schedule {limit.id} keeps {group} at {limit.size} {way} {ends}, since {say_day(state.since)}"
    return f"schedule {limit.id}: {_next(state.until)}, {limit.limit.value} {limit.size}"


def say_coming(coming: Coming) -> str:
    """Say when a schedule changes the size next."""
    return f"schedule {coming.schedule.id}: {_next(coming.at)}, {say_adjustment(coming.schedule.adjustment)}"


def say_adjustment(adjustment: Adjustment) -> str:
    """Write an adjustment as the file has it."""
    least = f", at least {adjustment.at_least}" if adjustment.at_least else ""
    return f"{adjustment.verb.value} {adjustment.amount:g}{'%' if adjustment.percent else ''}{least}"


def _next(at: Instant | None) -> str:
    return "never again" if at is None else f"next at {say_day(at)}"


def _left(until: Instant, now: Instant) -> str:
    return f" ({format_span(until - now)} left)" if until > now else " (over)"


def say_day(at: Instant) -> str:
    """Write the day and the minute."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def say_stabilising(waiting: Stabilising, now: Instant) -> str:
    """Say how low policies may go and until when, and what they advised; ``now`` is when a person reads it.

    >>> waiting = Stabilising(highest=7, lower=4, since=Instant(43200.0), free_at=Instant(43500.0))
    >>> say_stabilising(waiting, Instant(43320.0))
    'stabilisation: policies keep 7 or more until 12:05:00 (3m left); advised 7 until 12:00:00 (120 s ago), 4 since'
    """
    kept = f"stabilisation: policies keep {waiting.highest} or more until {say_until(waiting.free_at, now)}"
    ago = f"{say_clock(waiting.since)} ({say_span(now - waiting.since)} ago)"
    return f"{kept}; advised {waiting.highest} until {ago}, {waiting.lower} since"


def say_queued(queued: Queued, ahead: GroupId | None, now: Instant) -> str:
    """Say which request waits, since when, for which group, and when it expires."""
    request = queued.request
    first = "its turn comes next" if ahead is None else f"group {ahead} scales first"
    return (
        f"waiting for its turn: {first}; request of {request.cause.value} {request.by}, waiting since "
        f"{say_clock(queued.since)} ({say_span(now - queued.since)} ago), expires at {say_clock(queued.until)}"
    )


def say_pause(pause: Pause) -> str:
    """Say what a person has paused; empty if nothing is paused."""
    match pause:
        case Pause.NO:
            return ""
        case Pause.ALL:
            return "paused"
        case Pause.DECISIONS:
            return "decisions paused"
        case Pause.OUT:
            return "scale-out paused"
        case Pause.IN:
            return "scale-in paused"
        case _:
            assert_never(pause)


def say_fleet_pause(fleet: FleetPause, now: Instant) -> str:
    """Say what is paused in all groups, by which person, since when and why.

    >>> say_fleet_pause(FleetPause(pause=Pause.OUT, by="ada", since=Instant(60.0), because="quota"), Instant(120.0))
    'all groups: scale-out paused by ada since 00:01:00 (60 s ago): quota'
    """
    because = f": {fleet.because}" if fleet.because else ""
    ago = say_span(now - fleet.since)
    return f"all groups: {say_pause(fleet.pause)} by {fleet.by} since {say_clock(fleet.since)} ({ago} ago){because}"
