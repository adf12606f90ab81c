"""Freeze windows: times at which policies and alarms leave a group's size alone. Pure: the instant is an argument."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from config.model.calendars import Calendar, last_before, next_after
from config.model.effects import FrozenDirection
from config.units import Instant, Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeWindow:
    """From each occurrence of a calendar on, for a while: real seconds, whatever the clock on the wall does."""

    calendar: Calendar
    duration: Seconds
    way: FrozenDirection = FrozenDirection.BOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Freezing:
    """A window as it stands at one instant."""

    window: FreezeWindow
    active: bool
    until: Instant | None
    """Active: when it ends. Else: when it begins next; ``None``: never again."""


def freezing(window: FreezeWindow, instant: Instant) -> Freezing:
    """Say whether a window is active, and until when that stays so."""
    known = _KNOWN.get(window)
    if known is not None and known[0] <= instant < known[1]:
        return known[2]
    began = last_before(window.calendar, instant)
    active = began is not None and instant < began + window.duration
    following = next_after(window.calendar, instant)
    if began is not None and active:
        ends = Instant(began + window.duration)
        found, begin = Freezing(window=window, active=True, until=ends), began
        end = ends if following is None else min(ends, following)
    else:
        found = Freezing(window=window, active=False, until=following)
        begin, end = instant, instant if following is None else following
    if len(_KNOWN) >= _MANY:
        _KNOWN.clear()
    _KNOWN[window] = (begin, end, found)
    return found


def frozen_until(windows: Collection[FreezeWindow], way: FrozenDirection, instant: Instant) -> Instant | None:
    """When the last active window ends that freezes this way, in or out; ``None``: none is active."""
    ends = [
        state.until
        for window in windows
        if window.way in {way, FrozenDirection.BOTH}
        and (state := freezing(window, instant)).active
        and state.until is not None
    ]
    return max(ends, default=None)


_MANY = 10_000
_KNOWN: dict[FreezeWindow, tuple[Instant, Instant, Freezing]] = {}
"""From when to when the last answer holds: calendars are asked at every tick, and change their mind twice a day."""
