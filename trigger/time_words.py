"""Times in words, in UTC, and spans as a person compares them."""

from __future__ import annotations

import math

from config.units import Instant, Seconds, format_span

_IN_SECONDS = 180.0
"""Shorter spans are written in seconds, which can be compared at a glance: 90 s of 120 s."""


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
    return (
        f"{say_clock(instant)} ({say_span(instant - now)} left)"
        if instant > now
        else f"{say_clock(instant)}, which is past"
    )


def say_clock(instant: Instant) -> str:
    """Write the time of day.

    >>> say_clock(Instant(43200.5))
    '12:00:00'
    """
    minutes, seconds = divmod(math.floor(instant) % 86_400, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
