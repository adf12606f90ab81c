"""The aggregator of one cohort: scrapes in, one frame per group out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aggregator.across import MemberColumns, Run, borne, in_order, reduced, seats_of, silence, tally
from aggregator.batch_frames import Reel
from aggregator.cells import Answers, CellCache, Cells, answers
from aggregator.cohorts import WindowQuery, cohort_of
from aggregator.frames import Frame
from aggregator.rates import NO_BASELINE, Columns, Measured, columns_of, measure, measure_all, readings_of
from aggregator.rings import Ring
from collector.samples import Floats, Layout, Scrape
from config.model.catalogue import Catalogue
from config.units import GroupId, Moment


class Aggregator:
    """Turns the scrapes of one cohort (groups of one interval that are polled together) into frames.

    Ticks are numbered from the cohort's first scrape by steady time, so that a tick that was missed leaves a silent
    row and not a shorter window, and jitter of less than half an interval does no harm wherever the cohort's turn
    falls.

    Raises:
        ValueError: the groups do not share one interval, or a condition takes the last across members.
    """

    __slots__ = ("_baseline", "_cohort", "_expected", "_measured", "_origin", "_rings", "_seating", "_tick")

    def __init__(self, catalogue: Catalogue, groups: Sequence[GroupId]) -> None:
        self._cohort = cohort_of(catalogue, groups)
        self._rings = tuple(
            Ring(part.length, part.tracks.size, [ask.how for ask in part.asks]) for part in self._cohort.parts
        )
        self._expected: Floats = np.zeros(len(self._cohort.places))
        """(track,) members at the newest tick."""
        self._baseline = NO_BASELINE
        self._measured: Measured | None = None
        """Of the last `take`."""
        self._seating: _Seating | None = None
        self._origin: float | None = None
        """Steady time of tick 0; ``None``: no tick yet."""
        self._tick = 0
        """The newest."""

    @property
    def bytes(self) -> int:
        """Memory that the windows take; it depends on what is asked, and not on time."""
        return sum(ring.bytes for ring in self._rings)

    def outside(self) -> Mapping[int, float]:
        """Values of the last scrape that `take` was given which were not heard: outside their counter's range.

        By row of its layout, in the counter's unit; of a counter that rises, the rate.
        """
        if self._measured is None:
            return {}
        rows = np.flatnonzero(self._measured.outside)
        return dict(zip(rows.tolist(), self._measured.value[rows].tolist(), strict=True))

    def take(self, scrape: Scrape, times: Mapping[GroupId, float] | None = None) -> Mapping[GroupId, Frame]:
        """Take one poll in, and answer everything that the cohort's groups ask.

        A second scrape within one tick replaces the first. Series that nobody asks for are left alone.

        Args:
            scrape: the poll.
            times: how many times what was measured of shared counters the members of a group bear: of another fleet
                than the one that was polled. Not named: once.

        Returns:
            A frame for every group, ``at`` the scrape's. Each is total: every window has a cell, also where a group
            has no members.

        Raises:
            ValueError: the scrape belongs to a tick before the newest one.
        """
        found = self._taken(scrape, times)
        ledgers = [CellCache(ask.length, each.rows) for ask, each in zip(self._asks, found, strict=True)]
        return {
            group: Frame(group=group, at=scrape.at, cells=Cells(places, ledgers))
            for group, places in self._cohort.cells.items()
        }

    def take_all(self, scrapes: Iterable[Scrape]) -> Iterator[Reel]:
        """Take polls in, in their order: what `take` answers to each of them, to the last bit, in far less time each.

        Those that have one layout and follow on each other are worked out together, so memory grows with their number.
        The aggregator is ahead of the reels that were looked at.

        Raises:
            ValueError: as `take`.
        """
        for run in self._runs(scrapes):
            yield self._reel(run[:1], [each.alone() for each in self._taken(run[0])])
            if len(run) > 1:
                yield self._reel(run[1:], self._swept(run[1:]))

    def succeed(self, old: Aggregator) -> None:
        """Take over from the aggregator of the catalogue before a reload, ahead of the first `take`.

        Tracks of the same group keep their history and their counters' last readings where interval and declaration
        of the counter are unchanged; all others begin anew. Where cohorts were divided differently, call it once
        for each that has some of these groups. The old one is left as it is.

        Raises:
            ValueError: this one has taken a scrape already.
        """
        if self._seating is not None:
            raise ValueError("an aggregator succeeds another before its first scrape, not after it")
        if old._origin is None or old._cohort.interval != self._cohort.interval:
            return
        if self._origin is None:
            self._origin, self._tick = old._origin, old._tick
        shift = round((old._origin - self._origin) / self._cohort.interval)
        self._tick = max(self._tick, old._tick + shift)
        kept = {track for track in self._cohort.places if track in old._cohort.places and self._keeps(old, track.run)}
        for track in kept:
            self._expected[self._cohort.places[track]] = old._expected[old._cohort.places[track]]
        for part, ring in zip(self._cohort.parts, self._rings, strict=True):
            ring.skip_to(self._tick)
            for before, there in zip(old._cohort.parts, old._rings, strict=True):
                both = kept & part.columns.keys() & before.columns.keys()
                ring.adopt(there, [(before.columns[track], part.columns[track]) for track in both], shift)
        known = old._baseline.only(lambda series: self._keeps(old, (series.group, series.counter)))
        self._baseline = self._baseline.joined(known)

    def _keeps(self, old: Aggregator, run: Run) -> bool:
        declared = self._cohort.counter_of(run)
        return declared is not None and declared == old._cohort.counter_of(run)

    def _runs(self, scrapes: Iterable[Scrape]) -> Iterator[list[Scrape]]:
        """Divide polls into those that can be taken in together: the first decides what tick the others are."""
        run: list[Scrape] = []
        for scrape in scrapes:
            if run and not self._follows(scrape, run):
                yield run
                run = []
            run.append(scrape)
        if run:
            yield run

    def _follows(self, scrape: Scrape, run: Sequence[Scrape]) -> bool:
        together = scrape.layout is run[0].layout and self._cohort.in_sweeps and self._seating is not None
        return together and self._tick_of(scrape.at) == self._tick_of(run[-1].at) + 1

    def _taken(self, scrape: Scrape, times: Mapping[GroupId, float] | None = None) -> list[Answers]:
        tick = self._number(scrape.at)
        seating = self._seated(scrape.layout)
        measured, self._baseline = measure(seating.columns, self._baseline, scrape)
        self._measured = measured
        tracks = self._cohort.tracks
        lists = in_order(seating.seats, measured) if tracks.in_order else None
        row = reduced(tracks, tally(seating.seats, measured, scrape.replied_at).pick(tracks.run), lists)
        if times is not None:
            row = borne(tracks, row, np.array([times.get(track.group, 1.0) for track in self._cohort.places]))
        missed = silence(tracks, self._expected, row.expected) if tick > self._tick + 1 else row
        self._tick, self._expected = tick, row.expected
        left_out = seating.seats.left_out[tracks.run]
        found: list[Answers] = []
        for part, ring in zip(self._cohort.parts, self._rings, strict=True):
            ring.put(tick, row.pick(part.tracks), missed.pick(part.tracks))
            found += (answers(ask, ring, row, left_out, scrape.at.steady) for ask in part.asks)
        return found

    def _swept(self, scrapes: Sequence[Scrape]) -> list[Answers]:
        """Take in polls that follow on the newest, and have its layout."""
        seating, tracks = self._seated(scrapes[0].layout), self._cohort.tracks
        readings = readings_of(scrapes)
        measured, self._baseline = measure_all(seating.columns, self._baseline, readings)
        row = reduced(tracks, tally(seating.seats, measured, readings.replied_at).pick(tracks.run))
        self._tick += len(scrapes)
        left_out = seating.seats.left_out[tracks.run]
        steady = np.array([[scrape.at.steady] for scrape in scrapes])
        found: list[Answers] = []
        for part, ring in zip(self._cohort.parts, self._rings, strict=True):
            sweep = ring.sweep(row.pick(part.tracks))
            found += (answers(ask, sweep, row, left_out, steady) for ask in part.asks)
        return found

    def _reel(self, scrapes: Sequence[Scrape], found: Sequence[Answers]) -> Reel:
        return Reel([scrape.at for scrape in scrapes], self._cohort.cells, self._asks, found)

    @property
    def _asks(self) -> Sequence[WindowQuery]:
        return [ask for part in self._cohort.parts for ask in part.asks]

    def _tick_of(self, at: Moment) -> int:
        return round((at.steady - (self._origin or 0.0)) / self._cohort.interval)

    def _number(self, at: Moment) -> int:
        if self._origin is None:
            self._origin = at.steady
        interval = self._cohort.interval
        tick = self._tick_of(at)
        if tick < self._tick:
            raise ValueError(f"a scrape of tick {tick} came after one of tick {self._tick}; expected them in order")
        if self._seating is None:
            self._origin = at.steady - tick * interval  # a reload may have given the cohort another turn
        return tick

    def _seated(self, layout: Layout) -> _Seating:
        if self._seating is None or self._seating.layout is not layout:
            cohort = self._cohort
            runs = np.fromiter((cohort.runs.get(each[:2], _NOBODY_ASKS) for each in layout.series), dtype=np.intp)
            self._seating = _Seating(
                layout=layout,
                columns=columns_of(layout, runs, cohort.counters, cohort.interval),
                seats=seats_of(layout, runs, len(cohort.runs)),
            )
        return self._seating


_NOBODY_ASKS = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Seating:
    """What was worked out for one layout; kept for as long as scrapes come with that very layout."""

    layout: Layout
    columns: Columns
    seats: MemberColumns
