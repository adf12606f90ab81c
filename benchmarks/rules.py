"""10,000 windowed conditions over 200,000 stored series: Trimtab beside a real Prometheus with the same rules.

10,000 groups of 20 members, one sample of each every 15 s for 5 minutes, and for every group the condition "the average
across its members, averaged over 5 minutes, is above a threshold of its own". Prometheus 2.42 gets these very samples
by remote write, and one alerting rule per condition; both sides must find the same groups, or the benchmark fails.

Compared is the processor time of one evaluation of all rules over samples that are stored already:

* of Prometheus, what its process uses while a rule group is evaluated again and again, less what it uses idle. Once
  with the rules as they are meant, across members at each tick and then over time (a subquery); once with what an
  expert makes of them, each member over time and then across members, which is the same only for averages of
  averages, and while nobody is unheard. ``@`` pins all of them to the stored samples, which costs nothing;
* of Trimtab, from the rings to the truth of every condition: reading windows, their bounds for the unheard, making
  cells, judging. Windows are divided between slots as the daemon does it, 20 groups each.

Not compared are polling, scraping, writing to disk, labels, and any other question: Prometheus keeps every series and
answers whatever is asked later, while Trimtab keeps only what its conditions need, reduced across members as samples
come in. Since Prometheus does that in its rules, one figure counts it: everything from a tick's 200,000 samples to the
advice of every policy, `Aggregator.take` and `evaluate`. Nor need a Prometheus have 10,000 rules where one threshold
does for all groups: then one rule asks for all at once, and that is another figure.
"""

from __future__ import annotations

import itertools
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aggregator.across import Row
from aggregator.aggregate import Aggregator
from aggregator.cells import Cells, Ledger, answers
from aggregator.cohorts import Cohort, cohort_of
from aggregator.frames import Frame
from aggregator.rings import Ring
from aggregator.specs import window_key
from benchmarks.beside.prometheus import Series, Server, running, written
from benchmarks.daemon import _resident
from collector.samples import Floats, Layout, Reply, Scrape
from collector.targets import Member, Roster, layout_for
from config.counters import Counter, HaproxyField
from config.model import Adjustment, Catalogue, Compare, Condition, Group, Policy, Verb
from config.units import ConditionId, CounterId, GroupId, Instant, MemberName, Moment, Monotonic, PolicyId, ProfileId
from handler.app.deciding import slots_of
from trigger.conditions import judge
from trigger.evaluate import evaluate
from trigger.verdicts import Truth

GROUPS = 10_000
MEMBERS = 20
INTERVAL = 15.0
WINDOW = 300.0
TICKS = 20
ROUNDS = 5
"""Evaluations that are measured, of either side."""
_CPU = CounterId("cpu")


def run(groups: int = GROUPS, members: int = MEMBERS, pause: int = 5) -> Iterator[tuple[str, float, str]]:
    """Measure both sides in turn.

    Args:
        groups: each with one rule.
        members: of each group.
        pause: seconds from one evaluation of Prometheus to the next; enough for one.

    Raises:
        RuntimeError: the two do not find the same groups, or Prometheus does not do its part in time.
    """
    fleet = _fleet(groups, members)
    what = f"{groups:,} conditions over {groups * members:,} series"
    ours, found = _measured(_stored_windows(fleet))
    whole, also = _measured(_whole_ticks(fleet))
    yield f"{what}: Trimtab, windows to truths", ours * 1000, "ms CPU"
    yield f"{what}: Trimtab, from the tick's samples to advice", whole * 1000, "ms CPU"
    if shutil.which("prometheus") is None:
        yield "prometheus is not here to compare with: apt-get install prometheus", 0.0, ""
        return
    with tempfile.TemporaryDirectory(prefix="ttb") as place, running(Path(place)) as server:
        end = time.time() // INTERVAL * INTERVAL  # subqueries step through whole multiples
        _store(server, fleet, end)
        idle = server.idle()
        theirs: dict[str, float] = {}
        for name, expression in _EACH.items():
            theirs[name] = server.evaluation(_rules(fleet, expression, end, pause), idle)
            if not found == also == server.alerting():
                said = (len(each) for each in (found, also, server.alerting()))
                raise RuntimeError(f"the sides find other groups: {', '.join(map(str, said))} of them")
            yield f"{what}: Prometheus, {name}", theirs[name] * 1000, "ms CPU"
        theirs[_FOR_ALL] = server.evaluation(_rule_for_all(end, pause), idle)
        yield f"{what}: Prometheus, {_FOR_ALL}", theirs[_FOR_ALL] * 1000, "ms CPU"
        yield f"{what}: Prometheus, resident memory", _resident(server.pid), "MiB"
    yield f"{what}: true, by either", len(found), "groups"
    for name, cpu in theirs.items():
        yield f"rule evaluation only: Prometheus, {name}, to Trimtab{_LIMITS.get(name, '')}", cpu / ours, "x"
    for name, cpu in theirs.items():
        yield f"Prometheus, {name}, to all that Trimtab does in a tick", cpu / whole, "x"


