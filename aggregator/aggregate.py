"""Turn the scrapes of one cohort into one frame per group."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from aggregator.across import (
    MemberColumns,
    Run,
    TickRow,
    borne,
    member_columns_of,
    missed_row,
    tick_row,
)
from aggregator.batch_frames import Reel, TickFrames
from aggregator.cells import Answers, answers
from aggregator.checkpoint import CohortCheckpoint, CohortKeys, RingCheckpoint, columns_in
from aggregator.cohorts import WindowQuery, cohort_of
from aggregator.frames import WindowKey
from aggregator.rates import NO_BASELINE, Columns, Measured, columns_of, measure, measure_all, readings_of
from aggregator.rings import Ring
from aggregator.stretches import SavedRows
from collector.samples import Floats, Layout, Scrape, Series
from config.model.catalogue import Catalogue
from config.units import CounterId, GroupId, MemberName, Moment


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredTicks:
    """Consecutive polls of one layout, measured and reduced across members, and in no window yet."""

    at: Sequence[Moment]
    row: TickRow
    """(tick, track)"""
    left_out: Floats
    """(track,) members that do not count yet."""

    def __len__(self) -> int:
        return len(self.at)

    def part(self, first: int, last: int) -> MeasuredTicks:
        """Return the ticks from ``first`` until just before ``last``."""
        row = self.row
        part = row._replace(
            low=row.low[first:last],
            value=row.value[first:last],
            high=row.high[first:last],
            valid=row.valid[first:last],
            heard=row.heard[first:last],
            newest=row.newest[first:last],
        )
        return replace(self, at=self.at[first:last], row=part)


class Aggregator:
    """Turns the scrapes of one cohort (groups of one interval that are polled together) into frames.

    Ticks are numbered by steady time from the cohort's first scrape. So a missed tick leaves a row without a value
    instead of a shorter window, and jitter of less than half an interval does no harm.

    Raises:
        ValueError: the groups do not share one interval, or a condition takes the last value across members.
    """

    __slots__ = ("_baseline", "_cohort", "_expected", "_keys", "_layout", "_measured", "_origin", "_rings", "_tick")

    def __init__(self, catalogue: Catalogue, groups: Sequence[GroupId]) -> None:
        self._cohort = cohort_of(catalogue, groups)
        self._rings = tuple(
            Ring(part.length, part.tracks.size, [query.how for query in part.queries]) for part in self._cohort.parts
        )
        self._keys: CohortKeys | None = None
        """``None``: no checkpoint was made or read so far."""
        self._expected: Floats = np.zeros(len(self._cohort.places))
        """(track,) members at the newest tick."""
        self._baseline = NO_BASELINE
        self._measured: Measured | None = None
        """By the last `take`."""
        self._layout: _LayoutColumns | None = None
        self._origin: float | None = None
        """Steady time of tick 0; ``None``: no tick yet."""
        self._tick = 0
        """Number of the newest tick."""

    @property
    def bytes(self) -> int:
        """Memory of the windows; it depends on the queries, and does not grow with time."""
        return sum(ring.bytes for ring in self._rings)

    def outside(self) -> Mapping[int, float]:
        """Return the values of the last `take` that do not count, since they are outside their counter's range.

        By row of the scrape's layout, in the counter's unit; for a rising counter, the rate.
        """
        if self._measured is None:
            return {}
        rows = np.flatnonzero(self._measured.outside)
        return dict(zip(rows.tolist(), self._measured.value[rows].tolist(), strict=True))

    def member_values(self, group: GroupId, most: int) -> Mapping[tuple[CounterId, MemberName], float]:
        """Return what each member showed at the last `take`, in the counter's unit; of a rising counter, the rate.

        Of each counter the first ``most`` members by name that have a value; an answer outside the range is none.
        Counters of the group as a whole are left out.
        """
        if self._measured is None or self._layout is None:
            return {}
        series, found = self._layout.layout.series, dict[tuple[CounterId, MemberName], float]()
        members = set[MemberName]()
        for row in range(bisect_left(series, group, key=_group_of), bisect_right(series, group, key=_group_of)):
            _, counter, member = series[row]
            if member is None or not self._measured.usable[row]:
                continue
            if member in members or len(members) < most:
                members.add(member)
                found[counter, member] = float(self._measured.value[row])
        return found

    def take(self, scrape: Scrape, times: Mapping[GroupId, float] | None = None) -> TickFrames:
        """Add one poll to the windows, and return the frames of all groups in the cohort.

        A second scrape within one tick replaces the first. Series that no policy needs are ignored.

        Args:
            scrape: the poll.
            times: factor for the load of each member, by group, for a simulated fleet of another size than the polled
                one; applies to shared counters. Missing: 1.

        Returns:
            A frame for every group, with the scrape's ``at``. Every window has a cell, also where a group has no
            members.

        Raises:
            ValueError: the scrape belongs to a tick before the newest one.
        """
        return TickFrames(scrape.at, self._cohort.cells, self._queries, self._taken(scrape, times))

    def window(self, group: GroupId, key: WindowKey) -> int:
        """Return where in `TickFrames.columns` the answer to a window of a group is."""
        query, place = self._cohort.cells[group][key]
        return sum(each.columns.size for each in self._queries[:query]) + place

    def take_all(self, scrapes: Iterable[Scrape]) -> Iterator[Reel]:
        """Add polls in order: return bit for bit what `take` returns for each, in far less time per poll.

        Consecutive polls with one layout are computed together, so memory grows with their number. The aggregator is
        ahead of the reels that have been read.

        Raises:
            ValueError: as `take`.
        """
        for run in self.runs(scrapes):
            yield self.take_alone(run[0])
            if len(run) > 1:
                ticks = self.measured(run[1:])
                yield self.look(ticks)
                self.keep(ticks)

    def take_alone(self, scrape: Scrape, times: Mapping[GroupId, float] | None = None) -> Reel:
        """Do the same as `take`, and return the tick as a reel of one."""
        return self._reel([scrape.at], [each.alone() for each in self._taken(scrape, times)])

    def measured(self, scrapes: Sequence[Scrape]) -> MeasuredTicks:
        """Measure polls of a run but its first, which was taken; `keep` all of them before another poll is taken."""
        current, tracks = self._columns_for(scrapes[0].layout), self._cohort.tracks
        readings = readings_of(scrapes)
        measured, self._baseline = measure_all(current.columns, self._baseline, readings)
        return MeasuredTicks(
            at=[scrape.at for scrape in scrapes],
            row=tick_row(tracks, current.members, measured, readings.replied_at),
            left_out=current.members.left_out[tracks.run],
        )

    def borne(self, ticks: MeasuredTicks, times: Mapping[GroupId, Floats]) -> MeasuredTicks:
        """Return ticks at which each member bears its load so many times: (tick,) by group, as `take` has it."""
        factors = np.stack([times[track.group] for track in self._cohort.places], axis=-1)
        return replace(ticks, row=borne(self._cohort.tracks, ticks.row, factors))

    def look(self, ticks: MeasuredTicks) -> Reel:
        """Return the frames of ticks that follow on the newest; the windows stay as they are."""
        steady = np.array([[at.steady] for at in ticks.at])
        found: list[Answers] = []
        for part, ring in zip(self._cohort.parts, self._rings, strict=True):
            swept = ring.look(ticks.row.pick(part.tracks))
            found += (answers(query, swept, ticks.row, ticks.left_out, steady) for query in part.queries)
        return self._reel(ticks.at, found)

    def keep(self, ticks: MeasuredTicks) -> None:
        """Add ticks that follow on the newest to the windows."""
        self._tick += len(ticks)
        for part, ring in zip(self._cohort.parts, self._rings, strict=True):
            ring.extend(ticks.row.pick(part.tracks))

    def succeed(self, old: Aggregator, only: Set[GroupId] | None = None) -> None:
        """Copy the history of the aggregator that a reload replaces; call it before the first `take`.

        Tracks of the same group keep their history and their counters' last readings if the interval and the
        counter's declaration are unchanged; all others begin anew. If the reload divides cohorts differently, call
        this once for each old aggregator that has some of these groups. The old aggregator does not change.

        Args:
            old: the replaced aggregator.
            only: groups whose history is copied; ``None``: all of them.

        Raises:
            ValueError: this aggregator has taken a scrape already.
        """
        if self._layout is not None:
            raise ValueError("this aggregator has taken a scrape already; call succeed before the first take")
        if old._origin is None or old._cohort.interval != self._cohort.interval:
            return
        if self._origin is None:
            self._origin, self._tick = old._origin, old._tick
        shift = round((old._origin - self._origin) / self._cohort.interval)
        self._tick = max(self._tick, old._tick + shift)
        groups = self._cohort.cells.keys() if only is None else only
        runs = {run for run in self._cohort.runs if run[0] in groups and self._keeps(old, run)}
        kept = {track for track in self._cohort.places if track in old._cohort.places and track.run in runs}
        for track in kept:
            self._expected[self._cohort.places[track]] = old._expected[old._cohort.places[track]]
        for part, ring in zip(self._cohort.parts, self._rings, strict=True):
            ring.skip_to(self._tick)
            for before, there in zip(old._cohort.parts, old._rings, strict=True):
                both = kept & part.columns.keys() & before.columns.keys()
                ring.adopt(there, [(before.columns[track], part.columns[track]) for track in both], shift)
        known = old._baseline.only(lambda series: (series.group, series.counter) in runs)
        self._baseline = self._baseline.joined(known)

    def checkpoint(self) -> CohortCheckpoint | None:
        """Return what outlives this process but for the rows of the rings; ``None``: no tick yet."""
        cohort, keys = self._cohort, self._names()
        if self._origin is None:
            return None
        return CohortCheckpoint(
            interval=cohort.interval,
            groups=cohort.groups,
            origin=self._origin,
            tick=self._tick,
            rings=tuple(
                RingCheckpoint(
                    length=part.length,
                    tracks=tracks,
                    since=ring.since,
                    expected=self._expected[part.tracks],
                )
                for part, ring, tracks in zip(cohort.parts, self._rings, keys.tracks, strict=True)
            ),
            baseline=self._baseline,
            declared=keys.declared(self._baseline),
        )

    def rows(self, since: int) -> Sequence[SavedRows]:
        """Return the rows of the ticks after ``since`` that the rings still have, ring by ring."""
        ticks = [range(max(since, self._tick - ring.length) + 1, self._tick + 1) for ring in self._rings]
        return [{tick: ring.saved(tick) for tick in inside} for ring, inside in zip(self._rings, ticks, strict=True)]

    def resume(self, saved: CohortCheckpoint, rows: Sequence[SavedRows]) -> None:
        """Go on where a checkpoint ends; call it before the first `take`. See Note [Checkpoints of windows].

        Args:
            saved: by an aggregator of the same interval; tracks that it lacks begin anew.
            rows: of its rings, in its order.

        Raises:
            ValueError: this aggregator has taken a scrape, or the interval is another one.
        """
        if self._origin is not None or saved.interval != self._cohort.interval:
            raise ValueError("only a new aggregator of the same interval can go on where a checkpoint ends")
        self._origin, self._tick = saved.origin, saved.tick
        for part, ring, tracks in zip(self._cohort.parts, self._rings, self._names().tracks, strict=True):
            ring.skip_to(saved.tick)
            for there, kept in zip(saved.rings, rows, strict=True):
                columns = columns_in(there.tracks, tracks)
                ring.restore(saved.tick, there.since, kept, columns)
                known = columns >= 0
                self._expected[part.tracks[known]] = there.expected[columns[known]]
        now = self._names().declared(saved.baseline)
        same = {
            series
            for series, then, each in zip(saved.baseline.series, saved.declared, now, strict=True)
            if then == each
        }
        self._baseline = saved.baseline.only(lambda series: series in same)

    def _names(self) -> CohortKeys:
        if self._keys is None:
            self._keys = CohortKeys(self._cohort)
        return self._keys

    def _keeps(self, old: Aggregator, run: Run) -> bool:
        declared = self._cohort.counter_of(run)
        return declared is not None and declared == old._cohort.counter_of(run)

    def runs(self, scrapes: Iterable[Scrape]) -> Iterator[list[Scrape]]:
        """Divide polls into runs that can be computed together: the first decides the tick numbers of the others."""
        run: list[Scrape] = []
        for scrape in scrapes:
            if run and not self._follows(scrape, run):
                yield run
                run = []
            run.append(scrape)
        if run:
            yield run

    def _follows(self, scrape: Scrape, run: Sequence[Scrape]) -> bool:
        together = scrape.layout is run[0].layout and self._cohort.in_sweeps and self._layout is not None
        return together and self._tick_of(scrape.at) == self._tick_of(run[-1].at) + 1

    def _taken(self, scrape: Scrape, times: Mapping[GroupId, float] | None = None) -> list[Answers]:
        tick = self._number(scrape.at)
        current = self._columns_for(scrape.layout)
        measured, self._baseline = measure(current.columns, self._baseline, scrape)
        self._measured = measured
        tracks = self._cohort.tracks
        row = tick_row(tracks, current.members, measured, scrape.replied_at)
        if times is not None:
            row = borne(tracks, row, np.array([times.get(track.group, 1.0) for track in self._cohort.places]))
        missed = missed_row(tracks, self._expected, row.expected) if tick > self._tick + 1 else row
        self._tick, self._expected = tick, row.expected
        left_out = current.members.left_out[tracks.run]
        found: list[Answers] = []
        for part, ring in zip(self._cohort.parts, self._rings, strict=True):
            ring.put(tick, row.pick(part.tracks), missed.pick(part.tracks))
            found += (answers(query, ring, row, left_out, scrape.at.steady) for query in part.queries)
        return found

    def _reel(self, at: Sequence[Moment], found: Sequence[Answers]) -> Reel:
        return Reel(at, self._cohort.cells, self._queries, found)

    @property
    def _queries(self) -> Sequence[WindowQuery]:
        return [query for part in self._cohort.parts for query in part.queries]

    def _tick_of(self, at: Moment) -> int:
        return round((at.steady - (self._origin or 0.0)) / self._cohort.interval)

    def _number(self, at: Moment) -> int:
        if self._origin is None:
            self._origin = at.steady
        interval = self._cohort.interval
        tick = self._tick_of(at)
        if tick < self._tick:
            raise ValueError(f"a scrape of tick {tick} came after one of tick {self._tick}; expected scrapes in order")
        if self._layout is None:
            self._origin = at.steady - tick * interval  # a reload may poll the cohort at another time
        return tick

    def _columns_for(self, layout: Layout) -> _LayoutColumns:
        if self._layout is None or self._layout.layout is not layout:
            cohort = self._cohort
            runs = np.fromiter((cohort.runs.get(each[:2], _NO_RUN) for each in layout.series), dtype=np.intp)
            self._layout = _LayoutColumns(
                layout=layout,
                columns=columns_of(layout, runs, cohort.counters, cohort.interval),
                members=member_columns_of(layout, runs, len(cohort.runs)),
            )
        return self._layout


_NO_RUN = -1


def _group_of(series: Series) -> GroupId:
    return series.group


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _LayoutColumns:
    """The values computed for one layout; kept as long as scrapes have that layout object."""

    layout: Layout
    columns: Columns
    members: MemberColumns
