"""Recognise a load that falls all at once: what falls so often comes back.

# Note [Drop]

A level below half of its earlier mean, although it was near that mean five minutes ago, is a *drop*: for half an hour
the group does not shrink below that mean, unless the load comes back before.

# Note [Outage]

A load below a twentieth of its earlier level is no load of that day but an *outage* of what measures it, or of what
sends it. For two hours such a step counts as one without data: forecasts go on from the level before, nothing is
learned, and the group holds its size. What lasts longer is believed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collector.samples import Bools, Floats
from trigger.forecast.arrays import constant, some
from trigger.forecast.horizons import LEAST
from trigger.forecast.memory import LoadMemory

_FROM, _TO = 40, 10
_DROPPED, _STILL_NEAR, _BACK = constant(0.7), 0.3, 0.2
_DROP_STEPS = 60
_OUTAGE_SHARE, _OUTAGE_STEPS = constant(0.05), 240


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drops:
    """(group,) each."""

    level: Floats
    """The mean before the last drop."""
    until: Floats
    """The step at which it is forgotten."""
    outage: Floats
    """The step at which the outage began; minus infinity: there is none."""
    before: Floats
    """The load before it, in members."""


def new_drops(groups: int) -> Drops:
    """Return no drops."""
    never = np.full(groups, -np.inf)
    return Drops(level=np.zeros(groups), until=never, outage=never, before=np.zeros(groups))


def with_outage(drops: Drops, load: Floats, memory: LoadMemory, step: int) -> tuple[Drops, Bools]:
    """Return the drops after this load, and which groups have an outage now.

    Args:
        drops: before.
        load: (group,) in members; NaN: no data, which is no outage.
        memory: up to the step before.
        step: the number of this one.
    """
    usual = np.exp(memory.mean(_FROM - _TO)) - LEAST if not memory.is_empty else np.zeros(len(load))
    running = np.isfinite(drops.outage)
    lasting = some(running)
    before = np.where(running, drops.before, usual) if lasting else usual
    low: Bools = load < _OUTAGE_SHARE * before
    if not (lasting or some(low)):
        return Drops(level=drops.level, until=drops.until, outage=drops.outage, before=before), low
    began = np.where(low, np.where(running, drops.outage, float(step)), -np.inf)
    began = np.where(np.isnan(load), drops.outage, began)
    held = low & (step - began < _OUTAGE_STEPS)
    return Drops(level=drops.level, until=drops.until, outage=began, before=before), held


def with_drop(drops: Drops, memory: LoadMemory) -> tuple[Drops, Floats]:
    """Return the drops after the newest step, and the members below which no group may shrink: (group,)."""
    now, step = memory.ago(0), float(memory.step)
    mean = memory.mean(_FROM - _TO + 1, before=_TO - 1)
    fell = now < mean - _DROPPED
    if some(fell):
        fell &= memory.ago(_TO) > mean - _STILL_NEAR
    if not (some(fell) or some(np.isfinite(drops.until))):
        return Drops(level=mean, until=drops.until, outage=drops.outage, before=drops.before), np.zeros(len(mean))
    running = drops.until > step
    level = np.where(running, drops.level, mean)
    until = np.where(fell & ~running, step + _DROP_STEPS, drops.until)
    until = np.where(now > level - _BACK, -np.inf, until)
    floor = np.where(until > step, np.exp(level) - LEAST, 0.0)
    return Drops(level=level, until=until, outage=drops.outage, before=drops.before), floor
