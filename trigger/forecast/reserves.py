"""Keep a reserve while a forecast cannot vouch for its promise.

# Note [Reserve]

A forecast keeps its promise by what its virtual fleets missed, and they miss nothing at a step that was not measured. A
source that fails every day hides a part of each day from them, and the next failure may come at the worst hour. And
what members carry counts from ten steps on, although it is a mean of many only after hours. Meanwhile a third more
than the load is the smallest size that a forecast asks for, as if it were a target of three quarters of what members
carry. That lasts

* where data is missing for five minutes again, on another half day within two days of the last time: until two days
  after it was last missing so. What comes once a day, at whatever hour, comes again within two days; what comes once
  is no habit, and costs nothing;
* where what members carry is learned, or learned anew: until there are the six hours of evidence that it is a mean of.

The steps of five minutes may have gaps of less than five minutes between. An outage (`trigger.forecast.drops`) is
missing data, too. Growth needs a third more than the load of now; nothing leaves that a third more than the highest
load of the last quarter of an hour needs. Virtual fleets have no reserve: they go on to find which headroom was the
cheapest, for when the reserve ends. A `cap` limits it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from collector.samples import Bools, Floats
from trigger.forecast.arrays import some
from trigger.forecast.carrying import MEAN_STEPS, Carried
from trigger.forecast.horizons import DAY, LEAST
from trigger.forecast.memory import LoadMemory

_SHARE = 4 / 3
"""What a target of 60 % keeps above the load where members serve 80 % within the SLO."""
_LATELY = 30
"""Steps: a quarter of an hour."""
_TROUBLE = 10
"""Steps without data that are trouble; as many with data end them."""
_APART, _WITHIN = DAY // 2, 2 * DAY
"""Steps from trouble to trouble on another half day, and within which it has come again."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gaps:
    """When data was missing: (group,) each."""

    missing: Floats
    """Steps without data since the last five minutes that had it."""
    trouble: Floats
    """The last step at which these were five minutes or more; minus infinity: never."""
    again: Floats
    """The last step at which such trouble had come again; minus infinity: never."""


class Reserve(NamedTuple):
    """Why a reserve is kept, and the sizes that it comes to: (group,) each."""

    gaps: Bools
    """Data is missing again and again."""
    learning: Bools
    """What members carry is not known for long."""
    needed: Floats
    """In members; 0: no reserve."""
    may_shrink_to: Floats


def no_gaps(groups: int) -> Gaps:
    """Return groups of which no data was missing."""
    never = np.full(groups, -np.inf)
    return Gaps(missing=np.zeros(groups), trouble=never, again=never)


def with_gap(gaps: Gaps, missing: Bools, silent: Floats, step: int) -> Gaps:
    """Return the gaps after one more step. See Note [Reserve].

    Args:
        gaps: before.
        missing: (group,) no data came, although some had come before.
        silent: (group,) the last step without data before this one.
        step: the number of this one.
    """
    if not (some(missing) or some(gaps.missing > 0)):
        return gaps
    count = np.where(step - silent > _TROUBLE, 0.0, gaps.missing) + missing
    trouble = missing & (count >= _TROUBLE)
    since = step - gaps.trouble
    again = trouble & (((since > _APART) & (since <= _WITHIN)) | _lasts(gaps, step))
    return Gaps(
        missing=count,
        trouble=np.where(trouble, float(step), gaps.trouble),
        again=np.where(again, float(step), gaps.again),
    )


def reserved(
    gaps: Gaps, carried: Carried, memory: LoadMemory, limits: tuple[Floats | float, Floats | float]
) -> Reserve:
    """Return the reserve of the newest step.

    Args:
        gaps: up to this step.
        carried: what members carry, where that is learned.
        memory: up to this step.
        limits: (group,) the most that may be asked for, and the members that bear a unit of the load.
    """
    most, members = limits
    missing = _lasts(gaps, memory.step)
    learning = np.isfinite(carried.each) & (carried.steps < MEAN_STEPS)
    kept = missing | learning
    if not some(kept):
        none = np.zeros(memory.groups)
        return Reserve(missing, learning, none, none)
    now, lately = memory.ago(0), memory.highest_since(_LATELY)
    needed, enough = (np.where(kept, np.minimum(_with_a_third(level, members), most), 0.0) for level in (now, lately))
    return Reserve(missing, learning, needed, enough)


def _lasts(gaps: Gaps, step: int) -> Bools:
    lasts: Bools = gaps.again >= step - _WITHIN
    return lasts


def _with_a_third(level: Floats, members: Floats | float) -> Floats:
    found: Floats = np.ceil(_SHARE * (np.exp(level) - LEAST) * members - 1e-9)
    return found
