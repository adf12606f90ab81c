"""Rows and rings of one track."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aggregator.across import TickRow
from aggregator.rings import Ring
from config.model.reductions import Reduction

INF = math.inf
ONLY = np.array([0], dtype=np.intp)


def a_row(
    value: float | None, *, low: float = 0.0, high: float = 100.0, share: float = 1.0, at: float = 0.0
) -> TickRow:
    """One track; ``None`` is silence."""
    if value is None:
        return TickRow(*(np.array([part]) for part in (low, 0.0, high, False, 0.0, 4.0, -INF)))
    if share == 1.0:
        low = high = value
    return TickRow(*(np.array([part]) for part in (low, value, high, True, 4.0 * share, 4.0, at)))


def a_ring(length: int, *rows: TickRow, hows: Sequence[Reduction] = ()) -> Ring:
    ring = Ring(length, 1, hows)
    for tick, row in enumerate(rows):
        ring.put(tick, row, a_row(None))
    return ring
