"""``--load``: members of equal capacity under a load recorded elsewhere. The fleet follows the decisions."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from aggregator.aggregate import Aggregator
from collector.samples import Floats, Layout, Scrape, Sheet
from collector.targets import Roster, counters_of, layout_for
from config.model.catalogue import Catalogue, Group
from config.model.counters import CounterKind, Per
from config.units import CounterId, GroupId, Instant, Moment, Monotonic, Seconds
from handler.replay.chain import Chain
from handler.replay.members import BootTimes, ReplayMembers
from handler.replay.outcomes import ReplayLine, line_of
from handler.replay.paths import FleetPath, PathRecorder
from handler.replay.recorded import Run, hourly_left, hourly_most
from handler.replay.samples import Unreplayable
from handler.replay.scores import CapacityScore, FleetTiming, minutes_over, scored
from handler.replay.tallies import TickMeter
from trigger.forecast.leads import lead_of
from trigger.policies.evaluate import NOTHING_FORESEEN
from trigger.policies.forecasting import Forecasting
from trigger.requests import GroupState

_WHOLE = 100.0
"""Percent: the most that a member can be busy."""


class Feed(enum.Enum):
    """How a counter shows the load."""

    UTILISATION = "utilisation"
    """Percent of the capacity of the members in service, at most 100."""
    RATE = "rate"
    """The load itself: a member's share of it, or all of it for a counter per group."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SyntheticLoad:
    """A load, and the capacity and start time of members."""

    at: Floats
    """(sample,) seconds since the epoch, rising."""
    rate: Floats
    """(sample,) requests per second, until the next sample."""
    capacity: float
    """The rate that one member can serve."""
    boot: BootTimes
    """Time from the decision until a member is in service."""
    feeds: Mapping[CounterId, Feed]
    delay: Seconds = 0.0
    """Counters show the load of so long ago."""

    def ticks(self, interval: Seconds) -> Floats:
        """Return when a group of this interval is polled: (tick,)."""
        return np.arange(self.at[0], self.at[-1] + 0.5 * interval, interval)

    def rates(self, at: Floats) -> Floats:
        """Return the load at some instants; before it begins, it is the first one."""
        return self.rate[np.maximum(np.searchsorted(self.at, at, side="right") - 1, 0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLevel:
    """By what a fleet under a load is judged."""

    each: float
    """The rate that one member serves within the SLO; at most its capacity."""
    drain: Seconds | None
    """From the end of service until a member is gone; ``None``: the group's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadScore:
    """How good a fleet was for a load."""

    score: CapacityScore
    hours: float
    """Member-hours, from each order to the end of draining."""
    minutes: float
    """In which the load was beyond what the members in service serve within the SLO."""

    @property
    def words(self) -> str:
        """As a sentence."""
        one = self.score
        return (
            f"cost {one.cost:.3f} of the optimum ({self.hours:,.1f} member-hours), {one.over:.3f} % of the load over "
            f"the SLO ({self.minutes:,.1f} minutes), {one.flaps:.1f} flaps a day, Q {one.quality:.3f}"
        )

    def plain(self) -> dict[str, float]:
        """Return it as JSON's types."""
        return {
            "cost": self.score.cost,
            "over_percent": self.score.over,
            "over_minutes": self.minutes,
            "flaps_a_day": self.score.flaps,
            "q": self.score.quality,
            "member_hours": self.hours,
        }


def score_of(path: FleetPath, group: Group, load: SyntheticLoad, level: ServiceLevel) -> LoadScore:
    """Judge a fleet as `make capacity` does (docs/capacity.md), by the load at each of its ticks."""
    step = group.interval
    rate = load.rates(load.ticks(step))
    drain = group.drain if level.drain is None else level.drain
    timing = FleetTiming(step=step, boot=round(load.boot.mean / step), drain=round(drain / step))
    return LoadScore(
        score=scored(path, rate, level.each, timing, least=max(group.minimum, 1)),
        hours=float(path.paid(timing.drain).sum()) * step / 3600.0,
        minutes=minutes_over(path, rate, level.each, step),
    )


def _unnoted(count: int) -> None:
    """Show no progress."""


def replay_load(
    catalogue: Catalogue, group: GroupId, load: SyntheticLoad, note: Callable[[int], None] = _unnoted
) -> Run:
    """Replay one group, from its min, at every interval of the load; calls ``note`` for each tick.

    Raises:
        Unreplayable: a counter that its policies read has no feed, or is a rising counter.
    """
    declared = catalogue.groups[group]
    counters = _counters_of(catalogue, declared, load)
    fleet = _Fleet(declared, load)
    chain, aggregator = Chain(catalogue, group, GroupState()), Aggregator(catalogue, (group,))
    forecasting = Forecasting(catalogue, (group,), {group: lead_of(load.boot.learned, None)})
    most = hourly_most(catalogue, group)
    meter, spent, lines = TickMeter(declared.interval), deque[tuple[Instant, int]](), list[ReplayLine]()
    recorder = PathRecorder()
    ticks = load.ticks(declared.interval)
    shown = load.rates(ticks - load.delay)
    for at, rate, known in zip(ticks.tolist(), load.rates(ticks).tolist(), shown.tolist(), strict=True):
        now = Moment(wall=Instant(at), steady=Monotonic(at))
        scrape = _scrape(catalogue, fleet, counters, known, now)
        left = hourly_left(most, spent, now.wall)
        frames = aggregator.take(scrape)
        foreseen = forecasting.take(frames, now.wall).get(group, NOTHING_FORESEEN)
        decision = chain.tick(frames[group], fleet.seen(at, left), foreseen)
        if (line := line_of(decision, len(fleet.members))) is not None:
            lines.append(line)
        if ordered := fleet.follow(decision.desired_to, at):
            spent.append((now.wall, ordered))
        short = rate > load.capacity * fleet.serving(at)
        meter.tick(at, decision.state.desired, busy=chain.busy, short=short)
        recorder.tick(len(fleet.members), fleet.serving(at), fleet.left)
        note(1)
    return Run(group=group, lines=tuple(lines), ticks=len(ticks), tally=meter.tally(lines), path=recorder.path())


def feeds_for(catalogue: Catalogue, groups: tuple[GroupId, ...]) -> Mapping[CounterId, Feed]:
    """Return the default feeds: every counter in percent shows utilisation."""
    read = {counter for group in groups for counter in counters_of(catalogue, group)}
    return {name: Feed.UTILISATION for name in sorted(read) if catalogue.counters[name].unit == "percent"}


class _Fleet(ReplayMembers):
    """Members under a load."""

    def __init__(self, group: Group, load: SyntheticLoad) -> None:
        super().__init__(group, load.boot, group.minimum, float(load.at[0]))
        self.load = load
        self._laid: tuple[Roster, Layout] | None = None

    def layout(self, catalogue: Catalogue, at: float) -> Layout:
        """Return the layout of the members to ask; the same object while they do not change."""
        roster = self.roster(at)
        if self._laid is None or self._laid[0] != roster:
            self._laid = roster, layout_for(catalogue, (roster,))
        return self._laid[1]


def _counters_of(catalogue: Catalogue, group: Group, load: SyntheticLoad) -> Mapping[CounterId, Feed]:
    """Return the feed of each counter that the group's policies read."""
    for counter in counters_of(catalogue, group.id):
        if counter not in load.feeds:
            raise Unreplayable(
                f"group {group.id} reads {counter}: set how it shows the load with --feed {counter}=utilisation or "
                f"--feed {counter}=rate"
            )
        if catalogue.counters[counter].kind is CounterKind.RISING:
            raise Unreplayable(f"counter {counter} is a rising counter; --load can feed gauges only")
    return load.feeds


def _scrape(catalogue: Catalogue, fleet: _Fleet, feeds: Mapping[CounterId, Feed], rate: float, now: Moment) -> Scrape:
    layout = fleet.layout(catalogue, now.wall)
    sheet, serving = Sheet(layout), fleet.serving(now.wall)
    for row, series in enumerate(layout.series):
        counter = catalogue.counters[series.counter]
        shown = _shown(feeds[series.counter], rate, serving, fleet.load.capacity, whole=counter.per is Per.GROUP)
        if shown is not None and counter.scale:
            sheet.put(row, shown / counter.scale, at=now.steady)
    return sheet.close(now)


def _shown(feed: Feed, rate: float, serving: int, capacity: float, *, whole: bool) -> float | None:
    if feed is Feed.RATE and whole:
        return rate
    if not serving:
        return None
    return rate / serving if feed is Feed.RATE else min(_WHOLE * rate / (serving * capacity), _WHOLE)
