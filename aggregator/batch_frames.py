"""Many ticks at once: their frames, in columns until somebody looks at one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from aggregator.cells import Answers, CellCache, Cells, Numbers
from aggregator.cohorts import Place, WindowQuery
from aggregator.frames import Frame, WindowKey
from collector.samples import Floats
from config.units import GroupId, Moment


class Reel:
    """What the groups of a cohort asked at ticks that follow on each other. `len` is how many these are.

    Args:
        at: (tick,) when each poll began.
        places: where the answer to every window of every group stands.
        asks: in the order in which the places count them.
        answers: to each of them; arrays are (tick, window).
    """

    __slots__ = ("_answers", "_asks", "_places", "_told", "at")

    def __init__(
        self,
        at: Sequence[Moment],
        places: Mapping[GroupId, Mapping[WindowKey, Place]],
        asks: Sequence[WindowQuery],
        answers: Sequence[Answers],
    ) -> None:
        self.at = at
        self._places = places
        self._asks = asks
        self._answers = answers
        self._told: list[Sequence[Sequence[Numbers]] | None] = [None] * len(answers)
        """By ask, then tick; ``None``: nobody has looked yet."""

    def __len__(self) -> int:
        return len(self.at)

    def frame(self, group: GroupId, tick: int) -> Frame:
        """Make the frame of one group at one tick: what `Aggregator.take` would have answered, to the last bit."""
        ledgers = [CellCache(ask.length, partial(self._rows, number, tick)) for number, ask in enumerate(self._asks)]
        return Frame(group=group, at=self.at[tick], cells=Cells(self._places[group], ledgers))

    def frames(self, tick: int) -> Mapping[GroupId, Frame]:
        """Make the frames of all groups at one tick."""
        return {group: self.frame(group, tick) for group in self._places}

    def bounds(self, group: GroupId, key: WindowKey) -> tuple[Floats, Floats]:
        """Say within what one window's value would be, had everybody answered: (tick,) ``low`` and ``high``.

        Those of its cells, without making any; infinite where a cell has none.
        """
        ask, place = self._places[group][key]
        return self._answers[ask].bounds(place)

    def _rows(self, ask: int, tick: int) -> Sequence[Numbers]:
        told = self._told[ask]
        if told is None:
            told = self._told[ask] = self._answers[ask].ticks()
        return told[tick]
