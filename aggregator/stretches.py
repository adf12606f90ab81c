"""Some ticks of some tracks, as a ring hands them over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggregator.rates import Ints
from collector.samples import Bools, Floats


class Stretch(NamedTuple):
    """The newest ticks of some tracks; all arrays are (tick, track)."""

    low: Floats
    value: Floats
    """0.0 and meaningless unless ``heard``."""
    high: Floats
    share: Floats
    """Of the members that ought to answer, those who did; 0.0 where nobody did or ought to: such a tick is silent."""
    newest: Floats
    """Steady seconds of the newest answer; -inf unless ``heard``."""
    top: int
    """The row of the newest tick; before it come older ones, and before the first row the last."""
    exact: bool
    """Whether everybody answered at every tick: then ``low`` and ``high`` are ``value``."""

    @property
    def order(self) -> Ints:
        """Rows, the newest first."""
        ticks = len(self.value)
        return (self.top - np.arange(ticks)) % ticks

    def total(self, column: Floats) -> Floats:
        """Add up the ticks of one of its arrays, from the newest on.

        Always in this order, one after the other: the sum of a window is the same wherever the ring begins, and
        however many tracks share it.
        """
        result = np.zeros(column.shape[1])
        for row in self.order.tolist():
            result += column[row]
        return result

    @property
    def heard(self) -> Bools:
        """Whether anybody answered."""
        return self.share > 0.0
