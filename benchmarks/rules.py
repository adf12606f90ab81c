"""Windowed conditions over stored series: Trimtab, samples in and decisions out, beside a real Prometheus's rules.

2,000 and 10,000 groups of 20 members, one sample of each every 15 s for 5 minutes, and for every group the condition
"the average across its members, averaged over 5 minutes, is above a threshold of its own". Prometheus gets these very
samples by remote write, and one alerting rule per condition; both sides must find the same groups, or the benchmark
fails.

Compared is the processor time of one evaluation of all rules:

* of Prometheus, what its process uses while a rule group is evaluated again and again over samples that are stored
  already, less what it uses idle. Once with the rules as they are meant, across members at each tick and then over time
  (a subquery); once with what an expert makes of them, each member over time and then across members, which is the same
  only for averages of averages while no member is unheard. ``@`` pins all of them to the stored samples, which is free;
* of Trimtab, two figures: from a tick's samples to the truth of every condition, and everything that the daemon does
  with a tick (`benchmarks.beside.slots`): slots, windows, conditions, decision queue, explanations, store.

Trimtab's figures include taking in the tick's samples, which Prometheus did before. Prometheus keeps every series and
answers whatever is asked later, while Trimtab keeps only what its conditions need. Nor need a Prometheus have 10,000
rules where one threshold does for all groups: then one rule asks for all at once, and that is another figure.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aggregator.aggregate import Aggregator
from benchmarks.beside import slots
from benchmarks.beside.machine import resident
from benchmarks.beside.prometheus import RealPrometheus, Series, running, written
from benchmarks.report.figures import Figure, Measured, NotMeasured, at_least, once
from collector.samples import Floats, Layout, Reply, Scrape
from collector.targets import MemberTarget, Roster, layout_for
from config.model.catalogue import Adjustment, AdjustmentVerb, Catalogue, Compare, Condition, Group, Policy
from config.model.counters import Counter, HaproxyField
from config.units import ConditionId, CounterId, GroupId, Instant, MemberName, Moment, Monotonic, PolicyId, ProfileId
from handler.planning.launches import LaunchId
from handler.runtime.slots import slots_of
from trigger.policies.evaluate import evaluate
from trigger.verdicts import Truth


class _Size(NamedTuple):
    groups: int
    """Each has one rule, and `MEMBERS` members."""
    pause: int
    """Seconds from one evaluation of Prometheus to the next: it takes no processor in a part of them."""
    ways: Collection[str]
    """The rules that Prometheus is given, by name. What the others take stands in the same ratio at both sizes."""


MEMBERS = 20
_MEANT, _BY_AN_EXPERT, _FOR_ALL = "rules as meant", "rules by an expert", "one rule for all groups"
SIZES = (_Size(2_000, 1, (_MEANT, _BY_AN_EXPERT, _FOR_ALL)), _Size(10_000, 4, (_MEANT,)))
INTERVAL = 15.0
WINDOW = 300.0
TICKS = 20
ROUNDS = 5
"""Ticks that are measured."""
_SETTLED = 2
"""Ticks after the first decisions, until what has changed is written down."""
_CPU = CounterId("cpu")


def run(part: int = 1) -> Iterator[Measured]:
    """Measure both sides in turn.

    Raises:
        RuntimeError: the two do not find the same groups, or Prometheus does not do its part in time.
    """
    for size in SIZES:
        small = size if part == 1 else size._replace(groups=size.groups // part, pause=1)
        yield from _beside(_fleet(small.groups, MEMBERS), small)


def _beside(fleet: _Fleet, size: _Size) -> Iterator[Measured]:
    series = fleet.samples[0].size
    what = f"{size.groups:,} conditions over {series:,} series"
    judged, found = _judged(fleet)
    whole, memory, also = _decided(fleet)
    ours = {
        name: Figure(job=f"{what}: {name}", unit="CPU-ms", samples=samples, memory=(memory,))
        for name, samples in ((_JUDGED, judged), (_DECIDED, whole))
    }
    yield from ours.values()
    if shutil.which("prometheus") is None:
        yield NotMeasured(job=what, by=_PROMETHEUS, because="not installed: apt-get install prometheus")
        return
    theirs: dict[str, Figure] = {}
    with tempfile.TemporaryDirectory(prefix="ttb") as place, running(Path(place)) as server:
        end = time.time() // INTERVAL * INTERVAL  # subqueries step through whole multiples
        _store(server, fleet, end)
        idle = server.idle()
        for way in size.ways:
            spent = tuple(1000 * cpu for cpu in server.evaluations(_rules(fleet, way, end, size.pause), idle))
            if way in _EACH and not found == also == server.alerting():
                counts = (len(each) for each in (found, also, server.alerting()))
                raise RuntimeError(f"the sides find other groups: {', '.join(map(str, counts))} of them")
            held = (resident(server.pid),)
            theirs[way] = Figure(job=f"{what}: {way}", unit="CPU-ms", samples=spent, memory=held, by=_PROMETHEUS)
            yield theirs[way]
    yield once(f"{what}: true, by either", len(found), "groups")
    for way, figure in theirs.items():
        for side, mine in ours.items():
            ratios = tuple(figure.median / each for each in mine.samples)
            job = f"{what}: Prometheus, {way}, to Trimtab, {side}"
            yield Figure(job=job, unit="×", samples=ratios, goal=_GOALS.get((way, side)))


_PROMETHEUS = "Prometheus"
_JUDGED, _DECIDED = "samples to truths", "samples to stored decisions"
_GOALS = {(_MEANT, _DECIDED): at_least(25.0)}
_EACH = {
    _MEANT: 'avg_over_time(avg(cpu{{group="{group}"}})[5m:15s] @ {end:.3f})',
    _BY_AN_EXPERT: 'avg(avg_over_time(cpu{{group="{group}"}}[5m] @ {end:.3f}))',
}


# What is judged


class _Fleet(NamedTuple):
    catalogue: Catalogue
    names: Sequence[GroupId]
    samples: Floats
    """(tick, group, member)"""


def _fleet(groups: int, members: int) -> _Fleet:
    names = [GroupId(f"group-{number:05}") for number in range(groups)]
    draw = np.random.default_rng(7)
    load = draw.uniform(10.0, 75.0, (1, groups, 1))
    return _Fleet(_catalogue(names), names, load + draw.uniform(0.0, 25.0, (TICKS, groups, members)))


def _catalogue(names: Sequence[GroupId]) -> Catalogue:
    conditions = {name: _condition(name, _threshold(number)) for number, name in enumerate(names)}
    policies = {name: _policy(name) for name in names}
    return Catalogue(
        digest="",
        counters={_CPU: Counter(id=_CPU, source=HaproxyField(field="cpu"), range=(0.0, 100.0))},
        conditions={condition.id: condition for condition in conditions.values()},
        policies={policy.id: policy for policy in policies.values()},
        clouds={},
        balancers={},
        profiles={},
        groups={name: _group(name) for name in names},
        sites={},
    )


def _threshold(number: int) -> float:
    return 60.0 + number % 30


def _condition(name: GroupId, threshold: float) -> Condition:
    return Condition(id=ConditionId(name), counter=_CPU, window=WINDOW, compare=Compare.ABOVE, threshold=threshold)


def _policy(name: GroupId) -> Policy:
    adjustment = Adjustment(verb=AdjustmentVerb.ADD, amount=1)
    return Policy(id=PolicyId(name), when=(ConditionId(name),), adjustment=adjustment, quiet_time=0.0)


def _group(name: GroupId) -> Group:
    return Group(
        id=name,
        profile=ProfileId("small"),
        minimum=1,
        maximum=40,
        interval=INTERVAL,
        policies=(PolicyId(name),),
    )


# Trimtab


def _parts(fleet: _Fleet) -> Iterable[tuple[GroupId, ...]]:
    """The groups as a daemon divides them between its slots."""
    return (slot.groups for slot in slots_of(fleet.catalogue, fleet.names))


def _judged(fleet: _Fleet) -> tuple[tuple[float, ...], set[str]]:
    """Return the processor milliseconds from a tick's samples to all truths, and the groups whose truth is TRUE."""
    numbers = {name: number for number, name in enumerate(fleet.names)}
    parts = []
    for groups in _parts(fleet):
        layout, aggregator = _layout(fleet, groups), Aggregator(fleet.catalogue, groups)
        mine = fleet.samples[:, [numbers[group] for group in groups]]
        scrapes = [_scrape(layout, mine[tick], tick) for tick in range(TICKS)]
        for scrape in scrapes:
            aggregator.take(scrape)
        parts.append((aggregator, scrapes[-1]))
    spent, found = [], set[str]()
    for _ in range(ROUNDS):
        began = time.process_time()
        found = {name for aggregator, last in parts for name in _true(fleet.catalogue, aggregator, last)}
        spent.append((time.process_time() - began) * 1000)
    return tuple(spent), found


