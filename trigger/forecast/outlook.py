"""One step of the forecast of some groups: from their loads to the members that they need, and may shrink to.

`step` is a function of its arguments; the memory, whose past never changes, is the only thing that it writes to.

# Note [No data]

While a group has no data, nothing is learned, no virtual fleet moves, and the group does not shrink. For up to two
hours the load is taken to go on from its last level as it usually does at this time of day, and the group may still
grow: to the size that it would otherwise shrink to, with the next larger headroom. Growth never needs data; a hole in
the metrics at the hour at which the load rises every day would otherwise be a hole in the service. In an outage
(`trigger.forecast.drops`) and after two hours the group holds its size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collector.samples import Bools, Floats
from config.model.holidays import Holidays
from trigger.forecast.arrays import ZERO, constant, every, some
from trigger.forecast.carrying import Carried, nothing_carried
from trigger.forecast.drops import Drops, new_drops, with_drop, with_outage
from trigger.forecast.features import days_alike, usual_rise
from trigger.forecast.heads import Forecast, Heads, forecast, learned, new_heads, unmade, used_to
from trigger.forecast.horizons import LEAST, Horizons
from trigger.forecast.memory import LoadMemory
from trigger.forecast.reserves import Gaps, Reserve, no_gaps, reserved, with_gap
from trigger.forecast.shadows import (
    GROWING,
    JITTER,
    SHRINKING,
    Preference,
    Shadows,
    advanced,
    followed,
    new_shadows,
    sized,
)

_COLD = 720
"""Steps without history, in which a quarter is added."""
_COLD_SHARE, _SHARE = constant(1.25), constant(1.0)
_BLIND_STEPS = 240
_NO_LIMIT = constant(np.inf)
_HEADROOMS = np.concatenate((GROWING, SHRINKING))[:, None]
_HEAD_OF = np.array([0] * len(GROWING) + [1] * len(SHRINKING))
"""Of each of these."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outlook:
    """What the groups need at one step: (group,) each, in whole members."""

    needed: Floats
    """Fewer would be too few within a boot time; 0: nothing is known."""
    may_shrink_to: Floats
    """At least ``needed``: so many are enough for the next quarter of an hour."""
    middle: Floats
    """(head, group) the level that is forecast: ln(load + 0.25)."""
    spread: Floats
    """(head, group) the usual error of that level."""
    headroom: Floats
    """(head, group) in spreads."""
    heard: Bools
    """False: no data, or an outage; the group does not shrink."""
    gaps: Bools
    """Data is missing again and again, so there is a reserve (`trigger.forecast.reserves`)."""
    learning: Bools
    """What members carry is not known for long, so there is a reserve."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForecastState:
    """Everything learned up to one step."""

    heads: Heads
    shadows: Shadows
    drops: Drops
    made: tuple[Forecast, ...]
    """The newest last, as many as may still be compared with what came; at first steps that were not forecast."""
    since: Floats
    """(group,) the first step with a load; infinite: none yet."""
    silent: Floats
    """(group,) the last step without data."""
    heard: Floats
    """(group,) the last step with data; minus infinity: none yet."""
    gaps: Gaps
    carried: Carried
    """What members carry, where that is learned."""
    outlook: Outlook | None = None
    """``None``: no step yet."""


def new_state(groups: int, horizons: Horizons) -> ForecastState:
    """Return the state of groups of which nothing is known."""
    return ForecastState(
        heads=new_heads(groups),
        shadows=new_shadows(groups, horizons),
        drops=new_drops(groups),
        made=(unmade(groups),) * horizons.shrink,
        since=np.full(groups, np.inf),
        silent=np.full(groups, -np.inf),
        heard=np.full(groups, -np.inf),
        gaps=no_gaps(groups),
        carried=nothing_carried(groups),
    )


def step(  # what a step depends on
    state: ForecastState,
    memory: LoadMemory,
    load: Floats,
    preference: Preference,
    members: Floats | float = 1.0,
    holidays: Holidays | None = None,
) -> ForecastState:
    """Return the state after one more step of load; its outlook has the sizes.

    Args:
        state: after the step before.
        memory: up to the step before; the load is appended.
        load: (group,) what was measured, in members at their SLO capacity; NaN: no data.
        preference: of all groups.
        members: (group,) that bear a unit of the load, where these are not members of now: another deploy may carry
            more or less, and the load goes on as usual.
        holidays: of all groups; ``None``: there is no calendar.
    """
    number, horizons = memory.step + 1, memory.horizons
    alike = days_alike(holidays, number)
    drops, outage = with_outage(state.drops, load, memory, number)
    given = np.isfinite(load)
    heard = given & ~outage
    load, begun, silent = np.maximum(load, ZERO), np.minimum(state.since, float(number)), state.silent
    blind = missing = ~heard
    if not every(heard):
        begun = np.where(given, begun, state.since)
        blind = ~given & (number - state.heard <= _BLIND_STEPS)
        missing = missing & (begun < number)
        load = np.where(heard, load, _carried(memory, begun, blind, alike))
        silent = np.where(heard, silent, float(number))
    gaps = with_gap(state.gaps, missing, state.silent, number)
    memory.append(np.log(load + LEAST))
    heads = used_to(state.heads, load, heard)
    origins = np.array([[number - horizons.grow - 1.0], [number - horizons.shrink]])
    known = (silent < origins) & (begun <= origins)
    heads = learned(heads, memory, (state.made[-horizons.grow - 1], state.made[-horizons.shrink]), known)
    drops, floor = with_drop(drops, memory)
    now = forecast(heads, memory, begun, alike)
    borne = load * members
    least = _least(borne, begun > number - _COLD)
    most = _NO_LIMIT if preference.cap is None else np.maximum(np.ceil(preference.cap * borne), least)
    need, low = _needs(now, least, floor * members, (most, members))
    reserve = reserved(gaps, state.carried, memory, (most, members))
    shadows = followed(advanced(state.shadows, need, low, borne, number, heard), preference, number)
    return ForecastState(
        heads=heads,
        shadows=shadows,
        drops=drops,
        made=(*state.made, now)[-horizons.shrink :],
        since=begun,
        silent=silent,
        heard=np.where(heard, float(number), state.heard),
        gaps=gaps,
        carried=state.carried,
        outlook=_outlook(now, (need, low), shadows.chosen, (heard, blind), reserve),
    )


def _least(load: Floats, cold: Bools) -> Floats:
    """Return what the load that is measured now needs, with a quarter more while little is known."""
    least: Floats = np.ceil(np.where(cold, _COLD_SHARE, _SHARE) * load - JITTER)
    return least


def _needs(
    now: Forecast, least: Floats, floor: Floats, limits: tuple[Floats | float, Floats | float]
) -> tuple[Floats, Floats]:
    """Return what every headroom needs, and what every pair may shrink to; ``limits``: the most, and members a unit."""
    most, members = limits
    both = sized(now.middle.take(_HEAD_OF, 0), now.spread.take(_HEAD_OF, 0), _HEADROOMS, members)
    need = np.minimum(np.maximum(both[: len(GROWING)], least), most)
    low = np.maximum(np.minimum(both[len(GROWING) :], most), np.ceil(floor))
    return need, np.maximum(need[:, None, :], low[None, :, :])


def _carried(memory: LoadMemory, since: Floats, blind: Bools, alike: Bools) -> Floats:
    """Return the load that is assumed where none was measured: the last one, which goes on as usual if ``blind``."""
    if memory.is_empty:
        return np.zeros(memory.groups)
    level = memory.ago(0)
    if some(blind):
        level = level + np.where(blind, usual_rise(memory, since, alike), 0.0)
    return np.maximum(np.exp(level) - LEAST, 0.0)


def _outlook(
    now: Forecast, sizes: tuple[Floats, Floats], headroom: Floats, known: tuple[Bools, Bools], reserve: Reserve
) -> Outlook:
    """Return the sizes of the pair of headrooms that each group follows, with its reserve.

    Args:
        now: the forecast.
        sizes: what every headroom needs, and what every pair may shrink to.
        headroom: that each group follows.
        known: whether each is heard, or blind.
        reserve: of each.
    """
    (need, low), (heard, blind) = sizes, known
    groups = np.arange(len(heard))
    growing, shrinking = GROWING.searchsorted(headroom[0]), SHRINKING.searchsorted(headroom[1])
    needed = np.maximum(need[growing, groups], reserve.needed)
    if not every(heard):
        careful = low[growing, np.minimum(shrinking + 1, len(SHRINKING) - 1), groups]
        needed = np.where(heard, needed, np.where(blind, np.maximum(careful, reserve.needed), 0.0))
    return Outlook(
        needed=needed,
        may_shrink_to=np.maximum(low[growing, shrinking, groups], reserve.may_shrink_to),
        middle=now.middle,
        spread=now.spread,
        headroom=headroom,
        heard=heard,
        gaps=reserve.gaps,
        learning=reserve.learning,
    )
