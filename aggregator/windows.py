"""Over time: a ring of rows per length of window, and what a window of it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, assert_never

import numpy as np

from aggregator.across import Row
from aggregator.rates import Ints
from aggregator.spread_over_time import short_of_ticks, spread_over_time
from aggregator.stretches import Stretch
from aggregator.tallies import Bounded
from collector.samples import Bools, Floats
from config.reductions import Reduce, Reduction


class _Rows(NamedTuple):
    """What a ring keeps; all arrays are (tick, track)."""

    low: Floats
    value: Floats
    high: Floats
    share: Floats
    newest: Floats


class Ring:
    """The last ``length`` ticks of some tracks, a row per tick, addressed by the tick's number.

    A row that was never written is silent and bounded by nothing, so that what was not watched can not be mistaken
    for what was measured. Every window is reduced afresh from its rows: a spike leaves no error behind.
    """

    __slots__ = ("_all", "_exact", "_rows", "last", "length", "since")

    def __init__(self, length: int, tracks: int) -> None:
        shape = (length, tracks)
        self.length = length
        self.last: int | None = None
        """Number of the newest tick; ``None``: none yet."""
        self.since: Ints = np.full(tracks, _NEVER)
        """(track,) the tick from which on there has been somebody to watch."""
        self._all = np.arange(tracks)
        self._exact = np.zeros(length, dtype=np.bool_)
        self._rows = _Rows(
            low=np.full(shape, -np.inf),
            value=np.zeros(shape),
            high=np.full(shape, np.inf),
            share=np.zeros(shape),
            newest=np.full(shape, -np.inf),
        )

    @property
    def bytes(self) -> int:
        """The memory that its rows take."""
        return sum(column.nbytes for column in self._rows)

    def put(self, tick: int, row: Row, missed: Row) -> None:
        """Write one tick; a second row for the newest tick replaces the first.

        A tick at which a track has no members ends its watch: nobody was there to be seen, busy or idle.

        Args:
            tick: number of the tick; not before the newest.
            row: (track,) what was seen.
            missed: (track,) what to write for the ticks between the newest and this one.
        """
        first = tick if self.last is None else self.last + 1
        for between in range(max(first, tick - self.length + 1), tick):
            self._write(between, missed)
        self._write(tick, row)
        self.last = tick
        self.since = np.where(row.expected > 0, np.minimum(self.since, tick), _NEVER)

    def newest(self, length: int, tracks: Ints) -> Stretch:
        """Read the newest ``length`` ticks, at most the ring's own length, of these tracks.

        Raises:
            ValueError: the ring is empty.
        """
        if self.last is None:
            raise ValueError("nothing can be read from a ring before the first tick is put into it")
        rows: slice | Ints
        columns = slice(None) if tracks.size == self.since.size and (tracks == self._all).all() else tracks
        if length == self.length:
            rows, top = slice(None), self.last % self.length
        else:
            rows, top = (self.last - np.arange(length)) % self.length, 0
        low, value, high, share, newest = (column[rows][:, columns] for column in self._rows)  # the whole is not copied
        return Stretch(low, value, high, share, newest, top, bool(self._exact[rows].all()))

    def watched(self) -> Ints:
        """Count the ticks for which each track has been watched, the newest included; missed ones count."""
        return np.zeros_like(self.since) if self.last is None else np.maximum(self.last - self.since + 1, 0)

    def skip_to(self, tick: int) -> None:
        """Let ``tick`` be the newest, knowing nothing of the ticks on the way there; never goes back."""
        if self.last is None:
            self.last = tick
        nothing = np.zeros(self.since.size)
        blank = Row(nothing - np.inf, nothing, nothing + np.inf, nothing, nothing, nothing - np.inf)
        for between in range(self.last + 1, tick + 1)[-self.length :]:
            self._write(between, blank)
        self.last = max(self.last, tick)

    def adopt(self, old: Ring, pairs: Sequence[tuple[int, int]], shift: int) -> None:
        """Take over the history of tracks from a ring that is given up.

        Args:
            old: the ring that has it.
            pairs: track there, track here.
            shift: what to add to its tick numbers; none may then be newer than the newest here.

        Raises:
            ValueError: one of its ticks would be newer.
        """
        if old.last is None or not pairs:
            return
        newest = old.last + shift
        if self.last is None or self.last < newest:
            raise ValueError(f"tick {newest} is adopted by a ring that ends at {self.last}; expected skip_to before")
        theirs, ours = (np.array(side, dtype=np.intp) for side in zip(*pairs, strict=True))
        oldest = max(newest - old.length, self.last - self.length) + 1
        for tick in range(oldest, newest + 1):
            for mine, other in zip(self._rows, old._rows, strict=True):
                mine[tick % self.length, ours] = other[(tick - shift) % old.length, theirs]
        self._exact[:] = False  # some columns came from elsewhere
        self.since[ours] = np.maximum(old.since[theirs] + shift, oldest)

    def _write(self, tick: int, row: Row) -> None:
        place, rows = tick % self.length, self._rows
        rows.low[place], rows.value[place], rows.high[place] = row.low, row.value, row.high
        rows.share[place] = row.heard / np.maximum(row.expected, 1.0)
        rows.newest[place] = row.newest
        self._exact[place] = bool(((row.low == row.high) & (row.heard > 0) & (row.heard >= row.expected)).all())


_NEVER = 2**60
"""A tick that no ring gets to, and that can be shifted."""


class Window(NamedTuple):
    """What a window comes to; all arrays are (track,), and mean nothing where ``samples`` is 0."""

    low: Floats
    value: Floats
    high: Floats
    """``low ≤ value ≤ high``"""
    samples: Ints
    """Ticks with at least one answer."""
    coverage: Floats
    """Least share of members heard at any tick."""
    newest: Floats
    """Steady seconds of the newest answer."""


def over(how: Reduction, stretch: Stretch, bounded: Bools) -> Window:
    """Reduce a stretch over time.

    The value is over the ticks at which anybody was heard: their average, least, greatest, sum or newest value.
    ``count`` counts these ticks, whatever they hold; to count heads, count *across* members and then average, take
    the least, or the newest, over time. The bounds are over all ticks, those that nobody answered at their widest;
    a count could have reached every tick. Where the unheard are not ``bounded`` the answer is bounded by nothing as
    soon as one of them could matter: at any tick, or for ``last`` at the newest.

    Args:
        how: the reduction.
        stretch: (tick, track)
        bounded: (track,) whether the unheard have bounds.
    """
    if stretch.exact:
        return _over_exact(how, stretch)
    samples = np.count_nonzero(stretch.heard, axis=0)
    share = stretch.share.min(axis=0)
    if isinstance(how, Reduce):
        low, value, high = _over(how, stretch, samples)
    else:
        low, value, high = spread_over_time(how, stretch, samples)
        samples = np.where(short_of_ticks(how, stretch, samples), 0, samples)
    if how is not Reduce.COUNT:
        loose = ~bounded & ((stretch.share[stretch.top] if how is Reduce.LAST else share) < 1.0)
        low, high = np.where(loose, -np.inf, low), np.where(loose, np.inf, high)
    return Window(
        low=np.minimum(low, value),  # a value outside its declared range was measured all the same
        value=value,
        high=np.maximum(high, value),
        samples=samples,
        coverage=share,
        newest=stretch.newest.max(axis=0),
    )


def _over_exact(how: Reduction, stretch: Stretch) -> Window:
    """Where nothing is missing there is one answer, and a fifth of the work."""
    ticks = len(stretch.value)
    samples = np.full(stretch.value.shape[1], ticks)
    value = _exactly(how, stretch, ticks) if isinstance(how, Reduce) else spread_over_time(how, stretch, samples).value
    return Window(
        low=value,
        value=value,
        high=value,
        samples=samples,
        coverage=np.ones(samples.size),
        newest=stretch.newest[stretch.top],
    )


def _exactly(how: Reduce, stretch: Stretch, ticks: int) -> Floats:
    value: Floats
    match how:
        case Reduce.AVG:
            value = stretch.total(stretch.value) / ticks
        case Reduce.SUM:
            value = stretch.total(stretch.value)
        case Reduce.MIN:
            value = stretch.value.min(axis=0)
        case Reduce.MAX:
            value = stretch.value.max(axis=0)
        case Reduce.LAST:
            value = stretch.value[stretch.top]
        case Reduce.COUNT:
            value = np.full(stretch.value.shape[1], float(ticks))
        case _:
            assert_never(how)
    return value


def _over(how: Reduce, stretch: Stretch, samples: Ints) -> Bounded:
    low, value, high, heard = stretch.low, stretch.value, stretch.high, stretch.heard
    ticks, total = len(heard), stretch.total
    match how:
        case Reduce.AVG:
            return Bounded(total(low) / ticks, total(value) / np.maximum(samples, 1), total(high) / ticks)
        case Reduce.SUM:
            return Bounded(total(low), total(value), total(high))
        case Reduce.MIN:
            return Bounded(low.min(axis=0), np.where(heard, value, np.inf).min(axis=0), high.min(axis=0))
        case Reduce.MAX:
            return Bounded(low.max(axis=0), np.where(heard, value, -np.inf).max(axis=0), high.max(axis=0))
        case Reduce.LAST:
            order = stretch.order
            newest = order[heard[order].argmax(axis=0)]
            value = np.take_along_axis(value, newest[np.newaxis], axis=0)[0]
            return Bounded(low[stretch.top], value, high[stretch.top])
        case Reduce.COUNT:
            return Bounded(samples.astype(np.float64), samples.astype(np.float64), np.full(samples.size, float(ticks)))
        case _:
            assert_never(how)
