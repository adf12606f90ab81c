"""Keep the newest ticks of tracks in a ring of rows, one ring per length of window."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from aggregator.across import TickRow
from aggregator.block_folds import BlockFolds
from aggregator.rates import Ints
from aggregator.stretches import (
    OF_EVERY_WINDOW,
    Fold,
    Places,
    SavedRows,
    Slack,
    Stretch,
    TickRows,
    added,
    slack_of,
)
from collector.samples import Floats
from config.model.reductions import Reduction


class LooseCells(NamedTuple):
    """The tracks of one row whose bounds are not their value, and their slack."""

    tracks: Ints
    slack: Slack


class Ring:
    """The last ``length`` ticks of some tracks, a row per tick, addressed by the tick's number.

    A row that was never written has no value and infinite bounds, so that a window never takes it for a measurement.
    Every window is reduced anew from its rows, or from folded blocks of them: a spike leaves no rounding error.

    Args:
        length: ticks.
        tracks: number of tracks.
        hows: the reductions of its windows, for which blocks are folded.
    """

    __slots__ = (
        "_every",
        "_folds",
        "_loose",
        "_read",
        "_rows",
        "_slack",
        "last",
        "length",
        "since",
    )

    def __init__(self, length: int, tracks: int, hows: Collection[Reduction] = ()) -> None:
        self.length = length
        self.last: int | None = None
        """Number of the newest tick; ``None``: none yet."""
        self.since: Ints = np.full(tracks, _NEVER)
        """(track,) the tick since which the track has had members."""
        self._every = np.arange(tracks)
        self._rows = _never_written(length, tracks)
        self._folds = BlockFolds(self._rows, hows)
        self._loose: list[LooseCells | None] = [None] * length
        """Of each row; ``None``: many of its tracks, so the row itself is read."""
        self._read: dict[int, Stretch] = {}
        """Stretches of all tracks that were read since the last tick, by length."""
        self._slack: dict[int, Slack] = {}
        """Likewise the slack of all tracks."""

    @property
    def bytes(self) -> int:
        """Memory of the ring; it does not depend on the number of rows written."""
        return sum(array.nbytes for array in self._rows) + self._folds.bytes

    def put(self, tick: int, row: TickRow, missed: TickRow) -> None:
        """Write one tick; a second row for the newest tick replaces the first.

        A tick at which a track has no members ends its measured time: there was no member to measure.

        Args:
            tick: number of the tick; not before the newest.
            row: (track,) the row of this tick.
            missed: (track,) the row for each tick between the newest and this one.
        """
        first = tick if self.last is None else self.last + 1
        for between in range(max(first, tick - self.length + 1), tick):
            self._write(between, missed)
        self._write(tick, row)
        self.last = tick
        self.since = np.where(row.expected > 0, np.minimum(self.since, tick), _NEVER)

    def newest(self, ticks: int, tracks: Ints) -> Stretch:
        """Read the newest ticks, at most the ring's own length, of these tracks.

        Raises:
            ValueError: the ring is empty.
        """
        if self.last is None:
            raise ValueError("cannot read from an empty ring; put the first tick into it before")
        if not np.array_equal(tracks, self._every):
            return self._stretch(self.last, ticks, tracks)
        if ticks not in self._read:
            self._read[ticks] = self._stretch(self.last, ticks, slice(None))
        return self._read[ticks]

    def sweep(self, rows: TickRow) -> TickSweep:
        """Write ticks that follow on the newest, and read the windows as of each of them. Raises as `look`."""
        swept = self.look(rows)
        self.extend(rows)
        return swept

    def look(self, rows: TickRow) -> TickSweep:
        """Read the windows as of each of some ticks that would follow on the newest; nothing is written.

        Args:
            rows: (tick, track) at least one; ``expected`` is (track,).

        Raises:
            ValueError: the ring is empty, so the tick numbers are unknown.
        """
        if self.last is None:
            raise ValueError("cannot sweep an empty ring; put the first tick into it before")
        first = self.last + 1
        history = [tick % self.length for tick in range(first - self.length + 1, first)]
        new = _rows_of(rows)
        seen = TickRows(*(np.concatenate([old[history], fresh]) for old, fresh in zip(self._rows, new, strict=True)))
        return TickSweep(seen, self._since(rows, first), range(first, first + len(rows.value)))

    def extend(self, rows: TickRow) -> None:
        """Write ticks that follow on the newest; the arguments of `look`."""
        first = 0 if self.last is None else self.last + 1
        self.last = first + len(rows.value) - 1
        kept = range(max(first, self.last - self.length + 1), self.last + 1)
        for column, fresh in zip(self._rows, _rows_of(rows), strict=True):
            column[[tick % self.length for tick in kept]] = fresh[-len(kept) :]
        self._changed(kept)
        self._folds.renew(kept.start, self.last)
        self.since = self._since(rows, first)

    def _since(self, rows: TickRow, first: int) -> Ints:
        """Return (track,) since when each track has had members, after ticks that begin with ``first``."""
        return np.where(rows.expected > 0, np.minimum(self.since, first), _NEVER)

    def watched(self) -> Ints:
        """Count the ticks for which each track has been measured, including the newest tick and missed ticks."""
        return np.zeros_like(self.since) if self.last is None else np.maximum(self.last - self.since + 1, 0)

    def skip_to(self, tick: int) -> None:
        """Make ``tick`` the newest, with empty rows for the ticks before it; never goes back."""
        if self.last is None:
            self.last = tick
        nothing = np.zeros(self.since.size)
        blank = TickRow(nothing - np.inf, nothing, nothing + np.inf, nothing > 0, nothing, nothing, nothing - np.inf)
        for between in range(self.last + 1, tick + 1)[-self.length :]:
            self._write(between, blank)
        self.last = max(self.last, tick)

    def adopt(self, old: Ring, pairs: Sequence[tuple[int, int]], shift: int) -> None:
        """Copy the history of tracks from a ring that a reload replaces.

        Args:
            old: the replaced ring.
            pairs: column of the track there, column here.
            shift: added to the tick numbers of ``old``; none may then be newer than the newest tick here.

        Raises:
            ValueError: a tick of ``old`` would be newer.
        """
        if old.last is None or not pairs:
            return
        newest = old.last + shift
        if self.last is None or self.last < newest:
            raise ValueError(f"cannot adopt tick {newest} into a ring that ends at {self.last}; call skip_to before")
        theirs, ours = (np.array(side, dtype=np.intp) for side in zip(*pairs, strict=True))
        oldest = max(newest - old.length, self.last - self.length) + 1
        for tick in range(oldest, newest + 1):
            for mine, other in zip(self._rows, old._rows, strict=True):
                mine[tick % self.length, ours] = other[(tick - shift) % old.length, theirs]
        self._changed(range(oldest, newest + 1))
        self.since[ours] = np.maximum(old.since[theirs] + shift, oldest)
        self._folds.renew(self.last - self.length + 1, self.last)

    def saved(self, tick: int) -> TickRows:
        """Return the row of one of the newest ticks; each array is (track,).

        Raises:
            ValueError: the ring does not have that tick.
        """
        if self.last is None or not self.last - self.length < tick <= self.last:
            raise ValueError(f"tick {tick} is not among the newest {self.length} of a ring that ends at {self.last}")
        return self._rows.tick(tick % self.length, slice(None))

    def restore(self, last: int, since: Ints, rows: SavedRows, columns: Ints) -> None:
        """Go on where another ring was, before the first tick of this one.

        Args:
            last: number of the newest tick.
            since: (saved track,) as `since`.
            rows: saved rows by tick; a tick that is missing has a row without a value.
            columns: (track,) the saved track of each track; -1: none, the track begins anew.
        """
        known, oldest = columns >= 0, min(rows, default=last + 1)
        self.last = last
        self.since[known] = np.maximum(since[columns[known]], oldest)
        for tick in range(last - self.length + 1, last + 1):
            if tick in rows:
                for mine, theirs in zip(self._rows, rows[tick], strict=True):
                    mine[tick % self.length, known] = theirs[columns[known]]
        self._changed(range(last - self.length + 1, last + 1))
        self._folds.renew(last - self.length + 1, last)

    def _write(self, tick: int, row: TickRow) -> None:
        place, rows = tick % self.length, self._rows
        for column, fresh in zip(rows, _rows_of(row), strict=True):
            column[place] = fresh
        self._changed((tick,))
        if tick == self.last:
            self._folds.renew(tick - self.length + 1, tick)
        else:
            self._folds.add(tick)

    def _changed(self, ticks: Iterable[int]) -> None:
        """Note that the rows of these ticks were written."""
        for place in (tick % self.length for tick in ticks):
            self._loose[place] = _loose_cells(self._rows, place)
        self._read, self._slack = {}, {}

    def _stretch(self, last: int, ticks: int, tracks: Places) -> Stretch:
        fold = partial(self._folds.newest, last=last, ticks=ticks, tracks=tracks)
        samples, coverage, newest = map(fold, OF_EVERY_WINDOW)
        order = [tick % self.length for tick in range(last, last - ticks, -1)]
        slack = partial(self._slack_of, order, tracks)
        return Stretch(self._rows, order, tracks, fold, slack, samples.astype(np.intp), coverage, newest)

    def _slack_of(self, order: Sequence[int], tracks: Places) -> Slack:
        """Add up the slack of rows: of those with few loose cells, only these."""
        if len(order) not in self._slack:
            total = Slack(np.zeros(self._every.size), np.zeros(self._every.size))
            for place in order:
                loose = self._loose[place]
                cells = LooseCells(self._every, slack_of(self._rows, place)) if loose is None else loose
                if cells.tracks.size:  # mostly none: all members answered
                    total.low[cells.tracks] += cells.slack.low
                    total.high[cells.tracks] += cells.slack.high
            self._slack[len(order)] = total
        return self._slack[len(order)].of(tracks)


class TickSweep:
    """Consecutive ticks, read all at once: windows as of each tick; arrays are (tick, track).

    It returns bit for bit what the ring would have returned at each of these ticks.

    Args:
        rows: the rows of the ring before these ticks, then the rows of these ticks.
        since: (track,) the tick since which the track has had members; the same for all ticks.
        numbers: of the ticks.
    """

    __slots__ = ("_numbers", "_rows", "_since")

    def __init__(self, rows: TickRows, since: Ints, numbers: range) -> None:
        self._rows = rows
        self._since = since
        self._numbers = numbers

    def newest(self, ticks: int, tracks: Ints) -> Stretch:
        """Read the newest ticks, at most the ring's length, as of every tick."""
        fold = partial(self._fold, ticks=ticks, tracks=tracks)
        samples, coverage, newest = map(fold, OF_EVERY_WINDOW)
        end, count = len(self._rows.value), len(self._numbers)
        order = [slice(end - count - back, end - back) for back in range(ticks)]
        slack = partial(self._slack_of, order, tracks)
        return Stretch(self._rows, order, tracks, fold, slack, samples.astype(np.intp), coverage, newest)

    def _slack_of(self, order: Sequence[slice], tracks: Places) -> Slack:
        rows = slack_of(self._rows, slice(order[-1].start, order[0].stop), tracks)
        if not rows.low.any() and not rows.high.any():
            return Slack(np.zeros(()), np.zeros(()))
        oldest = order[-1].start
        places = [slice(place.start - oldest, place.stop - oldest) for place in order]
        return Slack(*(added(column[place] for place in places) for column in rows))

    def watched(self) -> Ints:
        """Count the ticks for which each track has been measured, as of every tick."""
        return np.maximum(np.array(self._numbers)[:, np.newaxis] - self._since + 1, 0)

    def _fold(self, fold: Fold, *, ticks: int, tracks: Places) -> Floats:
        """Fold every window from pieces of 1, 2, 4… ticks, each made of two of the size before."""
        count = len(self._numbers)
        oldest = len(self._rows.value) - count - ticks + 1
        pieces = fold.entries(self._rows, slice(oldest, None), tracks).astype(np.float64)
        parts, size, begin = [], 1, 0
        while True:
            if ticks & size:
                parts.append(pieces[begin : begin + count])
                begin += size
            if begin == ticks:
                return fold.joined(parts)
            pieces = fold.by(pieces[:-size], pieces[size:])
            size *= 2


_NEVER = 2**60
"""A tick that no ring reaches, and that can be shifted."""


_FEW = 0.25
"""The share of a row's tracks up to which loose cells are listed: beyond, reading the row is faster."""


def _loose_cells(rows: TickRows, place: int) -> LooseCells | None:
    low, value, high = rows.low[place], rows.value[place], rows.high[place]
    tracks = np.flatnonzero((low != value) | (high != value))
    if tracks.size > _FEW * value.size:
        return None
    return LooseCells(tracks, slack_of(rows, place, tracks))


def _rows_of(row: TickRow) -> TickRows:
    share = row.heard / np.maximum(row.expected, 1.0)
    return TickRows(low=row.low, value=row.value, high=row.high, valid=row.valid, share=share, newest=row.newest)


def _never_written(length: int, tracks: int) -> TickRows:
    shape = (length, tracks)
    return TickRows(
        low=np.full(shape, -np.inf),
        value=np.zeros(shape),
        high=np.full(shape, np.inf),
        valid=np.zeros(shape, dtype=np.bool_),
        share=np.zeros(shape),
        newest=np.full(shape, -np.inf),
    )
