"""Over time, by order or by spread: percentiles, ranks, and the standard deviation of a window."""

from __future__ import annotations

from typing import assert_never

import numpy as np

from aggregator.ordering import between
from aggregator.rates import Ints
from aggregator.stretches import Stretch
from aggregator.tallies import Bounded
from collector.samples import Bools, Floats
from config.reductions import Rank, Statistic


def spread_over_time(how: Statistic | Rank, stretch: Stretch, samples: Ints) -> Bounded:
    """Reduce a stretch: the value over the ticks at which anybody was heard, the bounds over all of them.

    Bounded as `aggregator.spread.spread`.

    Args:
        how: the reduction.
        stretch: (tick, track)
        samples: (track,) ticks with at least one answer.
    """
    if how is Statistic.STDDEV:
        return _deviation(stretch, samples)
    ticks = np.full(samples.size, len(stretch.value))
    heard = np.sort(np.where(stretch.heard, stretch.value, np.inf), axis=0)
    value = np.where(samples > 0, _picked(how, heard, np.maximum(samples, 1)), 0.0)
    if stretch.exact:
        return Bounded(value, value, value)
    low, high = np.sort(stretch.low, axis=0), np.sort(stretch.high, axis=0)
    return Bounded(_picked(how, low, ticks), value, _picked(how, high, ticks))


def short_of_ticks(how: Statistic | Rank, stretch: Stretch, samples: Ints) -> Bools:
    """Where too few ticks were heard to tell: fewer than the rank, and than all."""
    if isinstance(how, Rank):
        few: Bools = samples < min(how.nth, len(stretch.value))
        return few
    return np.zeros(samples.size, dtype=np.bool_)


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


def _deviation(stretch: Stretch, samples: Ints) -> Bounded:
    heard, count = stretch.heard, np.maximum(samples, 1)
    mean = stretch.total(stretch.value) / count
    away = np.where(heard, stretch.value - mean, 0.0)
    largest = np.abs(away).max(axis=0)
    largest[largest == 0] = 1.0
    away /= largest  # squares of what is great would overflow
    value = largest * np.sqrt(stretch.total(away * away) / count)
    if stretch.exact:
        return Bounded(value, value, value)
    known = (heard & (stretch.low == stretch.high)).all(axis=0)
    half = (stretch.high.max(axis=0) - stretch.low.min(axis=0)) / 2
    return Bounded(np.where(known, value, 0.0), value, np.where(known, value, half))
