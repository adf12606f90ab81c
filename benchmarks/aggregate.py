"""How long the aggregator takes per tick, one core: `take` with full windows."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from aggregator.across import TickRow
from aggregator.aggregate import Aggregator
from aggregator.rings import Ring
from aggregator.windows import over
from benchmarks.report.figures import Figure, Measured, at_most, once
from benchmarks.report.measuring import rounds
from collector.samples import Layout, Reply, Scrape
from collector.targets import MemberTarget, Roster, layout_for
from config.model.catalogue import Adjustment, AdjustmentVerb, Catalogue, Compare, Condition, Group, Policy
from config.model.counters import Counter, CounterKind, HaproxyField
from config.model.reductions import Reduce, Reduction, Statistic
from config.units import ConditionId, CounterId, GroupId, Instant, MemberName, Moment, Monotonic, PolicyId, ProfileId

INTERVAL = 30.0
WINDOW = 300.0
TICKS = 25


def run(part: int = 1) -> Iterator[Measured]:
    """Measure the median tick: groups as one cohort and as 30, more of them, a tick after a change, and windows."""
    series = 100_000 // part
    yield from (once(*found) for found in _takes(part))
    for name, hows in _SETS.items():
        spent = _window_ms(hows, series, silent=0.0)
        yield once(f"window of {_DEEP} ticks, {series:,} series: {name}", spent, _UNIT)
    for name, hows in _SETS.items():
        goal = at_most(15.0) if name == _SPAN else None
        spent = _window_ms(hows, series, silent=_SILENT)
        yield once(f"the same, one series in 100 silent: {name}", spent, _UNIT, goal=goal)
    job = f"window of {_DEEP} ticks, {series:,} series, one in 100 silent: {_SPAN}"
    yield Figure(job=job, unit=_UNIT, samples=_pandas_ms(series), by="pandas")


def _takes(part: int) -> Iterable[tuple[str, float, str]]:
    few, more, most = 1000 // part, 5000 // part, 10_000 // part
    yield f"take, {few:,} groups x 10 members x 2 counters, one cohort", _tick_ms(groups=few, cohorts=1), _UNIT
    yield (
        f"take, {few:,} groups x 10 members x 2 counters, {min(few, 30)} cohorts",
        _tick_ms(groups=few, cohorts=min(few, 30)),
        _UNIT,
    )
    yield (
        "take, the same, a member comes or goes at every tick",
        _tick_ms(groups=few, cohorts=1, churn=True),
        _UNIT,
    )
    yield f"take, {20 * more:,} series ({more:,} groups), one cohort", _tick_ms(groups=more, cohorts=1), _UNIT
    yield f"take, {20 * most:,} samples ({most:,} groups), one cohort", _tick_ms(groups=most, cohorts=1), _UNIT
    yield "greatest resident memory until then", _peak_mib(), "MiB"


_UNIT = "CPU-ms/tick"
_DEEP, _SILENT = 60, 0.01
_SPAN = "avg + min + max"
_SETS: Mapping[str, Sequence[Reduction]] = {
    _SPAN: (Reduce.AVG, Reduce.MIN, Reduce.MAX),
    "p95": (Statistic.P95,),
    "stddev": (Statistic.STDDEV,),
}


def _window_ms(hows: Sequence[Reduction], tracks: int, *, silent: float) -> float:
    """Return the median milliseconds of CPU to put one tick into a full ring and reduce all of it."""
    ticks, draw = _DEEP, np.random.default_rng(7)
    ring, every, bounded = Ring(ticks, tracks, hows), np.arange(tracks), np.ones(tracks, dtype=np.bool_)
    spent = []
    for tick in range(ticks + 7):
        value = draw.uniform(0.0, 100.0, tracks)
        heard = (draw.uniform(size=tracks) >= silent).astype(np.float64)
        missing = heard == 0
        low, high = np.where(missing, 0.0, value), np.where(missing, 100.0, value)
        at = np.where(missing, -np.inf, float(tick))
        row = TickRow(low, np.where(missing, 0.0, value), high, ~missing, heard, np.ones(tracks), at)
        begun = time.process_time()
        ring.put(tick, row, row)
        for how in hows if tick >= ticks else ():
            over(how, ring.newest(ticks, every), bounded)
        spent.append(time.process_time() - begun)
    return statistics.median(spent[ticks:]) * 1000


def _pandas_ms(tracks: int) -> tuple[float, ...]:
    """Return the milliseconds of CPU in which pandas reduces a whole window, in each round."""
    draw = np.random.default_rng(7)
    values = draw.uniform(0.0, 100.0, (_DEEP, tracks))
    values[draw.uniform(size=values.shape) < _SILENT] = np.nan
    window = pd.DataFrame(values)
    return tuple(1000 * cost.cpu for cost in rounds(lambda: (window.mean(), window.min(), window.max())))


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _tick_ms(*, groups: int, cohorts: int, churn: bool = False) -> float:
    """Return the median milliseconds of CPU that one tick of all cohorts takes."""
    names = [GroupId(f"group-{number:05}") for number in range(groups)]
    catalogue = _catalogue(names)
    fleets = [
        (Aggregator(catalogue, names[part::cohorts]), _layout(catalogue, names[part::cohorts]))
        for part in range(cohorts)
    ]
    spent = []
    for tick in range(TICKS):
        scrapes = [(aggregator, _scrape(_copy(layout) if churn else layout, tick)) for aggregator, layout in fleets]
        begun = time.process_time()
        for aggregator, scrape in scrapes:
            aggregator.take(scrape)
        spent.append(time.process_time() - begun)
    return statistics.median(spent[len(spent) // 2 :]) * 1000  # the first half fills the windows


def _catalogue(names: Iterable[GroupId]) -> Catalogue:
    cpu, octets = CounterId("cpu"), CounterId("octets")
    counters = (
        Counter(id=cpu, source=HaproxyField(field="cpu"), range=(0.0, 100.0)),
        Counter(id=octets, source=HaproxyField(field="bin"), kind=CounterKind.RISING),
    )
    conditions = (
        _condition("busy", cpu, Reduce.AVG, Compare.ABOVE),
        _condition("idle", cpu, Reduce.MAX, Compare.BELOW),
        _condition("flooded", octets, Reduce.SUM, Compare.ABOVE),
    )
    policies = (
        _policy("out", AdjustmentVerb.ADD, "busy"),
        _policy("in", AdjustmentVerb.REMOVE, "idle"),
        _policy("more", AdjustmentVerb.ADD, "flooded"),
    )
    groups = (
        Group(
            id=name,
            profile=ProfileId("small"),
            minimum=1,
            maximum=20,
            interval=INTERVAL,
            policies=tuple(policy.id for policy in policies),
        )
        for name in names
    )
    return Catalogue(
        digest="",
        counters={counter.id: counter for counter in counters},
        conditions={condition.id: condition for condition in conditions},
        policies={policy.id: policy for policy in policies},
        clouds={},
        balancers={},
        profiles={},
        groups={group.id: group for group in groups},
        sites={},
    )


def _condition(name: str, counter: CounterId, across: Reduce, compare: Compare) -> Condition:
    return Condition(
        id=ConditionId(name),
        counter=counter,
        across=across,
        aggregate=Reduce.AVG if across is Reduce.AVG else Reduce.MAX,
        window=WINDOW,
        compare=compare,
        threshold=50.0,
    )


def _policy(name: str, verb: AdjustmentVerb, condition: str) -> Policy:
    return Policy(id=PolicyId(name), when=(ConditionId(condition),), adjustment=Adjustment(verb=verb, amount=1))


def _layout(catalogue: Catalogue, names: Iterable[GroupId], members: int = 10) -> Layout:
    return layout_for(catalogue, (Roster(group=name, members=tuple(_members(name, members))) for name in names))


def _members(group: GroupId, count: int) -> Iterator[MemberTarget]:
    for number in range(count):
        yield MemberTarget(name=MemberName(f"{group}-{number}"), address="", counted=True)


def _copy(layout: Layout) -> Layout:
    return Layout(series=layout.series, counted=layout.counted)


def _scrape(layout: Layout, tick: int) -> Scrape:
    count, at = len(layout.series), 1000.0 + tick * INTERVAL
    draw = np.random.default_rng(tick)
    rising = np.array([series.counter == "octets" for series in layout.series])
    return Scrape(
        layout=layout,
        at=Moment(wall=Instant(at), steady=Monotonic(at)),
        value=draw.uniform(0.0, 100.0, count) + rising * 1000.0 * tick,
        replied_at=at + draw.uniform(0.0, 1.0, count),
        uptime=np.full(count, at),
        reply=np.where(draw.uniform(size=count) < 0.01, Reply.TIMEOUT, Reply.OK).astype(np.uint8),
    )
