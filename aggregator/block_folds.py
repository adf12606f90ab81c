"""Fold the rows of a ring in advance, so that the fold of its newest ticks is read in few pieces."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import isqrt

import numpy as np

from aggregator.stretches import OF, OF_EVERY_WINDOW, Fold, Places, TickRows
from collector.samples import Floats
from config.model.reductions import Reduction


class BlockFolds:
    """Blocks of ticks, each folded together with all that follow it, and the ticks since the newest complete one.

    Block n begins at tick n × its size, which is the root of the ring's length. A window reads the first block that
    lies in it, the ticks since the newest complete block, and the few rows at its old end.

    Args:
        rows: of the ring; tick n stands in row n modulo their number.
        hows: the reductions of its windows; folds of others are made from all rows.
    """

    __slots__ = ("_blocks", "_rows", "_since", "_size")

    def __init__(self, rows: TickRows, hows: Collection[Reduction]) -> None:
        length = len(rows.value)
        folds = (*OF_EVERY_WINDOW, *(fold for how in dict.fromkeys(hows) for fold in OF.get(how, ())))
        self._rows = rows
        self._size = isqrt(length)
        """Ticks of a block."""
        blocks = -(-length // self._size) + 1
        self._since = {fold: fold.of(rows, slice(0, 1), slice(None)) for fold in folds}
        """(track,) the folded ticks since the newest complete block began, or that block if there is none."""
        self._blocks = {fold: np.tile(since, (blocks, 1)) for fold, since in self._since.items()}
        """(block, track) the folded value of each block and all that follow it, up to the newest complete one."""

    @property
    def bytes(self) -> int:
        """Memory of what is folded."""
        return sum(folded.nbytes for folded in (*self._blocks.values(), *self._since.values()))

    def add(self, tick: int) -> None:
        """Fold the row of a new tick.

        After a gap, the block that it lies in may hold rows that are older than the ring: no window reads such a block.
        """
        block, within = divmod(tick, self._size)
        place = tick % len(self._rows.value)
        for fold, since in self._since.items():
            row = fold.of(self._rows, slice(place, place + 1), slice(None))
            self._since[fold] = fold.by(since, row) if within else row
        if within == self._size - 1:
            for fold, blocks in self._blocks.items():
                since = self._since[fold]
                fold.by(blocks, since, out=blocks)
                blocks[block % len(blocks)] = since

    def renew(self, first: int, last: int) -> None:
        """Fold these ticks again, up to the newest one: their rows were written otherwise than one by one."""
        for tick in range(first - first % self._size, last + 1):
            self.add(tick)

    def newest(self, fold: Fold, *, last: int, ticks: int, tracks: Places) -> Floats:
        """Fold so many ticks of some tracks, up to the newest one: (track,)."""
        first, size = last - ticks + 1, self._size
        begin, end = -(-first // size), (last + 1) // size
        if begin >= end or fold not in self._blocks:
            return self._of_rows(fold, first, last, tracks)
        blocks = self._blocks[fold]
        parts = [blocks[begin % len(blocks)][tracks].copy()]  # with the next block, more is folded into it
        if first < begin * size:
            parts.append(self._of_rows(fold, first, begin * size - 1, tracks))
        if last >= end * size:
            parts.append(self._since[fold][tracks])
        return fold.joined(parts)

    def _of_rows(self, fold: Fold, first: int, last: int, tracks: Places) -> Floats:
        places = _places(first, last, len(self._rows.value))
        return fold.joined([fold.of(self._rows, some, tracks) for some in places])


def _places(first: int, last: int, size: int) -> Iterator[slice]:
    """Find the numbers from ``first`` to ``last`` in a ring of this size: one slice, or two."""
    begin, end = first % size, last % size
    if begin <= end:
        yield slice(begin, end + 1)
    else:
        yield slice(begin, size)
        yield slice(0, end + 1)
