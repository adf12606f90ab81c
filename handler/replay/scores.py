"""How good the sizes of a fleet were for a load: cost, load beyond the SLO, restlessness, and one figure of the three.

=============  =========================================================================================================
cost           member-steps from each order to the end of draining, divided by those of `handler.replay.optimum`
over           percent of the load beyond what the members in service serve within the SLO
flaps          changes of size that follow one in the other direction within a quarter of an hour, a day
Q              (cost − 1) + 2 × over + 0.005 × flaps
=============  =========================================================================================================

The optimum has a cost of 1 and a Q of 0. Load beyond the SLO weighs so much that a policy never becomes better by
serving less: one percent of the load costs as much as two fleets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collector.samples import Floats
from config.units import Seconds
from handler.replay.optimum import least_member_steps, needed
from handler.replay.paths import FleetPath, Ints

_DAY: Seconds = 86400.0
FLAP_WITHIN: Seconds = 900.0
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetTiming:
    """How long members take, in steps."""

    step: Seconds
    """Between two sizes."""
    boot: int
    """Steps from an order until the member is in service."""
    drain: int
    """Steps from the end of service until the member is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityScore:
    """The table above, for one load."""

    cost: float
    over: float
    flaps: float

    @property
    def quality(self) -> float:
        """Q: 0 is the optimum."""
        return self.cost - 1.0 + 2.0 * self.over + 0.005 * self.flaps


def scored(
    path: FleetPath, rate: Floats, each: float, timing: FleetTiming, *, since: int = 0, least: int = 1
) -> CapacityScore:
    """Score a fleet under a load.

    Args:
        path: the fleet, step by step.
        rate: (step,) of the whole group.
        each: the rate that one member serves within the SLO.
        timing: of the optimum, and of draining.
        since: the first step that counts; what was before only decides which members there are.
        least: the minimum of the group, for the optimum.
    """
    load, sizes, serving = rate[since:], path.ordered[since:], path.serving[since:]
    best = least_member_steps(needed(load, each, least), timing.boot, timing.drain)
    total = float(load.sum())
    days = len(load) * timing.step / _DAY
    return CapacityScore(
        cost=float(path.paid(timing.drain)[since:].sum()) / best,
        over=100.0 * float(np.maximum(load - serving * each, 0.0).sum()) / total if total else 0.0,
        flaps=flaps(sizes, timing.step) / days,
    )


def minutes_over(path: FleetPath, rate: Floats, each: float, step: Seconds) -> float:
    """Return for how many minutes the load was beyond what the members in service carry.

    Args:
        path: the fleet, step by step.
        rate: (step,) of the whole group; NaN: not known, which counts as within it.
        each: the rate that one member carries.
        step: between two sizes.
    """
    with np.errstate(invalid="ignore"):
        over = rate > each * path.serving * (1.0 + _ROUNDING)
    return float(over.sum()) * step / 60.0


def flaps(sizes: Ints, step: Seconds) -> int:
    """Return how many changes follow one in the other direction within a quarter of an hour.

    >>> flaps(np.array([2, 3, 2, 2, 3]), 300.0)
    2
    >>> flaps(np.array([2, 3, 2, 2, 3]), 600.0)
    1
    """
    change = np.diff(sizes)
    steps = np.flatnonzero(change)
    back = np.sign(change[steps][1:]) != np.sign(change[steps][:-1])
    return int((back & (np.diff(steps) * step <= FLAP_WITHIN)).sum())
