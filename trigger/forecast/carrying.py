"""Learn what a member carries, from the load of a member and a counter, such as CPU, that shows how hard it works.

# Note [What a member carries]

A member that shows ``f`` under the load ``x`` would show the level ``at``, which it is to keep, under about
``x · at ÷ f``. Where an idle member shows something, too, it would carry more than that: the estimate is on the safe
side. Where the counter rises ever steeper, as a latency does, it would carry less. So an estimate counts up to a
third beyond the most that members were seen to carry within the level, and grows from there as they carry more.

* Ten steps are the least evidence. From then on the estimate is a mean over some six hours.
* A member that shows less than half of the level tells little about the level. Such a step only counts if its estimate
  is above the mean.
* A counter that is at the top of its range hides how much too high the load is: the estimate is a third lower then, and
  never raises the mean.
* An estimate is *off* if it differs from the mean by more than a tenth and more than four usual errors. After two steps
  that are off below, the higher of them counts in place of the mean; after four, the mean begins anew from them: a
  deploy has changed what members carry. It takes twenty steps to begin anew from estimates that are off above.
* One step counts in place of the mean if its counter is at the top and it is off below by what is shown, too, without
  the third: no noise brings all members to the top under a load that they carry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from collector.samples import Bools, Floats

FIRST_STEPS = 10
"""Steps before anything is known."""
MEAN_STEPS = 720
"""Steps that the estimate is a mean of."""
_QUICK, LOWER, _HIGHER = 2, 4, 20
"""Steps in a row that are off: below, to count; below and above, to begin anew."""
_FIRST_SPREAD = 0.02
_BAND, _SPREADS = 0.1, 4.0
_BEYOND = float(np.log(4 / 3))
_IDLE = 0.5
"""Of the level."""
_FULL = 0.95
"""Of the top of the range."""
_HIDDEN = float(np.log(1.5))
FORGETS = float(np.log(2.0)) / (7 * 2880)
"""By so much a step what was carried at most counts less: half in a week."""
_PROFILES = 4
"""Earlier profiles of which it is kept what their members carried."""
NO_PROFILE = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelToKeep:
    """What members are to keep, and the bounds of what they are taken to carry."""

    at: float
    """Of the counter; above 0."""
    top: float
    """The top of the counter's range; infinite: it has none."""
    least: float
    """Of what a member carries, in the unit of the load."""
    most: float


class ProfileFigures(NamedTuple):
    """What is kept of a profile whose members have left (`trigger.forecast.profiles`): like fields of `Carried`."""

    profile: float
    """Its number; `NO_PROFILE`: nothing is kept."""
    mean: float
    spread: float
    steps: float
    seen: float
    left: float
    """The step at which some members were first of another profile; minus infinity: nothing is kept."""


