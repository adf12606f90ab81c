"""Virtual fleets: what each headroom would have cost, and how much load it would have missed.

The load does not react to the number of members, so every headroom can be tried on the same load. Beside the real
group run 63 virtual fleets, one for each pair of headrooms; they boot and drain as the real members do. The real group
takes the headrooms of the fleet that was the cheapest of the last days among those that kept the promise.

# Note [Score]

Every hour, of sums whose weight halves in seven days:

    score = cost ÷ load + weight × short % + weight × flaps a day

A fleet that has run for few days has no certain score: it is mixed with an assumed score, which prefers middle
headrooms and counts as half a day. A fleet whose short % is above half of the promise is ten points worse for each
percent beyond. Where members boot longer than two minutes, less than half is allowed: the load that is missed comes in
fewer and longer pieces then, of which a week has seen fewer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from collector.samples import Bools, Floats
from config.units import Seconds
from trigger.forecast.arrays import ZERO, constant, every, some
from trigger.forecast.horizons import DAY, LEAST, STEP, Horizons

GROWING = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.5, 5.0, 8.0])
"""Headrooms of the forecast for growing, in spreads."""
SHRINKING = np.array([0.5, 1.5, 2.5, 4.0, 6.0, 9.0, 13.0])
"""Headrooms of the forecast for shrinking, in spreads."""
FLEETS = len(GROWING) * len(SHRINKING)
AFTER_GROWTH, AFTER_SHRINKING = 30, 6
"""Steps without a scale-in after the last change in either direction."""
KEEPS_GROWTH: Seconds = (AFTER_GROWTH + 0.5) * STEP
"""How long a real group waits, so that jitter of its ticks changes nothing."""
_FLAP = 30
"""Steps: a change back within them is a flap."""
_HALF_LIFE = 7 * DAY
_DECAY = constant(0.5 ** (1 / _HALF_LIFE))
HOUR = 120
"""Steps between two choices of headrooms, at full hours."""
_CHOICES = 24
_ASSUMED_DAYS = 0.5
_USUAL_BOOT = 4
_MOST_MEMBERS = constant(1e9)
_MOST_LEVEL = constant(np.log(1e9))
JITTER = constant(1e-9)
"""Of a load in members: so much beyond a whole number needs no further member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """How much missed load and restlessness count against cost."""

    short: float = 2.5
    """For each percent of the load."""
    flaps: float = 0.012
    """For each change of direction within a quarter of an hour, a day."""
    promise: float = 0.05
    """Percent of the load that may be missed."""
    cap: float | None = None
    """The forecast asks for at most so many times what the load that is measured needs; ``None``: no limit."""


LEAN, BALANCED, CALM = Preference(short=2.0, flaps=0.005), Preference(), Preference(short=3.0, flaps=0.02)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shadows:
    """All virtual fleets of some groups. (growing headroom, shrinking headroom, group) unless noted otherwise."""

    sizes: Floats
    """Desired."""
    recent: Floats
    """(age, …) the sizes of the last boot time; the least of them are in service."""
    leaving: Floats
    """(age, …) how many left service at each of the last steps: they drain."""
    grown: Floats
    """The step of the last growth; minus infinity: never."""
    shrunk: Floats
    cost: Floats
    """Member-steps, the newest counting whole."""
    short: Floats
    """Load that was missed, in member-steps."""
    flaps: Floats
    load: Floats
    """(group,) member-steps."""
    steps: Floats
    """(group,) their number."""
    chosen: Floats
    """(2, group) the headrooms that the group follows."""
    earlier: Floats
    """(hour, 2, group) those that it followed before the last choices, the newest first; NaN: none."""


def new_shadows(groups: int, horizons: Horizons) -> Shadows:
    """Return fleets of no size, which grow at the first step."""
    shape = (len(GROWING), len(SHRINKING), groups)
    none, never = np.zeros(shape), np.full(shape, -np.inf)
    return Shadows(
        sizes=none,
        recent=np.zeros((horizons.boot + 1, *shape)),
        leaving=np.zeros((horizons.drain, *shape)),
        grown=never,
        shrunk=never,
        cost=none,
        short=none,
        flaps=none,
        load=np.zeros(groups),
        steps=np.zeros(groups),
        chosen=_chosen(_assumed()[:, :, None] + np.zeros(groups)),
        earlier=np.full((_CHOICES, 2, groups), np.nan),
    )


def sized(middle: Floats, spread: Floats, headroom: Floats, members: Floats | float = 1.0) -> Floats:
    """Return how many members a forecast needs with some headrooms: (headroom, group).

    Args:
        middle: (group,) or (headroom, group) level.
        spread: likewise.
        headroom: (headroom, group) or (headroom, 1), in spreads.
        members: (group,) that bear a unit of the load.
    """
    load = np.exp(np.minimum(middle + headroom * spread, _MOST_LEVEL)) - LEAST
    return np.minimum(np.ceil(load * members - JITTER), _MOST_MEMBERS)


