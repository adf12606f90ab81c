"""What waits for its turn, in words."""

from __future__ import annotations

from config.units import GroupId, Instant
from trigger.explain.time_words import say_clock, say_span
from trigger.requests import Queued


def say_queued(queued: Queued, ahead: GroupId | None, now: Instant) -> str:
    """Who asked, since when it waits, behind whom and how long it is kept."""
    request = queued.request
    behind = "its turn comes next" if ahead is None else f"{ahead} comes first"
    return (
        f"waiting for its turn: {request.cause.value} {request.by} since {say_clock(queued.since)} "
        f"({say_span(now - queued.since)} ago); {behind}; kept until {say_clock(queued.until)}"
    )
