"""A freeze window in words; with dates, since windows may last for days."""

from __future__ import annotations

from datetime import UTC, datetime

from config.model.effects import Way
from config.model.freezes import Freezing
from config.units import GroupId, Instant, format_span


def say_freezing(state: Freezing, group: GroupId, now: Instant) -> str:
    """Say what a window does until when, or when it comes next; ``now`` is when that is read."""
    window = state.window
    name = f'freeze window "{window.calendar.cron}" {window.calendar.timezone}'
    if state.until is None:
        return f"{name} never comes again"
    day = f"{datetime.fromtimestamp(state.until, UTC):%Y-%m-%d %H:%M} UTC"
    if not state.active:
        return f"{name}: next at {day}, for {format_span(window.duration)}"
    what = "scaling" if window.way is Way.BOTH else f"scale-{window.way.value}"
    left = f"({format_span(state.until - now)} left)" if state.until > now else "which is past"
    return f"{name} freezes {what} of {group} until {day} {left}"
