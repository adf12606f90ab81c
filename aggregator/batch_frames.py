"""Frames of many ticks, kept in columns until a frame is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from aggregator.cells import Answers, CellCache, Cells, Numbers
from aggregator.cohorts import Place, WindowQuery
from aggregator.frames import Frame, WindowKey
from collector.samples import Floats
from config.units import GroupId, Moment


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

    def _rows(self, query: int, tick: int) -> Sequence[Numbers]:
        ticks = self._ticks[query]
        if ticks is None:
            ticks = self._ticks[query] = self._answers[query].ticks()
        return ticks[tick]
