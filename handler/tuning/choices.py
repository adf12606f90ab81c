"""Which values are worth trying in place of one: round ones, on both sides of it."""

from __future__ import annotations

import math

from config.units import Seconds

_STEPS = 16
"""A level is tried in steps of about so small a part of it."""
_ROUND = (1.0, 2.0, 5.0, 10.0)
_MULTIPLES = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 30, 40, 60)
"""Of the interval."""
_SPREAD = 6.0
"""How many times as long or as short a duration may become."""
_PERCENTAGES = (5.0, 10.0, 15.0, 20.0, 25.0, 33.0, 50.0, 75.0, 100.0)
_MOST_PERCENT = 4.0
_CLOSE = 1e-9


def levels(today: float, limits: tuple[float, float] | None) -> tuple[float, ...]:
    """Return levels from half to one and a half times today's.

    Args:
        today: the level that is written.
        limits: the least and the greatest value that there can be; a level at one of them would never be passed.

    >>> levels(80.0, (0.0, 100.0))
    (40.0, 45.0, 50.0, 55.0, 60.0, 65.0, 70.0, 75.0, 80.0, 85.0, 90.0, 95.0)
    """
    low, high = sorted((today * 0.5, today * 1.5))
    found = {today, *stepped(low, high, round_step(abs(today) / _STEPS))}
    least, most = limits if limits is not None else (-math.inf, math.inf)
    return tuple(sorted(level for level in found if level == today or least < level < most))


def round_step(step: float) -> float:
    """Return the nearest of 1, 2, 5 and 10 times a power of ten.

    >>> round_step(4.1), round_step(0.013), round_step(0.0)
    (5.0, 0.01, 1.0)
    """
    if step <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return min((each * power for each in _ROUND), key=lambda each: abs(each - step))


def stepped(low: float, high: float, step: float) -> tuple[float, ...]:
    """Return the multiples of a step from ``low`` to ``high``, both included.

    >>> stepped(50.0, 60.0, 5.0)
    (50.0, 55.0, 60.0)
    """
    first, last = math.ceil(low / step - _CLOSE), math.floor(high / step + _CLOSE)
    return tuple(round(number * step, 10) for number in range(first, last + 1))


def spans(today: Seconds, interval: Seconds, *, least: Seconds) -> tuple[Seconds, ...]:
    """Return durations of whole intervals, up to six times as long or as short as today's.

    >>> spans(60.0, 30.0, least=0.0)
    (30.0, 60.0, 90.0, 120.0, 180.0, 240.0, 300.0, 360.0)
    """
    usual = today or interval
    found = (interval * each for each in _MULTIPLES)
    inside = {each for each in found if usual / _SPREAD - _CLOSE <= each <= usual * _SPREAD + _CLOSE}
    return tuple(sorted({today, *(each for each in inside if each >= least)}))


def amounts(today: float, *, percent: bool) -> tuple[float, ...]:
    """Return numbers of members from 1 to twice today's, at least to 4; or percentages up to four times today's.

    >>> amounts(2.0, percent=False), amounts(10.0, percent=True)
    ((1.0, 2.0, 3.0, 4.0), (5.0, 10.0, 15.0, 20.0, 25.0, 33.0))
    """
    if not percent:
        most = max(4, math.floor(2 * today))
        return tuple(sorted({today, *stepped(1.0, float(most), max(1.0, round_step(most / _STEPS)))}))
    inside = (each for each in _PERCENTAGES if today / _MOST_PERCENT <= each <= today * _MOST_PERCENT)
    return tuple(sorted({today, *inside}))
