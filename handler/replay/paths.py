"""The sizes of a simulated fleet, tick by tick: what every figure about it is made of."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from collector.samples import Floats

Ints = npt.NDArray[np.int64]
_COUNTS = "l"
"""Python's type of the numbers that are gathered."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FleetPath:
    """A fleet over time; all arrays are (tick,)."""

    ordered: Ints
    """Members that are desired, from their order on."""
    serving: Ints
    """Of these, members in service."""
    left: Ints
    """Members in service that began to drain at this tick."""

    def at(self, ticks: Floats, instants: Floats) -> FleetPath:
        """Return the fleet at other instants: as it was at the tick before, at first as at the first tick.

        Args:
            ticks: (tick,) when its ticks were.
            instants: rising.
        """
        place = np.maximum(np.searchsorted(ticks, instants, side="right") - 1, 0)
        left = np.cumsum(self.left)[place]
        return FleetPath(
            ordered=self.ordered[place], serving=self.serving[place], left=np.diff(left, prepend=left[:1] * 0)
        )

    def paid(self, drain: int) -> Ints:
        """Return for how many members is paid: (tick,). Those that are ordered, and those that still drain.

        Args:
            drain: ticks from the end of service until the member is gone.

        >>> path_of(np.array([3, 3, 1, 1, 1]), boot=0).paid(2).tolist()
        [3, 3, 3, 3, 1]
        """
        leaving = np.cumsum(self.left)
        draining = leaving.copy()
        draining[drain:] -= leaving[: max(len(leaving) - drain, 0)]
        found: Ints = self.ordered + draining
        return found


def path_of(desired: Ints, boot: int) -> FleetPath:
    """Return the fleet that follows desired sizes. The first size is there at once; members that boot leave first.

    Args:
        desired: (tick,) sizes.
        boot: ticks from an order until the member is in service.

    >>> path_of(np.array([1, 3, 3, 2, 3, 3, 3]), 2).serving.tolist()
    [1, 1, 1, 2, 2, 2, 3]
    """
    padded = np.concatenate((np.full(boot, desired[0]), desired))
    serving: Ints = np.lib.stride_tricks.sliding_window_view(padded, boot + 1).min(axis=1)
    before = np.concatenate((serving[:1], serving[:-1]))
    return FleetPath(ordered=desired, serving=serving, left=np.maximum(before - desired, 0))


class PathRecorder:
    """Takes down a fleet's sizes, tick by tick."""

    def __init__(self) -> None:
        self._ordered, self._serving, self._left = array(_COUNTS), array(_COUNTS), array(_COUNTS)
        self._left_before = 0

    def tick(self, ordered: int, serving: int, left: int) -> None:
        """Add one tick.

        Args:
            ordered: members that are desired.
            serving: members in service.
            left: how many members in service have left since the beginning.
        """
        self._ordered.append(ordered)
        self._serving.append(serving)
        self._left.append(left - self._left_before)
        self._left_before = left

    def path(self) -> FleetPath:
        """Return the fleet so far."""
        ordered, serving, left = (np.array(each, dtype=np.int64) for each in (self._ordered, self._serving, self._left))
        return FleetPath(ordered=ordered, serving=serving, left=left)