def wanted(sizes: Floats, need: Floats, low: Floats, step: int, grown: Floats, shrunk: Floats) -> Floats:
    """Return the sizes after one step of the rule: grow at once, shrink only a while after the last change.

    Args:
        sizes: before.
        need: grow to it.
        low: shrink to it; at least ``need``.
        step: the number of this step.
        grown: the step of the last growth of each.
        shrunk: the step of the last scale-in of each.
    """
    may = (grown < step - AFTER_GROWTH) & (shrunk < step - AFTER_SHRINKING)
    return np.maximum(need, np.where(may, np.minimum(low, sizes), sizes))


def advanced(before: Shadows, need: Floats, low: Floats, load: Floats, step: int, heard: Bools) -> Shadows:
    """Return the fleets after one step.

    Args:
        before: the fleets after the last step.
        need: (growing headroom, group) what each needs now.
        low: (growing headroom, shrinking headroom, group) what each may shrink to.
        load: (group,) in members.
        step: its number.
        heard: (group,) False: no data; all fleets hold, and nothing is added up.
    """
    sizes = wanted(before.sizes, need[:, None, :], low, step, before.grown, before.shrunk)
    all_heard = every(heard)
    if not all_heard:
        sizes = np.where(heard, sizes, before.sizes)
    serving: Floats = np.minimum.reduce(before.recent, axis=0)
    recent = np.concatenate((sizes[None], before.recent[:-1]))
    missed = np.maximum(load - serving, ZERO)
    grew, fell = sizes > before.sizes, sizes < before.sizes
    first = before.steps == ZERO
    if some(first):
        recent = np.where(first & heard, sizes, recent)
        missed = np.where(first, 0.0, missed)
        grew &= ~first
    decay = _DECAY if all_heard else np.where(heard, _DECAY, 1.0)
    flaps, grown, shrunk = before.flaps * decay, before.grown, before.shrunk
    if some(grew):
        flaps += grew & _turns(before.shrunk, before.grown, step)
        grown = np.where(grew, step, grown)
    if some(fell):
        flaps += fell & _turns(before.grown, before.shrunk, step)
        shrunk = np.where(fell, step, shrunk)
    leaving = np.concatenate((np.maximum(serving - sizes, ZERO)[None], before.leaving[:-1]))

    def counted(now: Floats | float) -> Floats | float:
        return now if all_heard else np.where(heard, now, ZERO)

    return Shadows(
        sizes=sizes,
        recent=recent,
        leaving=leaving,
        grown=grown,
        shrunk=shrunk,
        cost=before.cost * decay + counted(sizes + np.add.reduce(leaving, axis=0)),
        short=before.short * decay + counted(missed),
        flaps=flaps,
        load=before.load * decay + counted(load),
        steps=before.steps * decay + counted(1.0),
        chosen=before.chosen,
        earlier=before.earlier,
    )


def _turns(there: Floats, back: Floats, step: int) -> Bools:
    """Tell which fleets turn back if they change now: the last change was soon before, and in the other direction.

    Args:
        there: the step of the last change in the other direction.
        back: the step of the last change in this one.
        step: the number of this step.
    """
    found: Bools = (there >= step - _FLAP) & (there > back)
    return found


def missed_lately(fleets: Shadows) -> Floats:
    """Return the percent of the load that the fleet that each group follows missed: (group,)."""
    growing, shrinking = np.searchsorted(GROWING, fleets.chosen[0]), np.searchsorted(SHRINKING, fleets.chosen[1])
    missed: Floats = fleets.short[growing, shrinking, np.arange(len(fleets.load))]
    return 100.0 * missed / np.maximum(fleets.load, 1e-9)


def followed(before: Shadows, preference: Preference, step: int) -> Shadows:
    """Return the fleets with the headrooms to follow chosen anew, once an hour. See Note [Score]."""
    if step % HOUR:
        return before
    earlier = np.concatenate((before.chosen[None], before.earlier[:-1]))
    return replace(before, chosen=_chosen(score(before, preference)), earlier=earlier)


def score(fleets: Shadows, preference: Preference) -> Floats:
    """Return the score of each fleet; the least is the best."""
    load, days = np.maximum(fleets.load, 1e-9), fleets.steps / DAY
    short = 100.0 * fleets.short / load
    flaps = fleets.flaps / np.maximum(days, 1e-9)
    plain = fleets.cost / load + preference.short * short + preference.flaps * flaps
    mixed = (plain * days + _ASSUMED_DAYS * _assumed()[:, :, None]) / (days + _ASSUMED_DAYS)
    boot = len(fleets.recent) - 1
    allowed = 0.5 * preference.promise * min(1.0, (_USUAL_BOOT / boot) ** 0.5)
    found: Floats = mixed + 10.0 * np.maximum(short - allowed, 0.0)
    return found


def _assumed() -> Floats:
    """Return the score of a fleet of which nothing is known: the best at headrooms of 2.5 and 4 spreads."""
    growing, shrinking = np.log(GROWING + 1.0), np.log(SHRINKING + 1.0)
    best = np.log(3.5), np.log(5.0)
    assumed: Floats = 1.2 + 0.1 * ((growing - best[0])[:, None] ** 2 + (shrinking - best[1])[None, :] ** 2)
    return assumed


def _chosen(scores: Floats) -> Floats:
    best = scores.reshape(FLEETS, -1).argmin(axis=0)
    return np.stack((GROWING[best // len(SHRINKING)], SHRINKING[best % len(SHRINKING)]))
