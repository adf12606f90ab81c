"""What a scale-in waits for under stabilisation, in words."""

from __future__ import annotations

from config.units import Instant
from trigger.explain.time_words import say_clock, say_span, say_until
from trigger.guards.stabilisation import Stabilising


def say_stabilising(waiting: Stabilising, now: Instant) -> str:
    """Say which advice counts, since when a lower one stands, and when that may be; ``now`` is when it is read.

    >>> waiting = Stabilising(highest=7, lower=4, since=Instant(43200.0), free_at=Instant(43500.0))
    >>> say_stabilising(waiting, Instant(43320.0))
    'stabilisation: 7 until 12:00:00 (120 s ago), 4 advised since; below 7 at the earliest at 12:05:00 (3m left)'
    """
    told = f"stabilisation: {waiting.highest} until {say_clock(waiting.since)} ({say_span(now - waiting.since)} ago)"
    earliest = say_until(waiting.free_at, now)
    return f"{told}, {waiting.lower} advised since; below {waiting.highest} at the earliest at {earliest}"
