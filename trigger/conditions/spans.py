"""Calculate and compare quantities that are known within bounds, or unknown.

Missing answers leave a span of possible values. The result of a calculation is a span that contains every possible
result; a comparison is true or false only if it is so for all of them. ``None`` is unknown, and makes every result that
uses it unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from trigger.verdicts import Truth

_EQUAL_WITHIN = 1e-9
"""Relative, as for conditions: an average of three times 0.1 equals 0.1."""


class ValueSpan(NamedTuple):
    """Bounds of a value, ``low ≤ high``: equal if the value is known exactly, infinite without a limit."""

    low: float
    high: float


Known = ValueSpan | None


def exactly(value: float) -> ValueSpan:
    """Make the span of a known value."""
    return ValueSpan(value, value)


def plus(a: Known, b: Known) -> Known:
    """``a + b``."""
    return None if a is None or b is None else _span(a.low + b.low, a.high + b.high)


def minus(a: Known, b: Known) -> Known:
    """``a - b``."""
    return plus(a, negative(b))


def times(a: Known, b: Known) -> Known:
    """``a * b``."""
    return None if a is None or b is None else _span(*(x * y for x in a for y in b))


def over(a: Known, b: Known) -> Known:
    """``a / b``; unknown where ``b`` can be 0.

    >>> over(exactly(1.0), ValueSpan(-1.0, 1.0)) is None
    True
    """
    if a is None or b is None or b.low <= 0 <= b.high:
        return None
    return _span(*(x / y for x in a for y in b))


def negative(a: Known) -> Known:
    """``-a``."""
    return None if a is None else ValueSpan(-a.high, -a.low)


def magnitude(a: Known) -> Known:
    """``abs(a)``."""
    if a is None:
        return None
    ends = (abs(a.low), abs(a.high))
    return ValueSpan(0.0 if a.low <= 0 <= a.high else min(ends), max(ends))


def least(*of: Known) -> Known:
    """Return the least of all; unknown if one is, since that one might be the least."""
    known = [each for each in of if each is not None]
    return ValueSpan(min(a.low for a in known), min(a.high for a in known)) if len(known) == len(of) else None


def greatest(*of: Known) -> Known:
    """Return the greatest of all; unknown if one is."""
    known = [each for each in of if each is not None]
    return ValueSpan(max(a.low for a in known), max(a.high for a in known)) if len(known) == len(of) else None


def first_known(a: Known, b: Known) -> Known:
    """``a ?? b``."""
    return b if a is None else a


def above(a: Known, b: Known) -> Truth:
    """``a > b``.

    >>> above(ValueSpan(3.0, 5.0), exactly(2.0)), above(ValueSpan(3.0, 5.0), exactly(4.0)), above(None, exactly(4.0))
    (<Truth.TRUE: 'true'>, <Truth.UNKNOWN: 'unknown'>, <Truth.UNKNOWN: 'unknown'>)
    """
    return Truth.UNKNOWN if a is None or b is None else _truth(a.low > b.high, a.high <= b.low)


def at_least(a: Known, b: Known) -> Truth:
    """``a >= b``."""
    return opposite(above(b, a))


def equals(a: Known, b: Known) -> Truth:
    """``a = b``, within rounding."""
    if a is None or b is None:
        return Truth.UNKNOWN
    slack = _EQUAL_WITHIN * max(1.0, *(abs(end) for end in (*a, *b) if math.isfinite(end)))
    every = a.high - b.low <= slack and b.high - a.low <= slack
    return _truth(every, a.low - b.high > slack or b.low - a.high > slack)


def opposite(truth: Truth) -> Truth:
    """Kleene's NOT."""
    match truth:
        case Truth.TRUE:
            return Truth.FALSE
        case Truth.FALSE:
            return Truth.TRUE
        case Truth.UNKNOWN:
            return Truth.UNKNOWN


def both(a: Truth, b: Truth) -> Truth:
    """Kleene's AND."""
    if Truth.FALSE in {a, b}:
        return Truth.FALSE
    return Truth.UNKNOWN if Truth.UNKNOWN in {a, b} else Truth.TRUE


def either(a: Truth, b: Truth) -> Truth:
    """Kleene's OR."""
    return opposite(both(opposite(a), opposite(b)))


def _truth(every: bool, none: bool) -> Truth:
    return Truth.TRUE if every else Truth.FALSE if none else Truth.UNKNOWN


def _span(*ends: float) -> Known:
    """Return the span of these ends; unknown if one of them is NaN."""
    return None if any(math.isnan(end) for end in ends) else ValueSpan(*_bounds(ends))


def _bounds(ends: Iterable[float]) -> tuple[float, float]:
    ordered = sorted(ends)
    return ordered[0], ordered[-1]
