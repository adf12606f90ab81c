"""Percentiles and ranks of many sorted lists at once, each as if some more values of one size had joined it.

All lists lie in one array, one after the other, each sorted. The unheard are joined to a list as so many copies of one
value, its least or greatest possible; where they fall into the order follows by counting, so nothing is sorted twice.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

import numpy as np
import numpy.typing as npt

from collector.samples import Floats
from config.model.reductions import Rank, Statistic

_Ints = npt.NDArray[np.intp]


class Lists(NamedTuple):
    """Sorted lists, one after the other; the arrays but ``values`` are (list,)."""

    values: Floats
    """Ascending within each list."""
    starts: _Ints
    counts: _Ints
    """Entries; may be 0."""

    def pick(self, places: _Ints) -> Lists:
        """Take these lists, in this order, and leave the values where they are."""
        return Lists(values=self.values, starts=self.starts[places], counts=self.counts[places])


class Joined(NamedTuple):
    """So many copies of one value for each list; both arrays are (list,)."""

    value: Floats
    copies: _Ints


def lists_of(values: Floats, owner: _Ints, lists: int) -> Lists:
    """Sort values by their owner, then by size.

    Args:
        values: without NaN.
        owner: which list each belongs to.
        lists: how many there are.
    """
    order = np.lexsort((values, owner))
    counts = np.bincount(owner, minlength=lists)
    return Lists(values=values[order], starts=np.cumsum(counts) - counts, counts=counts)


def silent_lists(lists: int) -> Lists:
    """So many empty lists."""
    nothing = np.zeros(lists, dtype=np.intp)
    return Lists(values=np.zeros(0), starts=nothing, counts=nothing)


def nobody(lists: Lists) -> Joined:
    """Join nothing."""
    count = lists.counts.size
    return Joined(value=np.zeros(count), copies=np.zeros(count, dtype=np.intp))


def ordered(how: Statistic | Rank, lists: Lists, joined: Joined) -> Floats:
    """Find one percentile or rank of each list with what is joined to it; NaN where the two are empty together.

    Raises:
        ValueError: for a standard deviation, which is no matter of order.
    """
    total = lists.counts + joined.copies
    last = np.maximum(total - 1, 0)
    match how:
        case Rank(nth=nth, highest=highest):
            place = np.minimum(nth - 1, last)
            found = _at(lists, joined, last - place if highest else place)
        case Statistic():
            if how.share is None:
                raise ValueError(f"{how.value} is no matter of order")
            below = np.floor(how.share * last).astype(np.intp)
            found = between(
                _at(lists, joined, below), _at(lists, joined, np.minimum(below + 1, last)), how.share * last - below
            )
        case _:
            assert_never(how)
    return np.where(total > 0, found, np.nan)


def between(low: Floats, high: Floats, part: Floats) -> Floats:
    """Go from one value a part of the way to the next; an infinite end is only reached, never approached."""
    with np.errstate(invalid="ignore"):
        way = np.where(part > 0, low + (high - low) * part, low)
    result: Floats = np.where(np.isnan(way), np.where(np.isinf(low), low, high), way)
    return result


def _at(lists: Lists, joined: Joined, place: _Ints) -> Floats:
    """The value at a place (from 0) of each list with its joined copies."""
    below = _below(lists, joined.value)
    index = np.where(place < below, place, np.maximum(place - joined.copies, below))
    among = (place >= below) & (place < below + joined.copies)
    if not lists.values.size:
        return joined.value
    picked = lists.values[np.clip(lists.starts + index, 0, lists.values.size - 1)]
    result: Floats = np.where(among, joined.value, picked)
    return result


def _below(lists: Lists, value: Floats) -> _Ints:
    """How many entries of each list are less than a value: a binary search in all of them at once."""
    low, high = np.zeros_like(lists.counts), lists.counts.copy()
    while (open_ := low < high).any():
        middle = (low + high) // 2
        less = np.zeros(low.size, dtype=np.bool_)
        less[open_] = lists.values[(lists.starts + middle)[open_]] < value[open_]
        low, high = np.where(open_ & less, middle + 1, low), np.where(open_ & ~less, middle, high)
    return low