def _true(catalogue: Catalogue, aggregator: Aggregator, scrape: Scrape) -> Iterator[str]:
    for group, frame in aggregator.take(scrape).items():
        if evaluate(catalogue, group, frame, {}, frame.at).advices[0].truth is Truth.TRUE:
            yield group


def _decided(fleet: _Fleet) -> tuple[tuple[float, ...], float, set[str]]:
    """Return the processor milliseconds of a daemon's ticks, its memory in MiB, and the groups that it scaled."""
    members = fleet.samples.shape[2]
    answers = _Answers(fleet)
    with (
        tempfile.TemporaryDirectory(prefix="ttb") as place,
        slots.running(fleet.catalogue, members, Path(place)) as daemon,
    ):
        for tick in range(TICKS - 1):  # until the last sample, no window is full
            daemon.fill(answers.at(tick), INTERVAL)
        daemon.tick(answers.at(TICKS - 1), INTERVAL)
        scaled = {str(runtime.id) for runtime in daemon.runtimes.values() if (runtime.state.desired or 0) > members}
        spent = [daemon.tick(answers.at(TICKS - 1), INTERVAL) * 1000 for _ in range(_SETTLED + ROUNDS)]
        return tuple(spent[_SETTLED:]), daemon.memory(), scaled


class _Answers:
    """What the members of a layout answer at a tick; where each series' samples are is worked out once a layout."""

    def __init__(self, fleet: _Fleet) -> None:
        self._samples = fleet.samples.reshape(TICKS, -1)
        members = fleet.samples.shape[2]
        self._rows = {
            (group, LaunchId(installation=slots.INSTALLATION, group=group, sequence=member + 1).name): number * members
            + member
            for number, group in enumerate(fleet.names)
            for member in range(members)
        }
        self._order: dict[int, np.ndarray[tuple[int], np.dtype[np.intp]]] = {}

    def at(self, tick: int) -> slots.Values:
        return lambda layout: self._samples[tick][self._ordered(layout)]

    def _ordered(self, layout: Layout) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        if id(layout) not in self._order:
            rows = [self._rows[each.group, each.member] for each in layout.series if each.member is not None]
            self._order[id(layout)] = np.array(rows, dtype=np.intp)
        return self._order[id(layout)]


