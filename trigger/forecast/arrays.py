"""Sums whose order is fixed, and bounds and flags of few values, for which numpy's own functions take far longer."""

from __future__ import annotations

import numpy as np

from collector.samples import Bools, Floats


def added(terms: Floats, axis: int) -> Floats:
    """Return the sum along one axis, counted from the first, always added up from the first term to the last.

    ``numpy.sum`` picks an order by the memory layout, so that one group alone and the same group among others differ in
    the last bit; the choice of a fleet would make that a difference of members.
    """
    found: Floats = np.add.accumulate(terms, axis=axis)[(slice(None),) * axis + (-1,)]
    return found


def within(value: Floats, low: Floats | float, high: Floats | float) -> Floats:
    """Return the values between two bounds."""
    found: Floats = np.minimum(np.maximum(value, low), high)
    return found


def some(flags: Bools) -> bool:
    """Tell whether at least one is true."""
    return bool(np.count_nonzero(flags))


def every(flags: Bools) -> bool:
    """Tell whether all are true."""
    return bool(np.count_nonzero(flags) == flags.size)
