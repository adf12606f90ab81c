"""The cells of frames: computed in columns, each made when it is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from aggregator.across import TickRow
from aggregator.cohorts import Place, WindowQuery
from aggregator.frames import Aggregate, Cell, Insufficient, Lack, WindowKey
from aggregator.rates import Ints
from aggregator.rings import Ring, TickSweep
from aggregator.windows import over
from collector.samples import Bools, Floats

Numbers = tuple[int, int, int, int, int, float, float, float, float, float]
"""One window's `Answers`."""


class Answers(NamedTuple):
    """The reduced windows of one query; all arrays are (window,), and the fields mean the same as in a `Cell`.

    For a sweep they are (tick, window), or (window,) where all ticks have the same values.
    """

    because: Ints
    """Index into ``_LACKS``."""
    heard: Ints
    expected: Ints
    left_out: Ints
    samples: Ints
    low: Floats
    value: Floats
    high: Floats
    coverage: Floats
    age: Floats

    def alone(self) -> Answers:
        """Return the answers of one tick as answers of many ticks: (tick, window)."""
        return Answers(*(column[np.newaxis] for column in np.broadcast_arrays(*self)))

    def rows(self) -> Sequence[Numbers]:
        """Return (window,) arrays as Python numbers, window by window."""
        return list(zip(*(column.tolist() for column in self), strict=True))

    def ticks(self) -> Sequence[Sequence[Numbers]]:
        """Return (tick, window) arrays as the `rows` of each tick."""
        columns = (column.tolist() for column in np.broadcast_arrays(*self))
        return [list(zip(*tick, strict=True)) for tick in zip(*columns, strict=True)]

    def bounds(self, place: int) -> tuple[Floats, Floats]:
        """Return ``low`` and ``high`` of one window as its cells have them; each (tick,)."""
        because = np.broadcast_to(self.because, self.low.shape)[:, place]
        bounded = _IS_BOUNDED[because]
        return np.where(bounded, self.low[:, place], -np.inf), np.where(bounded, self.high[:, place], np.inf)


class WindowColumns(NamedTuple):
    """All windows of a cohort at one tick, query by query; arrays are (window,), and fields those of a `Cell`.

    For a sweep they are (tick, window).
    """

    lack: Ints
    """Index into ``_LACKS``; 0: there is an aggregate."""
    low: Floats
    value: Floats
    """Meaningless where an aggregate is lacking."""
    high: Floats
    coverage: Floats


def columns_of(found: Sequence[Answers]) -> WindowColumns:
    """Put the answers of one tick, (window,) each, or of many, (tick, window), one after the other."""
    if not found:
        nothing = np.zeros(0)
        return WindowColumns(nothing.astype(np.intp), nothing, nothing, nothing, nothing)
    named = ("because", "low", "value", "high", "coverage")
    lack, low, value, high, coverage = (
        np.concatenate([np.broadcast_to(getattr(each, name), each.low.shape) for each in found], axis=-1)
        for name in named
    )
    bounded = _IS_BOUNDED[lack]
    return WindowColumns(lack, np.where(bounded, low, -np.inf), value, np.where(bounded, high, np.inf), coverage)


def answers(
    query: WindowQuery, ring: Ring | TickSweep, row: TickRow, left_out: Floats, steady: float | Floats
) -> Answers:
    """Reduce all windows of one query.

    Args:
        query: the windows to reduce.
        ring: the ring that the windows read; for a sweep, all its ticks at once.
        row: (track,) the newest tick of all tracks in the cohort; for a sweep, all its ticks.
        left_out: (track,) members that do not count yet.
        steady: when the frame is taken, in steady seconds; for a sweep (tick, 1).
    """
    window = over(query.how, ring.newest(query.length, query.columns), query.bounded)
    age = np.maximum(steady - window.newest, 0.0)
    expected, watched = row.expected[query.tracks], ring.watched()[..., query.columns]
    silent = np.isneginf(window.newest)
    return Answers(
        because=_first(expected == 0, watched < query.length, silent, age > query.freshness, ~window.valid),
        heard=row.heard[..., query.tracks].astype(np.intp),
        expected=expected.astype(np.intp),
        left_out=left_out[query.tracks].astype(np.intp),
        samples=window.samples,
        low=window.low,
        value=window.value,
        high=window.high,
        coverage=window.coverage,
        age=age,
    )


_LACKS = (None, Lack.NO_MEMBERS, Lack.TOO_FEW, Lack.NO_SAMPLES, Lack.STALE, Lack.TOO_FEW_HEARD)
"""Reasons for a missing aggregate, the most specific first."""

_BOUNDED = tuple(place for place, lack in enumerate(_LACKS) if lack in {None, Lack.TOO_FEW_HEARD})
"""The reasons that leave bounds."""

_IS_BOUNDED = np.isin(np.arange(len(_LACKS)), _BOUNDED)
"""(reason,) whether it leaves bounds."""


def _first(*lacking: Bools) -> Ints:
    """Find the first of these that holds, counted from 1; 0: none.

    `numpy.select` returns the same, but takes longer where none holds, which slows small cohorts down.
    """
    because: Ints = np.zeros(1, dtype=np.intp)
    for place in range(len(lacking), 0, -1):
        because = np.where(lacking[place - 1], place, because)
    return because


class CellCache:
    """The answers of one query at one tick, converted when the first cell is read.

    Args:
        needed: ticks of each window.
        rows: makes one row of numbers for each window; called once, at the first read.
    """

    __slots__ = ("_make", "_needed", "_rows")

    def __init__(self, needed: int, rows: Callable[[], Sequence[Numbers]]) -> None:
        self._needed = needed
        self._make = rows
        self._rows: Sequence[Numbers] | None = None
        """``None``: not read yet."""

    def cell(self, place: int) -> Cell:
        """Make the cell of one window."""
        if self._rows is None:
            self._rows = self._make()
        lack, heard, expected, left_out, samples, low, value, high, coverage, age = self._rows[place]
        because = _LACKS[lack]
        if because is None:
            return Aggregate(
                value=value,
                low=low,
                high=high,
                samples=samples,
                needed=self._needed,
                heard=heard,
                expected=expected,
                coverage=coverage,
                age=age,
                left_out=left_out,
            )
        bounded = lack in _BOUNDED
        return Insufficient(
            because=because,
            samples=samples,
            needed=self._needed,
            heard=heard,
            expected=expected,
            low=low if bounded else -math.inf,
            high=high if bounded else math.inf,
            left_out=left_out,
        )


class Cells(Mapping[WindowKey, Cell]):
    """The cells of one group."""

    __slots__ = ("_caches", "_places")

    def __init__(self, places: Mapping[WindowKey, Place], caches: Sequence[CellCache]) -> None:
        self._places = places
        self._caches = caches

    def __getitem__(self, key: WindowKey) -> Cell:
        query, place = self._places[key]
        return self._caches[query].cell(place)

    def __iter__(self) -> Iterator[WindowKey]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