def _moment(tick: int) -> Moment:
    at = 1000.0 + tick * INTERVAL
    return Moment(wall=Instant(at), steady=Monotonic(at))


def _layout(fleet: _Fleet, groups: Iterable[GroupId]) -> Layout:
    members = tuple(MemberTarget(name=_member(n), address="", counted=True) for n in range(fleet.samples.shape[2]))
    return layout_for(fleet.catalogue, (Roster(group=group, members=members) for group in groups))


def _member(number: int) -> MemberName:
    return MemberName(f"m{number:03}")


def _scrape(layout: Layout, samples: Floats, tick: int) -> Scrape:
    count, at = len(layout.series), _moment(tick)
    return Scrape(
        layout=layout,
        at=at,
        value=samples.ravel(),
        replied_at=np.full(count, at.steady),
        uptime=np.full(count, np.nan),
        reply=np.full(count, Reply.OK, dtype=np.uint8),
    )


# The same as rules of Prometheus


def _rules(fleet: _Fleet, way: str, end: float, pause: int) -> str:
    """A rule for each condition, or one for all, as a file of rules is written; YAML takes JSON."""
    if way == _FOR_ALL:
        return _file([_rule(f"avg by (group) (avg_over_time(cpu[5m] @ {end:.3f}))", 75.0)], pause)
    expression = _EACH[way]
    thresholds = {name: _threshold(number) for number, name in enumerate(fleet.names)}
    return _file(
        [_rule(expression.format(group=name, end=end), above, name) for name, above in thresholds.items()], pause
    )


def _rule(expression: str, threshold: float, group: GroupId | None = None) -> Mapping[str, object]:
    labels = {} if group is None else {"group": group}
    return {"alert": "High", "expr": f"{expression} > {threshold:g}", "labels": labels}


def _file(rules: Sequence[Mapping[str, object]], pause: int) -> str:
    return json.dumps({"groups": [{"name": "conditions", "interval": f"{pause}s", "rules": rules}]})


_AT_ONCE = 500
"""Groups in one request."""


def _store(server: RealPrometheus, fleet: _Fleet, end: float) -> None:
    """Write all samples, the newest at ``end``."""
    times = [round((end - (TICKS - 1 - tick) * INTERVAL) * 1000) for tick in range(TICKS)]
    for first in range(0, len(fleet.names), _AT_ONCE):
        server.write(written(_series(fleet, range(first, min(first + _AT_ONCE, len(fleet.names)))), times))


def _series(fleet: _Fleet, groups: Iterable[int]) -> Iterator[Series]:
    for group in groups:
        for member in range(fleet.samples.shape[2]):
            labels = {"__name__": _CPU, "group": fleet.names[group], "member": _member(member)}
            yield labels, fleet.samples[:, group, member]
