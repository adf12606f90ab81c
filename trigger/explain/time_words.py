"""Times in words, in UTC, and spans as a person compares them."""

from __future__ import annotations

import math

from config.units import Instant, Seconds, format_span

_IN_SECONDS = 180.0
"""Shorter spans are written in seconds, which can be compared at a glance: 90 s of 120 s."""
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
