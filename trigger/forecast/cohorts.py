"""Forecast groups side by side that boot and drain alike: a cohort has one memory and one state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from collector.samples import Floats
from config.units import GroupId, PolicyId
from trigger.forecast import lanes as columns
from trigger.forecast.horizons import Horizons
from trigger.forecast.memory import LoadMemory
from trigger.forecast.outlook import ForecastState, new_state, step
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


class Cohort:
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
    def begin(cls, lanes: Sequence[Lane], terms: Terms, first: int) -> Cohort:
        """Begin with lanes of which nothing is known; ``first``: the number of the step that comes first."""
        memory = LoadMemory(len(lanes), terms.horizons, first)
        return cls(lanes, terms, memory, new_state(len(lanes), terms.horizons))

    @property
    def number(self) -> int:
        """The number of the newest step."""
        return self.memory.step

    def take(self, load: Floats) -> None:
        """Go on by one step: (lane,) the loads in members; NaN: no data."""
        self.state = step(self.state, self.memory, load, self.terms.preference)

    def only(self, lanes: Sequence[Lane]) -> Cohort:
        """Return some of the lanes, in this order."""
        if tuple(lanes) == self.lanes:
            return self
        places = [self.lanes.index(lane) for lane in lanes]
        rings = [ring[..., places] for ring in self.memory.rings]
        memory = LoadMemory.of(rings, self.terms.horizons, self.memory.first, self.number)
        return Cohort(lanes, self.terms, memory, columns.chosen(self.state, places))


def joined(cohorts: Sequence[Cohort]) -> tuple[Cohort, ...]:
    """Join cohorts of the same terms and step: what is left differs in either."""
    alike: dict[tuple[Terms, int], list[Cohort]] = {}
    for cohort in cohorts:
        alike.setdefault((cohort.terms, cohort.number), []).append(cohort)
    return tuple(parts[0] if len(parts) == 1 else _one(parts) for parts in alike.values())


def _one(parts: Sequence[Cohort]) -> Cohort:
    terms, first = parts[0].terms, min(part.memory.first for part in parts)
    rings = [np.concatenate(alike, axis=-1) for alike in zip(*(part.memory.rings for part in parts), strict=True)]
    memory = LoadMemory.of(rings, terms.horizons, first, parts[0].number)
    state = columns.joined([part.state for part in parts])
    return Cohort([lane for part in parts for lane in part.lanes], terms, memory, state)