_EACH = {
    "rules as meant": 'avg_over_time(avg(cpu{{group="{group}"}})[5m:15s] @ {end:.3f})',
    "rules by an expert": 'avg(avg_over_time(cpu{{group="{group}"}}[5m] @ {end:.3f}))',
}
_FOR_ALL = "one rule for all groups"
_LIMITS = {"rules as meant": " (at least 20)"}


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
    conditions = {name: _condition(name, 60.0 + number % 30) for number, name in enumerate(names)}
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


def _condition(name: GroupId, threshold: float) -> Condition:
    return Condition(id=ConditionId(name), counter=_CPU, window=WINDOW, compare=Compare.ABOVE, threshold=threshold)


def _policy(name: GroupId) -> Policy:
    adjustment = Adjustment(verb=Verb.ADD, amount=1)
    return Policy(id=PolicyId(name), when=(ConditionId(name),), adjustment=adjustment)


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


_Side = Callable[[], set[str]]
"""Evaluates every rule, and names the groups for which theirs is true."""


def _measured(sides: Iterator[_Side]) -> tuple[float, set[str]]:
    """Return the median CPU seconds of an evaluation, each after the newest tick was written anew."""
    spent, found = [], set[str]()
    for side in itertools.islice(sides, ROUNDS):
        begun = time.process_time()
        found = side()
        spent.append(time.process_time() - begun)
    return statistics.median(spent), found


def _parts(fleet: _Fleet) -> Iterable[tuple[GroupId, ...]]:
    """The groups as a daemon divides them between its slots."""
    return (slot.groups for slot in slots_of(fleet.catalogue, fleet.names))


def _moment(tick: int) -> Moment:
    at = 1000.0 + tick * INTERVAL
    return Moment(wall=Instant(at), steady=Monotonic(at))


def _true(catalogue: Catalogue, frames: Mapping[GroupId, Frame]) -> Iterator[str]:
    """Judge every condition, and name the groups for which theirs is true."""
    for group, frame in frames.items():
        declared = catalogue.groups[group]
        for policy in map(catalogue.policies.__getitem__, declared.policies):
            shrinking = policy.adjustment.may_shrink
            for condition in map(catalogue.conditions.__getitem__, policy.when):
                cell = frame.cells[window_key(condition, policy, declared)]
                if judge(condition, cell, shrinking=shrinking).truth is Truth.TRUE:
                    yield group


def _advised(catalogue: Catalogue, frames: Mapping[GroupId, Frame]) -> Iterator[str]:
    """Advise every group, and name those whose policy's conditions are true."""
    for group, frame in frames.items():
        if evaluate(catalogue, group, frame, {}, frame.at).advices[0].truth is Truth.TRUE:
            yield group


class _Windows(NamedTuple):
    """The windows of one slot, and the ring that holds what they look at."""

    cohort: Cohort
    ring: Ring

    def frames(self, row: Row, at: Moment) -> Mapping[GroupId, Frame]:
        nobody = np.zeros(len(self.cohort.places))
        ledgers = [Ledger(ask, answers(ask, self.ring, row, nobody, at.steady)) for ask in self.cohort.parts[0].asks]
        return {
            group: Frame(group=group, at=at, cells=Cells(places, ledgers))
            for group, places in self.cohort.cells.items()
        }


