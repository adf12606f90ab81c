"""Sums whose order is fixed; and bounds, flags and constants, for which numpy's own ways take long if values are few.

Most of the time of a step of one group is numpy's cost of a call, not of what it computes.
"""

from __future__ import annotations

import numpy as np

from collector.samples import Bools, Floats

_LAST: tuple[tuple[slice | int, ...], ...] = tuple((*(slice(None),) * axis, -1) for axis in range(3))
"""The index of the last row of each axis."""
_MANY = 8
"""Groups, at least 2; partial sums of fewer take less time."""


def constant(value: float) -> Floats:
    """Return a number for sums with arrays: numpy takes a third less time for an array of no axis than for a float."""
    return np.array(value)


ZERO = constant(0.0)


def added(terms: Floats, axis: int) -> Floats:
    """Return the sum along one axis, counted from the first, always added up from the first term to the last.

    ``numpy.sum`` picks an order by the memory layout, so that one group alone and the same group among others differ in
    the last bit; the choice of a fleet would make that a difference of members. It adds pairs along the axis that is
    the fastest in memory, and one after the other along any other axis. That is much faster than all partial sums.

    Args:
        terms: the last axis, of groups, is the fastest in memory unless it is of one.
        axis: another one.
    """
    if terms.shape[-1] >= _MANY:
        total: Floats = np.add.reduce(terms, axis)
        return total
    partial: Floats = np.add.accumulate(terms, axis)
    return partial[_LAST[axis]]


def within(value: Floats, low: Floats | float, high: Floats | float) -> Floats:
    """Return the values between two bounds."""
    found: Floats = np.minimum(np.maximum(value, low), high)
    return found


def some(flags: Bools) -> bool:
    """Tell whether at least one is true."""
    return 1 in flags.tobytes()


def every(flags: Bools) -> bool:
    """Tell whether all are true."""
    return 0 not in flags.tobytes()
