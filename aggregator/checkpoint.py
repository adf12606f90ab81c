"""What an aggregator remembers, in a form that outlives its process.

# Note [Checkpoints of windows]

A checkpoint has two parts. `CohortCheckpoint` is small and complete: it replaces the one before it at every tick. The
rows of the rings are large, and each tick adds one: they are kept apart, by ring and tick. A checkpoint names its
tracks by keys that include the counter's declaration: windows of a counter that is declared otherwise now do not go on.
Times in a checkpoint are steady seconds, so it means nothing after a reboot. Source: DESIGN.md "Time".
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aggregator.cohorts import Cohort
from aggregator.rates import Baseline, Ints
from collector.samples import Floats
from config.units import GroupId, Seconds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RingCheckpoint:
    """What a ring remembers, without its rows."""

    length: int
    """Ticks."""
    tracks: tuple[str, ...]
    """(track,) keys, by `CohortKeys`."""
    since: Ints
    """(track,) as `Ring.since`."""
    expected: Floats
    """(track,) members at the newest tick."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CohortCheckpoint:
    """What an aggregator remembers after its newest tick, without the rows of its rings."""

    interval: Seconds
    groups: tuple[GroupId, ...]
    origin: float
    """Steady seconds of tick 0."""
    tick: int
    """Number of the newest tick."""
    rings: tuple[RingCheckpoint, ...]
    baseline: Baseline
    declared: tuple[str, ...]
    """(rising series,) the declaration of each series' counter in the baseline."""

    @property
    def newest_at(self) -> float:
        """Steady seconds of the newest tick."""
        return self.origin + self.tick * self.interval

    @property
    def longest(self) -> int:
        """Ticks of the longest ring."""
        return max((ring.length for ring in self.rings), default=1)


class CohortKeys:
    """Names of a cohort's tracks and declarations that mean the same in every process.

    Args:
        cohort: whose.
    """

    __slots__ = ("_declared", "tracks")

    def __init__(self, cohort: Cohort) -> None:
        self.tracks = tuple(
            tuple(_key(track, cohort.counters[cohort.runs[track.run]]) for track in part.columns)
            for part in cohort.parts
        )
        """Ring by ring, in the order of its columns."""
        self._declared = {run: _key(cohort.counters[index]) for run, index in cohort.runs.items()}

    def declared(self, baseline: Baseline) -> tuple[str, ...]:
        """Return the declaration of each series' counter; empty for a counter that no policy needs any more."""
        return tuple(self._declared.get((series.group, series.counter), "") for series in baseline.series)


def columns_in(saved: Sequence[str], wanted: Sequence[str]) -> Ints:
    """Find each wanted track among saved ones; -1: it was not saved."""
    places = {key: place for place, key in enumerate(saved)}
    return np.array([places.get(key, -1) for key in wanted], dtype=np.intp)


def _key(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()
