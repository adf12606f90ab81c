"""Across members: the values of one tick become one row of tracks, each with bounds for the unheard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, assert_never

import numpy as np

from aggregator.ordering import Lists, lists_of, silent_lists
from aggregator.rates import Ints, Measured
from aggregator.spread import BoundedValues, HeardTally, short, spread
from collector.samples import Bools, Floats, Layout
from config.model.counters import Counter
from config.model.reductions import Reduce, Reduction
from config.units import CounterId, GroupId

Run = tuple[GroupId, CounterId]
"""One counter of all members of a group: what is reduced together."""


class Track(NamedTuple):
    """One line through time: a run, reduced across its members."""

    group: GroupId
    counter: CounterId
    across: Reduction

    @property
    def run(self) -> Run:
        """What is reduced."""
        return self.group, self.counter


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tracks:
    """The tracks of a cohort, column by column; all arrays are (track,)."""

    run: Ints
    """Which run is reduced."""
    made_by: Mapping[Reduction, Ints]
    """Which tracks each reduction makes; together every track, once."""
    least: Floats
    """Least value that an unheard member can have; -inf without a declared range."""
    greatest: Floats
    shared: Bools
    """Whether half as many members would each show twice as much."""
    in_order: bool
    """Whether any of them needs the values in order."""
    bounded: Bools
    """Whether the unheard leave an answer within bounds at all: by a declared range, or because heads are counted."""


class MemberColumns(NamedTuple):
    """Where the counted members of each run sit in one layout."""

    rows: Ints
    """(counted,) rows of the layout, run by run."""
    starts: Ints
    """(present,) where each run that has members begins in ``rows``."""
    runs: Ints
    """(present,) which run that is."""
    expected: Floats
    """(run,) counted members."""
    left_out: Floats
    """(run,) members that do not count yet."""


class TickRow(NamedTuple):
    """One tick of every track; all arrays are (track,), or (tick, track) for many at once: ``expected`` is (track,)."""

    low: Floats
    value: Floats
    """0.0 and meaningless unless ``valid``."""
    high: Floats
    valid: Bools
    """Whether there is a value: somebody was heard, and enough for a rank."""
    heard: Floats
    """Members that answered."""
    expected: Floats
    """Members that ought to have."""
    newest: Floats
    """Steady seconds of the newest answer; -inf where no member was heard."""

    def pick(self, places: Ints) -> TickRow:
        """Take these tracks, in this order."""
        low, value, high, valid, *heads = self
        bounds = low[..., places], value[..., places], high[..., places]
        return TickRow(*bounds, valid[..., places], *(column[..., places] for column in heads))


def tracks_of(tracks: Sequence[Track], runs: Mapping[Run, int], counters: Mapping[CounterId, Counter]) -> Tracks:
    """Spread the counters' ranges over the tracks.

    Raises:
        ValueError: a track takes the last across members, who have no order.
    """
    if any(track.across is Reduce.LAST for track in tracks):
        raise ValueError(
            "across: last has no meaning, since members have no order; expected avg, min, max, sum or count"
        )
    ranges = [counters[track.counter].range for track in tracks]
    across = [track.across for track in tracks]
    return Tracks(
        run=_ints(runs[track.run] for track in tracks),
        made_by={how: _ints(i for i, each in enumerate(across) if each == how) for how in dict.fromkeys(across)},
        shared=np.array(
            [counters[track.counter].shared and track.across not in {Reduce.SUM, Reduce.COUNT} for track in tracks],
            dtype=np.bool_,
        ),
        in_order=any(not isinstance(how, Reduce) for how in across),
        least=np.array([-np.inf if span is None else span[0] for span in ranges]),
        greatest=np.array([np.inf if span is None else span[1] for span in ranges]),
        bounded=np.array(
            [span is not None or how is Reduce.COUNT for span, how in zip(ranges, across, strict=True)], dtype=np.bool_
        ),
    )


def seats_of(layout: Layout, runs: Ints, count: int) -> MemberColumns:
    """Find the counted members of every run.

    Args:
        layout: in any order, though one that is sorted is read fastest.
        runs: (series,) which run each series belongs to; negative: to none.
        count: how many runs there are.
    """
    counted = np.flatnonzero(layout.counted & (runs >= 0))
    rows = counted[np.argsort(runs[counted], kind="stable")]
    expected = np.bincount(runs[rows], minlength=count)
    present = np.flatnonzero(expected)
    return MemberColumns(
        rows=rows,
        starts=np.cumsum(expected[present]) - expected[present],
        runs=present,
        expected=expected.astype(np.float64),
        left_out=np.bincount(runs[~layout.counted & (runs >= 0)], minlength=count).astype(np.float64),
    )


def tally(seats: MemberColumns, measured: Measured, replied_at: Floats) -> HeardTally:
    """Count and reduce what was heard of each run, at one tick or at many. A member that is warming up has no seat."""
    heard = silent_tally(seats.expected, replied_at.shape[:-1])
    if seats.rows.size:
        usable, value, at = (column[..., seats.rows] for column in (measured.usable, measured.value, replied_at))
        heard.heard[..., seats.runs] = np.add.reduceat(usable, seats.starts, axis=-1, dtype=np.float64)
        heard.total[..., seats.runs] = np.add.reduceat(np.where(usable, value, 0.0), seats.starts, axis=-1)
        heard.least[..., seats.runs] = np.minimum.reduceat(np.where(usable, value, np.inf), seats.starts, axis=-1)
        heard.greatest[..., seats.runs] = np.maximum.reduceat(np.where(usable, value, -np.inf), seats.starts, axis=-1)
        heard.newest[..., seats.runs] = np.maximum.reduceat(np.where(usable, at, -np.inf), seats.starts, axis=-1)
    return heard


def in_order(seats: MemberColumns, measured: Measured) -> Lists:
    """What was heard of each run, in order."""
    heard = seats.rows[measured.usable[seats.rows]]
    owner = np.repeat(seats.runs, np.diff(np.append(seats.starts, seats.rows.size)))[measured.usable[seats.rows]]
    return lists_of(measured.value[heard], owner, seats.expected.size)


def silent_tally(expected: Floats, ticks: tuple[int, ...] = ()) -> HeardTally:
    """Tally a tick, or so many at once, at which nobody answered."""
    shape = (*ticks, expected.size)
    return HeardTally(
        expected=expected,
        heard=np.zeros(shape),
        total=np.zeros(shape),
        least=np.full(shape, np.inf),
        greatest=np.full(shape, -np.inf),
        newest=np.full(shape, -np.inf),
    )


def reduced(tracks: Tracks, seen: HeardTally, lists: Lists | None = None) -> TickRow:
    """Reduce one tick to a row: over those who were heard, and bounded as if the others had answered.

    Each unheard member is given both ends of its counter's range. A run without members is bounded as if it had one
    that is unheard, though a window never gets to see it: its watch ends there.

    Args:
        tracks: of the cohort.
        seen: (track,) the tally of each track's run.
        lists: what was heard of each run, in order; ``None``: nothing of any.
    """
    low, value, high, valid = *(np.empty(seen.heard.shape) for _ in range(3)), seen.heard > 0
    for how, places in tracks.made_by.items():
        part, ends = seen.pick(places), (tracks.least[places], tracks.greatest[places])
        if isinstance(how, Reduce):
            low[..., places], value[..., places], high[..., places] = _reduced(how, part, *ends)
            continue
        mine = silent_lists(part.heard.size) if lists is None else lists.pick(tracks.run[places])
        low[places], value[places], high[places] = spread(how, mine, part, *ends)
        valid[places[short(how, part)]] = False
    value[~valid] = 0.0
    return TickRow(low, value, high, valid, seen.heard, seen.expected, seen.newest)


def borne(tracks: Tracks, row: TickRow, times: Floats) -> TickRow:
    """Let members bear so many times what they share; a value stays within its declared range all the same.

    Sums and heads are of all members together, and stay as they are.

    Args:
        tracks: of the cohort.
        row: one tick.
        times: (track,) above 0; 1: as it is.
    """
    other = tracks.shared & (times != 1.0)

    def scaled(column: Floats) -> Floats:
        return np.where(other, np.clip(column * times, tracks.least, tracks.greatest), column)

    return row._replace(low=scaled(row.low), value=scaled(row.value), high=scaled(row.high))


def silence(tracks: Tracks, before: Floats, after: Floats) -> TickRow:
    """Bound a tick that was missed altogether, from the members ``before`` and ``after`` it (both (track,)).

    Those who were there did not answer; how many they were is only known to be one of the two.
    """
    one, other = (reduced(tracks, silent_tally(expected)) for expected in (before, after))
    return one._replace(low=np.minimum(one.low, other.low), high=np.maximum(one.high, other.high))


def _reduced(how: Reduce, seen: HeardTally, least: Floats, greatest: Floats) -> BoundedValues:
    asked = np.maximum(seen.expected, 1.0)
    unheard = asked - seen.heard
    silent = unheard > 0
    match how:
        case Reduce.SUM | Reduce.AVG:
            # 0 × inf is no number: whoever is not missing adds nothing, rather than nought times a bound.
            low = seen.total + unheard * np.where(silent, least, 0.0)
            high = seen.total + unheard * np.where(silent, greatest, 0.0)
            if how is Reduce.SUM:
                return BoundedValues(low, seen.total, high)
            return BoundedValues(low / asked, seen.total / np.maximum(seen.heard, 1.0), high / asked)
        case Reduce.MIN:
            low, high = np.where(silent, least, np.inf), np.where(silent, greatest, np.inf)
            return BoundedValues(np.minimum(seen.least, low), seen.least, np.minimum(seen.least, high))
        case Reduce.MAX:
            low, high = np.where(silent, least, -np.inf), np.where(silent, greatest, -np.inf)
            return BoundedValues(np.maximum(seen.greatest, low), seen.greatest, np.maximum(seen.greatest, high))
        case Reduce.COUNT:
            return BoundedValues(seen.heard, seen.heard, asked)
        case Reduce.LAST:
            raise ValueError("members have no order, so there is no last of them")
        case _:
            assert_never(how)


def _ints(numbers: Iterable[int]) -> Ints:
    return np.fromiter(numbers, dtype=np.intp)
