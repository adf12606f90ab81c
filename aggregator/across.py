"""Reduce the values of one tick across members: one row of tracks, with bounds for missing answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, assert_never

import numpy as np

from aggregator.ordering import Lists, empty_lists, lists_of
from aggregator.rates import Ints, Measured
from aggregator.spread import BoundedValues, HeardTally, short, spread
from collector.samples import Bools, Floats, Layout
from config.model.counters import Counter
from config.model.reductions import Reduce, Reduction
from config.units import CounterId, GroupId

Run = tuple[GroupId, CounterId]
"""One counter of all members of a group; its values are reduced together."""


class Track(NamedTuple):
    """A run, reduced across its members: one number per tick."""

    group: GroupId
    counter: CounterId
    across: Reduction

    @property
    def run(self) -> Run:
        """The run that is reduced."""
        return self.group, self.counter


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tracks:
    """The tracks of a cohort, column by column; all arrays are (track,)."""

    run: Ints
    """The run of each track."""
    made_by: Mapping[Reduction, Ints]
    """The tracks of each reduction; every track appears once."""
    least: Floats
    """Least value that a missing answer can have; -inf without a declared range."""
    greatest: Floats
    shared: Bools
    """Whether members share the load: half as many members would each show twice the value."""
    in_order: bool
    """Whether any track needs the values in order."""
    bounded: Bools
    """Whether missing answers have bounds: by a declared range, or because members are counted."""


class MemberColumns(NamedTuple):
    """Positions of the counted members of each run in one layout."""

    rows: Ints
    """(counted,) rows of the layout, run by run."""
    starts: Ints
    """(present,) start of each run that has members, in ``rows``."""
    runs: Ints
    """(present,) number of that run."""
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
    """Whether there is a value: a member answered, and enough members for a rank."""
    heard: Floats
    """Members that answered."""
    expected: Floats
    """Members that should have answered."""
    newest: Floats
    """Steady seconds of the newest answer; -inf where no member answered."""

    def pick(self, places: Ints) -> TickRow:
        """Take these tracks, in this order."""
        low, value, high, valid, *counts = self
        bounds = low[..., places], value[..., places], high[..., places]
        return TickRow(*bounds, valid[..., places], *(column[..., places] for column in counts))


def tracks_of(tracks: Sequence[Track], runs: Mapping[Run, int], counters: Mapping[CounterId, Counter]) -> Tracks:
    """Spread the counters' ranges over the tracks.

    Raises:
        ValueError: a track takes the last value across members, which have no order.
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


def member_columns_of(layout: Layout, runs: Ints, count: int) -> MemberColumns:
    """Find the counted members of every run.

    Args:
        layout: in any order; a sorted one is fastest.
        runs: (series,) the run of each series; negative: none.
        count: number of runs.
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


def tick_row(tracks: Tracks, members: MemberColumns, measured: Measured, replied_at: Floats) -> TickRow:
    """Reduce what was measured at one tick, or at many at once if no track needs the values in order.

    Args:
        tracks: of the cohort.
        members: whose answers count.
        measured: every series of the layout.
        replied_at: steady seconds of each series' answer.
    """
    lists = in_order(members, measured) if tracks.in_order else None
    return reduced(tracks, tally(members, measured, replied_at).pick(tracks.run), lists)


def tally(members: MemberColumns, measured: Measured, replied_at: Floats) -> HeardTally:
    """Count and reduce the answers of each run, at one tick or at many. A member that warms up does not count."""
    heard = empty_tally(members.expected, replied_at.shape[:-1])
    if members.rows.size:
        usable, value, at = (column[..., members.rows] for column in (measured.usable, measured.value, replied_at))
        heard.heard[..., members.runs] = np.add.reduceat(usable, members.starts, axis=-1, dtype=np.float64)
        heard.total[..., members.runs] = np.add.reduceat(np.where(usable, value, 0.0), members.starts, axis=-1)
        heard.least[..., members.runs] = np.minimum.reduceat(np.where(usable, value, np.inf), members.starts, axis=-1)
        heard.greatest[..., members.runs] = np.maximum.reduceat(
            np.where(usable, value, -np.inf), members.starts, axis=-1
        )
        heard.newest[..., members.runs] = np.maximum.reduceat(np.where(usable, at, -np.inf), members.starts, axis=-1)
    return heard


def in_order(members: MemberColumns, measured: Measured) -> Lists:
    """Sort the values of each run."""
    heard = members.rows[measured.usable[members.rows]]
    owner = np.repeat(members.runs, np.diff(np.append(members.starts, members.rows.size)))[
        measured.usable[members.rows]
    ]
    return lists_of(measured.value[heard], owner, members.expected.size)


def empty_tally(expected: Floats, ticks: tuple[int, ...] = ()) -> HeardTally:
    """Tally a tick, or many at once, without any answer."""
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
    """Reduce one tick to a row: the value over the members that answered, the bounds over all members.

    For the bounds, each missing answer takes both ends of its counter's range. A run without members has the bounds of
    one missing answer, but no window reads them: its measured time ends there.

    Args:
        tracks: of the cohort.
        seen: (track,) the tally of each track's run.
        lists: the sorted values of each run; ``None``: no values.
    """
    low, value, high, valid = *(np.empty(seen.heard.shape) for _ in range(3)), seen.heard > 0
    for how, places in tracks.made_by.items():
        part, ends = seen.pick(places), (tracks.least[places], tracks.greatest[places])
        if isinstance(how, Reduce):
            low[..., places], value[..., places], high[..., places] = _reduced(how, part, *ends)
            continue
        mine = empty_lists(part.heard.size) if lists is None else lists.pick(tracks.run[places])
        low[places], value[places], high[places] = spread(how, mine, part, *ends)
        valid[places[short(how, part)]] = False
    value[~valid] = 0.0
    return TickRow(low, value, high, valid, seen.heard, seen.expected, seen.newest)


def borne(tracks: Tracks, row: TickRow, times: Floats) -> TickRow:
    """Multiply the values of shared counters by a factor; a value stays within its declared range.

    Sums and counts are of all members together, and stay as they are.

    Args:
        tracks: of the cohort.
        row: one tick.
        times: (track,) the factor, above 0.
    """
    other = tracks.shared & (times != 1.0)

    def scaled(column: Floats) -> Floats:
        return np.where(other, np.clip(column * times, tracks.least, tracks.greatest), column)

    return row._replace(low=scaled(row.low), value=scaled(row.value), high=scaled(row.high))


def missed_row(tracks: Tracks, before: Floats, after: Floats) -> TickRow:
    """Make the row of a missed tick from the number of members ``before`` and ``after`` it (both (track,)).

    No member answered; the number of members is one of the two.
    """
    one, other = (reduced(tracks, empty_tally(expected)) for expected in (before, after))
    return one._replace(low=np.minimum(one.low, other.low), high=np.maximum(one.high, other.high))


def _reduced(how: Reduce, seen: HeardTally, least: Floats, greatest: Floats) -> BoundedValues:
    asked = np.maximum(seen.expected, 1.0)
    missing = asked - seen.heard
    silent = missing > 0
    match how:
        case Reduce.SUM | Reduce.AVG:
            # 0 × inf is NaN: without missing answers the bounds add 0 instead of 0 × the end of a range.
            low = seen.total + missing * np.where(silent, least, 0.0)
            high = seen.total + missing * np.where(silent, greatest, 0.0)
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
            raise ValueError("across: last has no meaning, since members have no order")
        case _:
            assert_never(how)


def _ints(numbers: Iterable[int]) -> Ints:
    return np.fromiter(numbers, dtype=np.intp)
