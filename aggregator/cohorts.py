"""A cohort's questions, laid out once: which runs, tracks and windows its groups need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from aggregator.across import Run, Track, Tracks, tracks_of
from aggregator.frames import WindowKey
from aggregator.rates import Ints
from aggregator.specs import keys_for, ticks_of
from collector.samples import Bools, Floats
from config.model.catalogue import Catalogue
from config.model.counters import Counter
from config.model.reductions import Reduce, Reduction
from config.units import CounterId, GroupId, Seconds

Home = tuple[GroupId, WindowKey]
"""Where a cell belongs."""
Place = tuple[int, int]
"""Where its answer stands: the number of the ask, counted through all parts, and the window within it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowQuery:
    """All windows of one ring that have one length and one reduction over time; all arrays are (window,)."""

    length: int
    """Ticks."""
    how: Reduction
    homes: tuple[Home, ...]
    columns: Ints
    """Each window's track, counted within the ring."""
    tracks: Ints
    """The same, counted within the cohort."""
    bounded: Bools
    """Whether its unheard members have bounds."""
    freshness: Floats
    """Seconds after which the newest answer is stale; a counter that can only be had late is allowed its lag."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RingPart:
    """The tracks whose longest window is ``length`` ticks: they share a ring, so nobody pays for another's day."""

    length: int
    tracks: Ints
    """(column,) which tracks of the cohort."""
    columns: Mapping[Track, int]
    """The way back: where each of them stands in the ring."""
    asks: tuple[WindowQuery, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cohort:
    """Groups of one interval that are polled together, and everything that is asked of them."""

    interval: Seconds
    groups: tuple[GroupId, ...]
    counters: tuple[Counter, ...]
    """(run,)"""
    runs: Mapping[Run, int]
    places: Mapping[Track, int]
    tracks: Tracks
    parts: tuple[RingPart, ...]
    cells: Mapping[GroupId, Mapping[WindowKey, Place]]
    """Every window of every group."""

    @property
    def in_sweeps(self) -> bool:
        """Whether many ticks can be worked out at once: nothing has to be put in order, across members or over time."""
        return not self.tracks.in_order and all(isinstance(ask.how, Reduce) for part in self.parts for ask in part.asks)

    def counter_of(self, run: Run) -> Counter | None:
        """Look up how a run's counter is declared; ``None``: nobody asks for the run."""
        index = self.runs.get(run)
        return None if index is None else self.counters[index]


def cohort_of(catalogue: Catalogue, groups: Sequence[GroupId]) -> Cohort:
    """Work out what the groups ask for.

    Raises:
        ValueError: the groups do not share one interval, or a condition takes the last across members.
    """
    intervals = {catalogue.groups[group].interval for group in groups}
    if len(intervals) != 1:
        raise ValueError(f"a cohort has groups of one interval, not of {sorted(intervals)}")
    interval = intervals.pop()
    homes = [(group, key) for group in groups for key in keys_for(catalogue, group)]
    lengths: dict[Track, int] = {}
    for home in homes:
        track = _track(home)
        lengths[track] = max(lengths.get(track, 1), ticks_of(home[1].window, interval))
    runs = {run: index for index, run in enumerate(dict.fromkeys(track.run for track in lengths))}
    tracks = tracks_of(tuple(lengths), runs, catalogue.counters)
    freshness = {group: catalogue.groups[group].freshness * interval for group in groups}
    by_length = _gathered(homes, lambda home: lengths[_track(home)])
    places = {track: index for index, track in enumerate(lengths)}
    lags = {counter: catalogue.counters[counter].lag for _, counter in runs}
    ground = _Ground(interval, freshness, lags, tracks, places)
    parts = tuple(_part(length, inside, ground) for length, inside in by_length.items())
    return Cohort(
        interval=interval,
        groups=tuple(groups),
        counters=tuple(catalogue.counters[counter] for _, counter in runs),
        runs=runs,
        places=places,
        tracks=tracks,
        parts=parts,
        cells=_cells(groups, parts),
    )


class _Ground(NamedTuple):
    """What every window of a cohort stands on."""

    interval: Seconds
    freshness: Mapping[GroupId, Seconds]
    lags: Mapping[CounterId, Seconds]
    tracks: Tracks
    places: Mapping[Track, int]


def _part(length: int, homes: Sequence[Home], ground: _Ground) -> RingPart:
    columns = {track: column for column, track in enumerate(dict.fromkeys(map(_track, homes)))}
    alike = _gathered(homes, lambda home: (ticks_of(home[1].window, ground.interval), home[1].aggregate))
    return RingPart(
        length=length,
        tracks=_ints(ground.places[track] for track in columns),
        columns=columns,
        asks=tuple(_ask(ticks, how, inside, columns, ground) for (ticks, how), inside in alike.items()),
    )


def _ask(
    ticks: int, how: Reduction, homes: Sequence[Home], columns: Mapping[Track, int], ground: _Ground
) -> WindowQuery:
    tracks = _ints(ground.places[_track(home)] for home in homes)
    return WindowQuery(
        length=ticks,
        how=how,
        homes=tuple(homes),
        columns=_ints(columns[_track(home)] for home in homes),
        tracks=tracks,
        bounded=ground.tracks.bounded[tracks],
        freshness=np.array([ground.freshness[group] + ground.lags[key.counter] for group, key in homes]),
    )


def _cells(groups: Iterable[GroupId], parts: Iterable[RingPart]) -> Mapping[GroupId, Mapping[WindowKey, Place]]:
    cells: dict[GroupId, dict[WindowKey, Place]] = {group: {} for group in groups}
    for number, ask in enumerate(ask for part in parts for ask in part.asks):
        for place, (group, key) in enumerate(ask.homes):
            cells[group][key] = number, place
    return cells


def _track(home: Home) -> Track:
    group, key = home
    return Track(group, key.counter, key.across)


Key = TypeVar("Key")


def _gathered(homes: Iterable[Home], key: Callable[[Home], Key]) -> Mapping[Key, Sequence[Home]]:
    """Put what is alike together, in the order in which it first appears."""
    alike: dict[Key, list[Home]] = {}
    for home in homes:
        alike.setdefault(key(home), []).append(home)
    return alike


def _ints(numbers: Iterable[int]) -> Ints:
    return np.fromiter(numbers, dtype=np.intp)
