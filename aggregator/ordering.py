"""Find percentiles and ranks of many sorted lists at once, each with some more copies of one value.

One array holds all lists, one after the other, each sorted. Missing answers join a list as copies of one value, the
least or greatest possible. Counting finds their place in the order, so no list is sorted twice.
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
    """A number of copies of one value for each list; both arrays are (list,)."""

    value: Floats
    copies: _Ints


def lists_of(values: Floats, owner: _Ints, lists: int) -> Lists:
    """Sort values by their owner, then by size.

    Args:
        values: without NaN.
        owner: the list of each value.
        lists: number of lists.
    """
    order = np.lexsort((values, owner))
    counts = np.bincount(owner, minlength=lists)
    return Lists(values=values[order], starts=np.cumsum(counts) - counts, counts=counts)


def empty_lists(lists: int) -> Lists:
    """Make this many empty lists."""
    nothing = np.zeros(lists, dtype=np.intp)
    return Lists(values=np.zeros(0), starts=nothing, counts=nothing)


def no_copies(lists: Lists) -> Joined:
    """Return zero copies for each list."""
    count = lists.counts.size
    return Joined(value=np.zeros(count), copies=np.zeros(count, dtype=np.intp))


def ordered(how: Statistic | Rank, lists: Lists, joined: Joined) -> Floats:
    """Find one percentile or rank of each list with its joined copies; NaN where both are empty.

    Raises:
        ValueError: for a standard deviation, which does not depend on order.
    """
    total = lists.counts + joined.copies
    last = np.maximum(total - 1, 0)
    match how:
        case Rank(nth=nth, highest=highest):
            place = np.minimum(nth - 1, last)
            found = _at(lists, joined, last - place if highest else place)
        case Statistic():
            if how.share is None:
                raise ValueError(f"{how.value} does not depend on order; expected a percentile or a rank")
            below = np.floor(how.share * last).astype(np.intp)
            found = between(
                _at(lists, joined, below), _at(lists, joined, np.minimum(below + 1, last)), how.share * last - below
            )
        case _:
            assert_never(how)
    return np.where(total > 0, found, np.nan)


def between(low: Floats, high: Floats, part: Floats) -> Floats:
    """Interpolate between two values; an infinite end counts from the first part of the way on."""
    with np.errstate(invalid="ignore"):
        way = np.where(part > 0, low + (high - low) * part, low)
    result: Floats = np.where(np.isnan(way), np.where(np.isinf(low), low, high), way)
    return result


def _at(lists: Lists, joined: Joined, place: _Ints) -> Floats:
    """Return the value at a place (from 0) of each list with its joined copies."""
    below = _below(lists, joined.value)
    index = np.where(place < below, place, np.maximum(place - joined.copies, below))
    among = (place >= below) & (place < below + joined.copies)
    if not lists.values.size:
        return joined.value
    picked = lists.values[np.clip(lists.starts + index, 0, lists.values.size - 1)]
    result: Floats = np.where(among, joined.value, picked)
    return result


def _below(lists: Lists, value: Floats) -> _Ints:
    """Count the entries of each list that are less than a value, by a binary search in all lists at once."""
    low, high = np.zeros_like(lists.counts), lists.counts.copy()
    while (open_ := low < high).any():
        middle = (low + high) // 2
        less = np.zeros(low.size, dtype=np.bool_)
        less[open_] = lists.values[(lists.starts + middle)[open_]] < value[open_]
        low, high = np.where(open_ & less, middle + 1, low), np.where(open_ & ~less, middle, high)
    return low
