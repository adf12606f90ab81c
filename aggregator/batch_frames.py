"""Frames of one tick, or of many: kept in columns until a frame is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from aggregator.cells import Answers, CellCache, Cells, Numbers, WindowColumns, columns_of
from aggregator.cohorts import Place, WindowQuery
from aggregator.frames import Frame, WindowKey
from collector.samples import Floats
from config.units import GroupId, Moment


class TickFrames(Mapping[GroupId, Frame]):
    """The windows of a cohort's groups at one tick.

    Args:
        at: when the poll began.
        places: where the answer to each window of each group is.
        queries: in the order in which the places count them.
        answers: to each query; arrays are (window,).
    """

    __slots__ = ("_answers", "_at", "_caches", "_places")

    def __init__(
        self,
        at: Moment,
        places: Mapping[GroupId, Mapping[WindowKey, Place]],
        queries: Sequence[WindowQuery],
        answers: Sequence[Answers],
    ) -> None:
        self._at = at
        self._places = places
        self._answers = answers
        self._caches = [CellCache(query.length, each.rows) for query, each in zip(queries, answers, strict=True)]

    def __getitem__(self, group: GroupId) -> Frame:
        return Frame(group=group, at=self._at, cells=Cells(self._places[group], self._caches))

    def __iter__(self) -> Iterator[GroupId]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def columns(self) -> WindowColumns:
        """Return the numbers of all windows, in the order of `Aggregator.window`, without making a cell."""
        return columns_of(self._answers)


class Reel:
    """The windows of a cohort's groups at consecutive ticks. `len` is the number of ticks.

    Args:
        at: (tick,) when each poll began.
        places: position of every window of every group in ``answers``.
        queries: in the order that the places count.
        answers: one per query; arrays are (tick, window).
    """

    __slots__ = ("_answers", "_places", "_queries", "_ticks", "at")

    def __init__(
        self,
        at: Sequence[Moment],
        places: Mapping[GroupId, Mapping[WindowKey, Place]],
        queries: Sequence[WindowQuery],
        answers: Sequence[Answers],
    ) -> None:
        self.at = at
        self._places = places
        self._queries = queries
        self._answers = answers
        self._ticks: list[Sequence[Sequence[Numbers]] | None] = [None] * len(answers)
        """By query, then tick; ``None``: not read yet."""

    def __len__(self) -> int:
        return len(self.at)

    def frame(self, group: GroupId, tick: int) -> Frame:
        """Make the frame of one group at one tick: bit for bit what `Aggregator.take` returns."""
        caches = [
            CellCache(query.length, partial(self._rows, number, tick)) for number, query in enumerate(self._queries)
        ]
        return Frame(group=group, at=self.at[tick], cells=Cells(self._places[group], caches))

    def frames(self, tick: int) -> Mapping[GroupId, Frame]:
        """Make the frames of all groups at one tick."""
        return {group: self.frame(group, tick) for group in self._places}

    def bounds(self, group: GroupId, key: WindowKey) -> tuple[Floats, Floats]:
        """Return the bounds of one window's value with all answers: ``low`` and ``high``, each (tick,).

        They equal the bounds of the window's cells, but no cell is made; infinite where a cell has none.
        """
        query, place = self._places[group][key]
        return self._answers[query].bounds(place)

    def columns(self) -> WindowColumns:
        """Return the numbers of all windows at all ticks, in the order of `Aggregator.window`: (tick, window)."""
        return columns_of(self._answers)

    def _rows(self, query: int, tick: int) -> Sequence[Numbers]:
        ticks = self._ticks[query]
        if ticks is None:
            ticks = self._ticks[query] = self._answers[query].ticks()
        return ticks[tick]
