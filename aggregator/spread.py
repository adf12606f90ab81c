"""Tally one tick, and reduce it by order or by spread: percentiles, ranks, and the standard deviation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggregator.ordering import Joined, Lists, no_copies, ordered
from aggregator.rates import Ints
from collector.samples import Bools, Floats
from config.model.reductions import Rank, Statistic


class HeardTally(NamedTuple):
    """The answers of one tick. All arrays are (run,), or (track,) once picked; counts are whole numbers.

    For many ticks at once they are (tick, run), except ``expected``.
    """

    expected: Floats
    """Counted members: those that should answer."""
    heard: Floats
    """Members that answered."""
    total: Floats
    """0.0 without an answer."""
    least: Floats
    """inf without an answer."""
    greatest: Floats
    """-inf without an answer."""
    newest: Floats
    """Steady seconds of the newest answer; -inf without an answer."""

    def pick(self, places: Ints) -> HeardTally:
        """Take these entries, in this order."""
        return HeardTally(*(column[..., places] for column in self))


class BoundedValues(NamedTuple):
    """Values and their bounds. Not clamped: a value may lie outside its bounds."""

    low: Floats
    value: Floats
    high: Floats


def spread(how: Statistic | Rank, lists: Lists, seen: HeardTally, least: Floats, greatest: Floats) -> BoundedValues:
    """Reduce each list, with bounds as if all members had answered.

    A percentile or rank never falls when one of its values rises. So its bounds are its values with all missing answers
    at the least, and at the greatest possible value. A standard deviation is at least 0, and at most half the distance
    from the least to the greatest value (Popoviciu's inequality).

    Args:
        how: the reduction.
        lists: (track,) the sorted values.
        seen: (track,) their tally.
        least: (track,) least value of a missing answer.
        greatest: (track,) greatest value of a missing answer.
    """
    missing = np.maximum(seen.expected, 1.0) - seen.heard
    if how is Statistic.STDDEV:
        value = _deviation(lists, seen)
        half = (np.maximum(greatest, seen.greatest) - np.minimum(least, seen.least)) / 2
        silent = missing > 0
        return BoundedValues(np.where(silent, 0.0, value), value, np.where(silent, half, value))
    copies = missing.astype(np.intp)
    value = np.nan_to_num(ordered(how, lists, no_copies(lists)))
    return BoundedValues(
        ordered(how, lists, Joined(value=least, copies=copies)),
        value,
        ordered(how, lists, Joined(value=greatest, copies=copies)),
    )


def short(how: Statistic | Rank, seen: HeardTally) -> Bools:
    """Tell where too few members answered: fewer than the rank, and fewer than all."""
    if isinstance(how, Rank):
        few: Bools = seen.heard < np.minimum(how.nth, seen.expected)
        return few
    return np.zeros(seen.heard.size, dtype=np.bool_)


def _deviation(lists: Lists, seen: HeardTally) -> Floats:
    heard = np.maximum(seen.heard, 1.0)
    owner = np.repeat(np.arange(lists.counts.size), lists.counts)
    rows = np.repeat(lists.starts - (np.cumsum(lists.counts) - lists.counts), lists.counts) + np.arange(owner.size)
    away = lists.values[rows] - (seen.total / heard)[owner]
    largest = np.zeros(lists.counts.size)
    np.maximum.at(largest, owner, np.abs(away))
    largest[largest == 0] = 1.0
    away /= largest[owner]  # the squares of large values would overflow
    squares = np.bincount(owner, weights=away * away, minlength=lists.counts.size)
    deviation: Floats = largest * np.sqrt(squares / heard)
    return deviation
