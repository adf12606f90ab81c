"""Lay out once which runs, tracks and windows the groups of a cohort need."""

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

CellAddress = tuple[GroupId, WindowKey]
"""A group and the key of one of its cells."""
Place = tuple[int, int]
"""Position of a cell's numbers: the number of the query, counted through all parts, and the window within it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowQuery:
    """All windows of one ring that have one length and one reduction over time; all arrays are (window,)."""

    length: int
    """Ticks."""
    how: Reduction
    addresses: tuple[CellAddress, ...]
    columns: Ints
    """Each window's track, counted within the ring."""
    tracks: Ints
    """The same, counted within the cohort."""
    bounded: Bools
    """Whether missing answers have bounds."""
    freshness: Floats
    """Seconds after which the newest answer is stale; includes the lag of a counter that always arrives late."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RingPart:
    """The tracks whose longest window is ``length`` ticks share a ring: a short window needs no long ring."""

    length: int
    tracks: Ints
    """(column,) which tracks of the cohort."""
    columns: Mapping[Track, int]
    """Each track's column in the ring."""
    queries: tuple[WindowQuery, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cohort:
    """Groups of one interval that are polled together, with all their windows."""

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
        """Whether many ticks can be computed at once: no reduction needs sorted values, across members or over time."""
        return not self.tracks.in_order and all(
            isinstance(query.how, Reduce) for part in self.parts for query in part.queries
        )

    def counter_of(self, run: Run) -> Counter | None:
        """Look up the declared counter of a run; ``None``: no policy needs the run."""
        index = self.runs.get(run)
        return None if index is None else self.counters[index]


def cohort_of(catalogue: Catalogue, groups: Sequence[GroupId]) -> Cohort:
    """Lay out the windows that the groups need.

    Raises:
        ValueError: the groups do not share one interval, or a condition takes the last value across members.
    """
    intervals = {catalogue.groups[group].interval for group in groups}
    if len(intervals) != 1:
        raise ValueError(f"groups of intervals {sorted(intervals)} cannot share a cohort; expected one interval")
    interval = intervals.pop()
    addresses = [(group, key) for group in groups for key in keys_for(catalogue, group)]
    lengths: dict[Track, int] = {}
    for address in addresses:
        track = _track(address)
        lengths[track] = max(lengths.get(track, 1), ticks_of(address[1].window, interval))
    runs = {run: index for index, run in enumerate(dict.fromkeys(track.run for track in lengths))}
    tracks = tracks_of(tuple(lengths), runs, catalogue.counters)
    freshness = {group: catalogue.groups[group].freshness * interval for group in groups}
    by_length = _gathered(addresses, lambda address: lengths[_track(address)])
    places = {track: index for index, track in enumerate(lengths)}
    lags = {counter: catalogue.counters[counter].lag for _, counter in runs}
    layout = _CohortLayout(interval, freshness, lags, tracks, places)
    parts = tuple(_part(length, inside, layout) for length, inside in by_length.items())
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


class _CohortLayout(NamedTuple):
    """The values that the layout of every window in a cohort needs."""

    interval: Seconds
    freshness: Mapping[GroupId, Seconds]
    lags: Mapping[CounterId, Seconds]
    tracks: Tracks
    places: Mapping[Track, int]


def _part(length: int, addresses: Sequence[CellAddress], layout: _CohortLayout) -> RingPart:
    columns = {track: column for column, track in enumerate(dict.fromkeys(map(_track, addresses)))}
    alike = _gathered(addresses, lambda address: (ticks_of(address[1].window, layout.interval), address[1].aggregate))
    return RingPart(
        length=length,
        tracks=_ints(layout.places[track] for track in columns),
        columns=columns,
        queries=tuple(_query(ticks, how, inside, columns, layout) for (ticks, how), inside in alike.items()),
    )


def _query(
    ticks: int, how: Reduction, addresses: Sequence[CellAddress], columns: Mapping[Track, int], layout: _CohortLayout
) -> WindowQuery:
    tracks = _ints(layout.places[_track(address)] for address in addresses)
    return WindowQuery(
        length=ticks,
        how=how,
        addresses=tuple(addresses),
        columns=_ints(columns[_track(address)] for address in addresses),
        tracks=tracks,
        bounded=layout.tracks.bounded[tracks],
        freshness=np.array([layout.freshness[group] + layout.lags[key.counter] for group, key in addresses]),
    )


def _cells(groups: Iterable[GroupId], parts: Iterable[RingPart]) -> Mapping[GroupId, Mapping[WindowKey, Place]]:
    cells: dict[GroupId, dict[WindowKey, Place]] = {group: {} for group in groups}
    for number, query in enumerate(query for part in parts for query in part.queries):
        for place, (group, key) in enumerate(query.addresses):
            cells[group][key] = number, place
    return cells


def _track(address: CellAddress) -> Track:
    group, key = address
    return Track(group, key.counter, key.across)


Key = TypeVar("Key")


def _gathered(
    addresses: Iterable[CellAddress], key: Callable[[CellAddress], Key]
) -> Mapping[Key, Sequence[CellAddress]]:
    """Group cells by a key, in the order in which each key first appears."""
    alike: dict[Key, list[CellAddress]] = {}
    for address in addresses:
        alike.setdefault(key(address), []).append(address)
    return alike


def _ints(numbers: Iterable[int]) -> Ints:
    return np.fromiter(numbers, dtype=np.intp)
