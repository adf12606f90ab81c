"""Schedules in words; with dates, since they may be days away."""

from __future__ import annotations

from datetime import UTC, datetime

from config.model.adjustments import Adjustment
from config.model.schedules import Limit, Standing
from config.units import GroupId, Instant, format_span
from trigger.explain.explanation import Coming


def say_limit(state: Standing, group: GroupId, now: Instant) -> str:
    """Say what a limit does, since when and until when, or when it comes next; ``now`` is when that is read."""
    limit = state.limit
    if state.since is not None:
        way = "or more" if limit.limit is Limit.FLOOR else "or fewer"
        ends = "for ever" if state.until is None else f"until {_day(state.until)}{_left(state.until, now)}"
        return f"schedule {limit.id} keeps {group} at {limit.size} {way} {ends}, since {_day(state.since)}"
    return f"schedule {limit.id}: {_next(state.until)}, {limit.limit.value} {limit.size}"


def say_coming(coming: Coming) -> str:
    """Say when a change is due next."""
    return f"schedule {coming.schedule.id}: {_next(coming.at)}, {say_adjustment(coming.schedule.adjustment)}"


def say_adjustment(adjustment: Adjustment) -> str:
    """Write it as it stands in the file."""
    least = f", at least {adjustment.at_least}" if adjustment.at_least else ""
    return f"{adjustment.verb.value} {adjustment.amount:g}{'%' if adjustment.percent else ''}{least}"


def _next(at: Instant | None) -> str:
    return "never again" if at is None else f"next at {_day(at)}"


def _left(until: Instant, now: Instant) -> str:
    return f" ({format_span(until - now)} left)" if until > now else ", which is past"


def _day(at: Instant) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