_NOTHING_KEPT = ProfileFigures(
    profile=NO_PROFILE, mean=0.0, spread=_FIRST_SPREAD, steps=0.0, seen=-np.inf, left=-np.inf
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Carried:
    """What is known of some groups: (group,) unless noted otherwise. NaN: nothing yet."""

    each: Floats
    """What a member carries, in the unit of the load."""
    unit: Floats
    """What it carried when it was first known: the forecast measures the load in that."""
    mean: Floats
    """ln of the estimates."""
    spread: Floats
    """Their usual distance from it."""
    steps: Floats
    """That the mean is of, since it began anew."""
    seen: Floats
    """ln of the most that was carried within the level; minus infinity: nothing."""
    recent: Floats
    """(age, group) the newest estimates since the mean began anew."""
    profile: Floats
    """Number of the profile that all members are made of; `NO_PROFILE`: of several, or it is not known."""
    own: Floats
    """Steps that were learned while all of them were."""
    kept: Floats
    """(figure, place, group) `ProfileFigures` of earlier profiles."""


def nothing_carried(groups: int) -> Carried:
    """Return what is known of groups at first: nothing."""
    unknown = np.full(groups, np.nan)
    return Carried(
        each=unknown,
        unit=unknown,
        mean=np.zeros(groups),
        spread=np.full(groups, _FIRST_SPREAD),
        steps=np.zeros(groups),
        seen=np.full(groups, -np.inf),
        recent=np.full((_HIGHER, groups), np.nan),
        profile=np.full(groups, NO_PROFILE),
        own=np.zeros(groups),
        kept=np.broadcast_to(np.array(_NOTHING_KEPT)[:, None, None], (len(_NOTHING_KEPT), _PROFILES, groups)).copy(),
    )


def no_profiles() -> Floats:
    """Return the last numbers of what is known of a group at first: those of its profiles: (number,)."""
    nothing = nothing_carried(1)
    return np.concatenate([each.ravel() for each in (nothing.profile, nothing.own, nothing.kept)])


def carried_by(carried: Carried, places: Sequence[int]) -> Carried:
    """Return what some of the groups carry, whose loads are measured from now on in what each member carries now."""
    found = Carried(**{each.name: getattr(carried, each.name)[..., list(places)] for each in fields(carried)})
    return replace(found, unit=found.each)


def carried_on(before: Carried, load: Floats, shown: Floats, level: LevelToKeep) -> Carried:
    """Return what is known after one more step. See Note [What a member carries].

    Args:
        before: after the step before.
        load: (group,) of each member, in the unit of the load; NaN: not known.
        shown: (group,) by the counter, averaged over the members; NaN: not known.
        level: that members are to keep.
    """
    begun = before.steps >= FIRST_STEPS
    sample = _sample(before.mean, begun, load, shown, level)
    recent = np.where(sample.counts, np.concatenate((sample.estimate[None], before.recent[:-1])), before.recent)
    band = band_of(before.spread)
    below = begun & all_off(before.mean - recent, band, LOWER)
    anew: Bools = below | (begun & all_off(recent - before.mean, band, _HIGHER))
    steps = np.where(anew, float(FIRST_STEPS), before.steps + sample.counts)
    away = sample.estimate - before.mean
    away = np.where(begun, np.minimum(np.maximum(away, -band), band), away)
    rate = np.where(sample.counts, np.maximum(1.0 / np.maximum(steps, 1.0), 1.0 / MEAN_STEPS), 0.0)
    newest = np.where(below, recent[:LOWER].sum(axis=0) / LOWER, recent.sum(axis=0) / _HIGHER)
    mean = np.where(anew, newest, before.mean + rate * away)
    seen = np.maximum(before.seen - FORGETS, sample.carried)
    seen = np.where(below, np.minimum(seen, mean), seen)
    found = np.where(begun & ~anew & all_off(mean - recent, band, _QUICK), recent[:_QUICK].max(axis=0), mean)
    less = begun & ~anew & sample.full & (mean - sample.estimate - _HIDDEN > band)
    found = np.where(less, np.minimum(found, sample.estimate), found)
    each = np.where(steps >= FIRST_STEPS, carries(found, seen, level), np.nan)
    return Carried(
        each=each,
        unit=np.where(np.isnan(before.unit), each, before.unit),
        mean=mean,
        spread=np.where(begun & ~anew, before.spread + rate * (np.abs(away) - before.spread), before.spread),
        steps=steps,
        seen=seen,
        recent=np.where(anew, np.nan, recent),
        profile=before.profile,
        own=before.own + (sample.counts & (before.profile != NO_PROFILE)),
        kept=before.kept,
    )


def carries(estimate: Floats | float, seen: Floats | float, level: LevelToKeep) -> Floats:
    """Return what members carry, in the unit of the load, by ln of an estimate and of the most that was carried."""
    estimate = np.where(np.isfinite(seen), np.minimum(estimate, seen + _BEYOND), estimate)
    found: Floats = np.minimum(np.maximum(np.exp(estimate), level.least), level.most)
    return found


class _Sample(NamedTuple):
    """What one step shows: (group,) each."""

    estimate: Floats
    """ln of what a member would carry at the level."""
    counts: Bools
    """Whether it teaches something."""
    full: Bools
    """Whether the counter is at the top of its range."""
    carried: Floats
    """ln of what a member carried within the level; minus infinity: it did not, or that is not known."""


def _sample(mean: Floats, begun: Bools, load: Floats, shown: Floats, level: LevelToKeep) -> _Sample:
    known = (load > 0) & (shown > 0)  # not NaN
    ln_load = np.log(np.where(known, load, 1.0))
    full = known & (shown >= _FULL * level.top)
    estimate = ln_load + np.log(level.at / np.where(known, shown, level.at)) - np.where(full, _HIDDEN, 0.0)
    counts = known & (~begun | np.where(estimate > mean, ~full, shown >= _IDLE * level.at))
    return _Sample(estimate, counts, full, np.where(known & (shown <= level.at), ln_load, -np.inf))


def band_of(spread: Floats | float) -> Floats:
    """Return how far from the mean an estimate is off; ``spread``: of any shape."""
    band: Floats = np.maximum(_SPREADS * spread, _BAND)
    return band


def all_off(distance: Floats, band: Floats, steps: int) -> Bools:
    """Tell whether the newest steps are all farther off than the band; steps that are not known are not."""
    off: Bools = np.logical_and.reduce(distance[:steps] > band, axis=0)
    return off
