"""Find values outside the declared range of their counter: such a value does not count as an answer.

# Note [One meaning of range]

``range`` bounds the value that conditions judge, in the counter's unit: a gauge's reading × scale, and the *rate* of a
rising counter. A value outside it, from any source, is no measurement, and counts as a missing answer.

A rate is the difference of two readings over the time between the two answers, and either answer may have taken some
time to arrive. So a rate may exceed its range by as much as `_UNDER_WAY` explains; it then counts as the end of the
range. Otherwise a fully busy member would give no value in every second poll. A gauge may exceed its range only by
rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from collector.samples import Bools, Floats
from config.model.counters import Counter
from config.units import Seconds

LARGEST = 1e300
"""Greater magnitudes are no measurement; below this limit no sum over a window can overflow."""

_ROUNDING = 1e-9
"""Relative to the greater end of the range: the error that a conversion of units may add."""

_UNDER_WAY: Seconds = 1.0
"""How much longer than the answer before it an answer may take to arrive."""

_MOST_OFF = 0.1
"""A rate may be off by at most this part of its range, even if two answers are close together."""


class Ranges(NamedTuple):
    """The declared ranges of one layout, in the counters' units; all arrays are (series,)."""

    least: Floats
    """-inf without one."""
    greatest: Floats
    widest: Floats
    """The greater magnitude of both ends; inf without a range."""


def ranges_of(asked: npt.NDArray[np.intp], runs: npt.NDArray[np.intp], counters: Sequence[Counter]) -> Ranges:
    """Spread the declared ranges over a layout.

    Args:
        asked: rows that a policy needs; all others have no range.
        runs: (series,) index into ``counters``; used only for the rows in ``asked``.
        counters: one per run.
    """
    least, greatest = np.full(runs.size, -np.inf), np.full(runs.size, np.inf)
    spans = np.array([counter.range or (-np.inf, np.inf) for counter in counters], dtype=np.float64).reshape(-1, 2)
    least[asked], greatest[asked] = spans[runs[asked], 0], spans[runs[asked], 1]
    return Ranges(least, greatest, np.maximum(np.abs(least), np.abs(greatest)))


def slack_of(elapsed: Floats) -> Floats:
    """Return the part of its range by which a rate may be off, for a rate over so many seconds.

    >>> slack_of(np.array([30.0, 10.0, 1.0])).round(3).tolist()
    [0.033, 0.1, 0.1]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share: Floats = np.where(elapsed > 0, np.minimum(_UNDER_WAY / elapsed, _MOST_OFF), 0.0)
    return share


def within(ranges: Ranges, value: Floats, slack: Floats) -> tuple[Floats, Bools]:
    """Clip values that exceed their range by no more than their slack.

    Args:
        ranges: of the layout.
        value: (series,), or (poll, series), in the counters' units.
        slack: the same shape: the part of the range by which a value may be off; 0 for gauges.

    Returns:
        The values, and which of them are measurements. A value that is not finite, or above `LARGEST`, is none.
    """
    nearest = np.clip(value, ranges.least, ranges.greatest)
    with np.errstate(invalid="ignore"):
        near: Bools = ~(np.abs(value - nearest) > (slack + _ROUNDING) * ranges.widest)
        near &= np.abs(value) <= LARGEST
    return nearest, near
