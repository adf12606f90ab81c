"""Forecast groups side by side that boot and drain alike: a cohort has one memory and one state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from collector.samples import Floats
from config.model.holidays import Holidays
from config.units import GroupId, PolicyId
from trigger.forecast import lanes as columns
from trigger.forecast.carrying import Carried, LevelToKeep, carried_by, carried_on
from trigger.forecast.horizons import Horizons
from trigger.forecast.memory import LoadMemory
from trigger.forecast.outlook import ForecastState, new_state, step
from trigger.forecast.profiles import UNKNOWN, with_profile
from trigger.forecast.shadows import Preference


class Lane(NamedTuple):
    """One policy with a forecast in one group."""

    group: GroupId
    policy: PolicyId


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What all lanes of a cohort have in common."""

    horizons: Horizons
    preference: Preference
    level: LevelToKeep | None = None
    """By which it is learned what members carry; ``None``: that is declared."""
    holidays: Holidays | None = None
    """``None``: there is no calendar."""


class MemberReadings(NamedTuple):
    """What the members of some lanes show at a step: (lane,) each; NaN: not known."""

    load: Floats
    """Of each member, in the unit of the load."""
    level: Floats
    """By the counter that shows how hard they work."""
    profile: Floats | float = UNKNOWN
    """Number of the profile that they are made of (`trigger.forecast.profiles`)."""


class ForecastCohort:
    """Some lanes with the same terms, up to the same step.

    Args:
        lanes: at least one.
        terms: of all of them.
        memory: of their loads.
        state: up to the same step as the memory.
    """

    def __init__(self, lanes: Sequence[Lane], terms: Terms, memory: LoadMemory, state: ForecastState) -> None:
        self.lanes, self.terms, self.memory, self.state = tuple(lanes), terms, memory, state

    @classmethod
    def begin(cls, lanes: Sequence[Lane], terms: Terms, first: int, carried: Carried | None = None) -> ForecastCohort:
        """Begin with lanes of whose loads nothing is known.

        Args:
            lanes: at least one.
            terms: of all of them.
            first: the number of the step that comes first.
            carried: what their members carry; ``None``: that is not known, or is declared.
        """
        memory, state = LoadMemory(len(lanes), terms.horizons, first), new_state(len(lanes), terms.horizons)
        return cls(lanes, terms, memory, state if carried is None else replace(state, carried=carried))

    @property
    def number(self) -> int:
        """The number of the newest step."""
        return self.memory.step

    def take(self, load: Floats, shown: MemberReadings | None = None) -> None:
        """Go on by one step.

        Args:
            load: (lane,) in members; where what they carry is learned, in the unit of its counter. NaN: no data.
            shown: by the members at this step; ``None``: that is not kept, and they carry what they did.
        """
        terms = self.terms
        members: Floats | float = 1.0
        if terms.level is not None:
            carried = self.state.carried
            if shown is not None:
                carried = with_profile(carried, shown.profile, self.number + 1)
                carried = carried_on(carried, shown.load, shown.level, terms.level)
            self.state = replace(self.state, carried=carried)
            load, members = load / carried.unit, self.members
        self.state = step(self.state, self.memory, load, terms.preference, members, terms.holidays)

    def carried(self, lane: Lane) -> Carried | None:
        """Return what the members of a lane carry; ``None``: that is not known, or is declared."""
        place = self.lanes.index(lane)
        if self.terms.level is None or np.isnan(self.state.carried.each[place]):
            return None
        return carried_by(self.state.carried, [place])

    def carrying(self, carried: Carried | None) -> ForecastCohort:
        """Return the cohort with what its one lane carries now; ``None``: what it knows itself."""
        if carried is None:
            return self
        carried = replace(carried, unit=self.state.carried.unit)
        return ForecastCohort(self.lanes, self.terms, self.memory, replace(self.state, carried=carried))

    @property
    def members(self) -> Floats:
        """Return how many members bear a unit of the load that the memory has: (lane,)."""
        carried = self.state.carried
        return np.where(np.isnan(carried.each), 1.0, carried.unit / carried.each)

    def only(self, lanes: Sequence[Lane]) -> ForecastCohort:
        """Return some of the lanes, in this order."""
        if tuple(lanes) == self.lanes:
            return self
        places = [self.lanes.index(lane) for lane in lanes]
        rings = [ring[..., places] for ring in self.memory.rings]
        memory = LoadMemory.of(rings, self.terms.horizons, self.memory.first, self.number)
        return ForecastCohort(lanes, self.terms, memory, columns.chosen(self.state, places))


def joined(cohorts: Sequence[ForecastCohort]) -> tuple[ForecastCohort, ...]:
    """Join cohorts of the same terms and step: what is left differs in either."""
    alike: dict[tuple[Terms, int], list[ForecastCohort]] = {}
    for cohort in cohorts:
        alike.setdefault((cohort.terms, cohort.number), []).append(cohort)
    return tuple(parts[0] if len(parts) == 1 else _one(parts) for parts in alike.values())


def _one(parts: Sequence[ForecastCohort]) -> ForecastCohort:
    terms, first = parts[0].terms, min(part.memory.first for part in parts)
    rings = [np.concatenate(alike, axis=-1) for alike in zip(*(part.memory.rings for part in parts), strict=True)]
    memory = LoadMemory.of(rings, terms.horizons, first, parts[0].number)
    state = columns.joined([part.state for part in parts])
    return ForecastCohort([lane for part in parts for lane in part.lanes], terms, memory, state)
