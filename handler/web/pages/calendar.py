"""What a group's schedules and freeze windows do in the coming week, day by day. Pure: the instant is an argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, islice

from config.model.catalogue import Group
from config.model.freezes import FreezeWindow
from config.model.schedules import Schedule, ScheduledChange, ScheduledLimit, next_time, standing
from config.units import Instant, Seconds, format_span
from handler.web.pages.figures import clock, minute
from trigger.explain.time_words import say_adjustment

_WEEK: Seconds = 7 * 86_400.0
_TIMES = 100
"""Of one schedule or window at most: what comes every minute needs no calendar."""


@dataclass(frozen=True, slots=True, order=True)
class Planned:
    """One thing that is due."""

    at: Instant
    what: str


@dataclass(frozen=True, slots=True)
class PlannedDay:
    """One day of the calendar, UTC."""

    date: str
    entries: tuple[tuple[str, str], ...]
    """Time of day, and what is due."""


def week_of(group: Group, now: Instant) -> tuple[PlannedDay, ...]:
    """Return the days of the coming week on which something is due."""
    planned = [each for schedule in group.schedules for each in _of_schedule(schedule, now)]
    planned += [each for window in group.freezes for each in _of_window(window, now)]
    days = groupby(sorted(planned), key=lambda each: f"{datetime.fromtimestamp(each.at, UTC):%a %Y-%m-%d}")
    return tuple(PlannedDay(day, tuple((clock(each.at)[:5], each.what) for each in due)) for day, due in days)


def _of_schedule(schedule: Schedule, now: Instant) -> Iterator[Planned]:
    for at in _times(lambda instant: next_time(schedule.times, instant), now):
        match schedule:
            case ScheduledChange():
                yield Planned(at, f"{schedule.id}: {say_adjustment(schedule.adjustment)}")
            case ScheduledLimit():
                until = standing(schedule, at).until
                ends = "" if until is None else f" until {minute(until)}"
                yield Planned(at, f"{schedule.id}: {schedule.limit.value} {schedule.size}{ends}")


def _of_window(window: FreezeWindow, now: Instant) -> Iterator[Planned]:
    for at in _times(lambda instant: next_time(window.calendar, instant), now):
        yield Planned(at, f"frozen ({window.way.value}) for {format_span(window.duration)}")


def _times(following: Callable[[Instant], Instant | None], now: Instant) -> Iterator[Instant]:
    """Yield the times of the coming week."""
    return islice(_all(following, now), _TIMES)


def _all(following: Callable[[Instant], Instant | None], now: Instant) -> Iterator[Instant]:
    at = following(now)
    while at is not None and at < now + _WEEK:
        yield at
        at = following(at)
