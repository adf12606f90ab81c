"""What was heard at one tick, and reductions by order or by spread: percentiles, ranks, and the standard deviation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggregator.ordering import Joined, Lists, nobody, ordered
from aggregator.rates import Ints
from collector.samples import Bools, Floats
from config.model.reductions import Rank, Statistic


class HeardTally(NamedTuple):
    """What was heard at one tick. All arrays are (run,), or (track,) once picked; heads are whole numbers.

    Of many ticks at once they are (tick, run), but for ``expected``.
    """

    expected: Floats
    """Counted members: those that ought to answer."""
    heard: Floats
    total: Floats
    """0.0 where no member was heard."""
    least: Floats
    """inf where no member was heard."""
    greatest: Floats
    """-inf where no member was heard."""
    newest: Floats
    """Steady seconds of the newest answer; -inf where no member was heard."""

    def pick(self, places: Ints) -> HeardTally:
        """Take these entries, in this order."""
        return HeardTally(*(column[..., places] for column in self))


class BoundedValues(NamedTuple):
    """Values and what they could have been. Not clamped: a value may lie outside bounds that it does not fit."""

    low: Floats
    value: Floats
    high: Floats


def spread(how: Statistic | Rank, lists: Lists, seen: HeardTally, least: Floats, greatest: Floats) -> BoundedValues:
    """Reduce each list, and bound it as if the unheard had answered.

    A percentile or rank never falls when one of its values rises, so it lies between what it is with all the unheard
    at the least and at the greatest that they can be. A standard deviation is at least 0, and at most half the way
    from the least to the greatest value (Popoviciu's inequality).

    Args:
        how: the reduction.
        lists: (track,) what was heard.
        seen: (track,) its tally.
        least: (track,) that an unheard member can have.
        greatest: (track,) likewise.
    """
    unheard = np.maximum(seen.expected, 1.0) - seen.heard
    if how is Statistic.STDDEV:
        value = _deviation(lists, seen)
        half = (np.maximum(greatest, seen.greatest) - np.minimum(least, seen.least)) / 2
        silent = unheard > 0
        return BoundedValues(np.where(silent, 0.0, value), value, np.where(silent, half, value))
    copies = unheard.astype(np.intp)
    value = np.nan_to_num(ordered(how, lists, nobody(lists)))
    return BoundedValues(
        ordered(how, lists, Joined(value=least, copies=copies)),
        value,
        ordered(how, lists, Joined(value=greatest, copies=copies)),
    )


def short(how: Statistic | Rank, seen: HeardTally) -> Bools:
    """Where too few were heard to tell: fewer than the rank, and than all."""
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
    away /= largest[owner]  # squares of what is great would overflow
    squares = np.bincount(owner, weights=away * away, minlength=lists.counts.size)
    deviation: Floats = largest * np.sqrt(squares / heard)
    return deviation
