"""Reduce a window of a ring over time."""

from __future__ import annotations

from typing import NamedTuple, assert_never

import numpy as np

from aggregator.rates import Ints
from aggregator.spread import BoundedValues
from aggregator.spread_over_time import short_of_ticks, spread_over_time
from aggregator.stretches import GREATEST, LEAST, Stretch
from collector.samples import Bools, Floats
from config.model.reductions import Reduce, Reduction


class ReducedWindow(NamedTuple):
    """A reduced window; all arrays are (track,), as those of its `Stretch`."""

    low: Floats
    value: Floats
    """0.0 and meaningless unless ``valid``."""
    high: Floats
    """``low ≤ value ≤ high``"""
    valid: Bools
    """Whether there is a value: False if no member answered, or too few for a rank; ``low ≤ high`` always holds."""
    samples: Ints
    """Ticks with a value."""
    coverage: Floats
    """Least share of members that answered at any tick."""
    newest: Floats
    """Steady seconds of the newest answer; -inf: no answer."""


def over(how: Reduction, stretch: Stretch, bounded: Bools) -> ReducedWindow:
    """Reduce a stretch over time.

    The value is over the ticks that have one: their average, least, greatest, sum, newest, and so on.
    ``count`` counts these ticks. To count members, count *across* members, and then take the average, the least or
    the newest over time. The bounds are over all ticks; a tick without answers has its widest bounds, and a count
    could have reached every tick. Where missing answers are not ``bounded``, the result has infinite bounds as soon as
    one missing answer could matter: at any tick, or for ``last`` at the newest tick.

    Args:
        how: the reduction.
        stretch: the ticks.
        bounded: (track,) whether missing answers have bounds.
    """
    few = (stretch.samples == 0) | short_of_ticks(how, stretch)
    low, value, high = _over(how, stretch) if isinstance(how, Reduce) else spread_over_time(how, stretch)
    value = _with(0.0, few, value)
    if how is not Reduce.COUNT:
        coverage = stretch.tick(0).share if how is Reduce.LAST else stretch.coverage
        loose = ~bounded & (coverage < 1.0)
        low, high = _with(-np.inf, loose, low), _with(np.inf, loose, high)
    # A measured value outside the bounds widens them.
    return ReducedWindow(
        low=_with(low, few, np.minimum(low, value)),
        value=value,
        high=_with(high, few, np.maximum(high, value)),
        valid=~few,
        samples=stretch.samples,
        coverage=stretch.coverage,
        newest=stretch.newest,
    )


def _with(other: Floats | float, where: Bools, values: Floats) -> Floats:
    """Return the values, and the other ones where that holds: mostly nowhere, which costs next to nothing."""
    return np.where(where, other, values) if where.any() else values


def _over(how: Reduce, stretch: Stretch) -> BoundedValues:
    ticks, samples = float(len(stretch.order)), stretch.samples.astype(np.float64)
    match how:
        case Reduce.AVG | Reduce.SUM:
            value, slack = stretch.total("value"), stretch.slack()
            low, high = value + slack.low, value + slack.high
            if how is Reduce.SUM:
                return BoundedValues(low, value, high)
            return BoundedValues(low / ticks, value / np.maximum(samples, 1.0), high / ticks)
        case Reduce.MIN:
            return BoundedValues(*map(stretch.fold, LEAST))
        case Reduce.MAX:
            return BoundedValues(*map(stretch.fold, GREATEST))
        case Reduce.LAST:
            newest = stretch.tick(0)
            return BoundedValues(newest.low, _last(stretch), newest.high)
        case Reduce.COUNT:
            return BoundedValues(samples, samples, np.full(samples.shape, ticks))
        case _:
            assert_never(how)


def _last(stretch: Stretch) -> Floats:
    """The newest value; 0.0 where there is none."""
    newest = stretch.tick(0)
    value, missing = newest.value.copy(), ~newest.valid
    for back in range(1, len(stretch.order)):
        if not missing.any():
            break
        older = stretch.tick(back)
        found = missing & older.valid
        value[found] = older.value[found]
        missing &= ~found
    return value
