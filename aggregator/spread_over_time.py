"""Reduce a window over time, by order or by spread: percentiles, ranks, and the standard deviation."""

from __future__ import annotations

from typing import assert_never

import numpy as np

from aggregator.ordering import between
from aggregator.rates import Ints
from aggregator.spread import BoundedValues
from aggregator.stretches import Stretch, added
from collector.samples import Bools, Floats
from config.model.reductions import Rank, Reduction, Statistic


def spread_over_time(how: Statistic | Rank, stretch: Stretch) -> BoundedValues:
    """Reduce a stretch: the value over the ticks that have one, the bounds over all of them.

    The bounds follow `aggregator.spread.spread`. Where all members answered at every tick, both bounds equal the value.

    Args:
        how: the reduction.
        stretch: the ticks.
    """
    value = _deviation(stretch) if how is Statistic.STDDEV else _ordered(how, stretch)
    low, high, open_ = value.copy(), value.copy(), np.flatnonzero(stretch.coverage < 1.0)
    if open_.size:
        low[open_], high[open_] = _bounds(how, stretch.column("low", open_), stretch.column("high", open_))
    return BoundedValues(low, value, high)


def short_of_ticks(how: Reduction, stretch: Stretch) -> Bools:
    """Tell where too few ticks have a value: fewer than the rank, and fewer than all."""
    if isinstance(how, Rank):
        few: Bools = stretch.samples < min(how.nth, len(stretch.order))
        return few
    return np.zeros(stretch.samples.shape, dtype=np.bool_)


def _bounds(how: Statistic | Rank, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Compute the bounds of tracks with missing answers."""
    if how is Statistic.STDDEV:
        return np.zeros(low.shape[1]), (high.max(axis=0) - low.min(axis=0)) / 2
    ticks = np.full(low.shape[1], len(low))
    return _picked(how, np.sort(low, axis=0), ticks), _picked(how, np.sort(high, axis=0), ticks)


def _ordered(how: Statistic | Rank, stretch: Stretch) -> Floats:
    ascending = stretch.column("value")
    ascending[~stretch.column("valid")] = np.inf
    ascending.sort(axis=0)
    return _picked(how, ascending, np.maximum(stretch.samples, 1))


def _picked(how: Statistic | Rank, ascending: Floats, count: Ints) -> Floats:
    """Take a percentile or rank of the first ``count`` rows of each column."""
    last = count - 1
    match how:
        case Rank(nth=nth, highest=highest):
            place = np.minimum(nth - 1, last)
            return _at(ascending, last - place if highest else place)
        case Statistic():
            share = how.share or 0.0
            below = np.floor(share * last).astype(np.intp)
            return between(_at(ascending, below), _at(ascending, np.minimum(below + 1, last)), share * last - below)
        case _:
            assert_never(how)


def _at(ascending: Floats, place: Ints) -> Floats:
    row: Floats = np.take_along_axis(ascending, place[np.newaxis], axis=0)[0]
    return row


def _deviation(stretch: Stretch) -> Floats:
    count = np.maximum(stretch.samples, 1)
    away: Floats = stretch.column("value")
    away -= added(away) / count
    away[~stretch.column("valid")] = 0.0
    largest = np.abs(away).max(axis=0)
    largest[largest == 0] = 1.0
    away /= largest  # the squares of large values would overflow
    away *= away
    deviation: Floats = largest * np.sqrt(added(away) / count)
    return deviation