def _stored_windows(fleet: _Fleet) -> Iterator[_Side]:
    """Rules over rows that are in their rings already."""
    slots, newest = [], {}
    numbers = {name: number for number, name in enumerate(fleet.names)}
    for groups in _parts(fleet):
        cohort = cohort_of(fleet.catalogue, groups)
        (part,) = cohort.parts
        ring = Ring(part.length, part.tracks.size, [ask.how for ask in part.asks])
        mine = fleet.samples[:, [numbers[group] for group in groups]]
        for tick in range(TICKS):
            newest[groups] = _row(mine[tick], _moment(tick))
            ring.put(tick, newest[groups], newest[groups])
        slots.append(_Windows(cohort, ring))
    at = _moment(TICKS - 1)
    while True:
        for slot in slots:
            row = newest[slot.cohort.groups]
            slot.ring.put(TICKS - 1, row, row)
        yield lambda: {
            name for slot in slots for name in _true(fleet.catalogue, slot.frames(newest[slot.cohort.groups], at))
        }


def _row(samples: Floats, at: Moment) -> Row:
    """Average these samples, (group, member), as the aggregator does when they come in."""
    groups, members = samples.shape
    value, heads = samples.mean(axis=1), np.full(groups, float(members))
    return Row(value, value, value, heads > 0, heads, heads, np.full(groups, at.steady))


def _whole_ticks(fleet: _Fleet) -> Iterator[_Side]:
    """Rules, and before them everything that is done to the samples of a tick."""
    numbers = {name: number for number, name in enumerate(fleet.names)}
    slots = []
    for groups in _parts(fleet):
        layout = _layout(fleet, groups)
        mine = fleet.samples[:, [numbers[group] for group in groups]]
        aggregator = Aggregator(fleet.catalogue, groups)
        for tick in range(TICKS):
            last = _scrape(layout, mine[tick], tick)
            aggregator.take(last)
        slots.append((aggregator, last))
    while True:
        yield lambda: {name for aggregator, last in slots for name in _advised(fleet.catalogue, aggregator.take(last))}


def _layout(fleet: _Fleet, groups: Iterable[GroupId]) -> Layout:
    numbers = range(fleet.samples.shape[2])
    members = {
        group: (Member(name=_member(number), address="", counted=True) for number in numbers) for group in groups
    }
    return layout_for(fleet.catalogue, (Roster(group=group, members=tuple(own)) for group, own in members.items()))


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


def _rules(fleet: _Fleet, expression: str, end: float, pause: int) -> str:
    """A rule for each condition, as a file of rules is written; YAML takes JSON."""
    thresholds = {name: fleet.catalogue.conditions[ConditionId(name)].threshold for name in fleet.names}
    return _file(
        [_rule(expression.format(group=name, end=end), above, name) for name, above in thresholds.items()], pause
    )


def _rule_for_all(end: float, pause: int) -> str:
    return _file([_rule(f"avg by (group) (avg_over_time(cpu[5m] @ {end:.3f}))", 75.0)], pause)


def _rule(expression: str, threshold: float, group: GroupId | None = None) -> Mapping[str, object]:
    labels = {} if group is None else {"group": group}
    return {"alert": "High", "expr": f"{expression} > {threshold:g}", "labels": labels}


def _file(rules: Sequence[Mapping[str, object]], pause: int) -> str:
    return json.dumps({"groups": [{"name": "conditions", "interval": f"{pause}s", "rules": rules}]})


_AT_ONCE = 500
"""Groups in one request."""


def _store(server: Server, fleet: _Fleet, end: float) -> None:
    """Write all samples, the newest at ``end``."""
    times = [round((end - (TICKS - 1 - tick) * INTERVAL) * 1000) for tick in range(TICKS)]
    for first in range(0, len(fleet.names), _AT_ONCE):
        server.write(written(_series(fleet, range(first, min(first + _AT_ONCE, len(fleet.names)))), times))


def _series(fleet: _Fleet, groups: Iterable[int]) -> Iterator[Series]:
    for group in groups:
        for member in range(fleet.samples.shape[2]):
            labels = {"__name__": _CPU, "group": fleet.names[group], "member": _member(member)}
            yield labels, fleet.samples[:, group, member]
