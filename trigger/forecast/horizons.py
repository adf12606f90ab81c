"""How far a forecast looks ahead, in steps of 30 seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from config.units import Seconds
from trigger.forecast.arrays import constant

STEP: Seconds = 30.0
"""The step of every forecast; a group with a shorter interval hands over the mean of a step."""
DAY = 2880
"""Steps of a day."""
WEEK = 7
"""Days of history that features look back."""
LEAST = constant(0.25)
"""Members added to a load before its logarithm is taken: a load of zero has one."""
_NEAREST = 30
"""Steps: the forecast for shrinking looks at least so far ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Horizons:
    """How long members of a group boot and drain, in steps; at least 1 each."""

    boot: int
    drain: int

    @classmethod
    def of(cls, boot: Seconds, drain: Seconds) -> Horizons:
        """Return the steps that cover these times.

        >>> Horizons.of(100.0, 60.0)
        Horizons(boot=4, drain=2)
        """
        return cls(boot=max(1, math.ceil(boot / STEP)), drain=max(1, math.ceil(drain / STEP)))

    @property
    def grow(self) -> int:
        """Steps from an order until the measured load, a mean of two steps, is all borne with it."""
        return self.boot + 2

    @property
    def shrink(self) -> int:
        """Steps over which the load has to stay low before a member may go."""
        return max(_NEAREST, self.boot + 6)
