"""How long the door takes per tick, one core: make the cells, evaluate, ask, decide and explain, as the daemon does."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from aggregator.aggregate import Aggregator
from aggregator.frames import Frame
from collector.samples import Layout, Reply, Scrape, Series
from config.counters import Counter, HaproxyField
from config.model import Adjustment, Catalogue, Compare, Condition, Group, Policy, Verb
from config.units import ConditionId, CounterId, GroupId, Instant, MemberName, Moment, Monotonic, PolicyId, ProfileId
from trigger.decide import decide
from trigger.evaluate import evaluate, requests_from
from trigger.explain import Explanation, explain
from trigger.requests import Fleet, GroupState
from trigger.shapes import shape
from trigger.words import say

GROUPS, MEMBERS = 10_000, 2
COUNTERS = ("cpu", "sessions")
INTERVAL = 30.0
ROUNDS = 7
FLEET = Fleet(listed=True, marked=10, in_service=10, creates_left=60, back_off_until=None)
STATE = GroupState(desired=10, revision=1)


def run() -> Iterable[tuple[str, float, str]]:
    """Measure the median tick of 10,000 groups x 2 policies x 2 conditions, and one group by itself."""
    catalogue = _catalogue()
    groups = tuple(catalogue.groups)
    layout = _layout(groups)
    for value, what in ((50.0, "nothing fires"), (95.0, "every group scales out")):
        aggregator, ticks = Aggregator(catalogue, groups), itertools.count()
        spent = [_tick(catalogue, aggregator.take(_scrape(layout, value, next(ticks)))) for _ in range(ROUNDS)]
        named = f"{GROUPS:,} groups x 4 conditions decided and explained, {what}"
        yield named, statistics.median(map(sum, spent)), "s"
        one = statistics.quantiles(spent[-1], n=100)
        yield "one group: median", 1e6 * one[49], "us"
        yield "one group: 99 of 100 within", 1e6 * one[98], "us"
    explanation = _one(catalogue, aggregator.take(_scrape(layout, value, next(ticks)))[groups[0]])
    began = time.process_time()
    for _ in range(1000):
        say(explanation, Instant(1e9))
    yield "one explanation in words", 1e3 * (time.process_time() - began), "us"


def _tick(catalogue: Catalogue, frames: Mapping[GroupId, Frame]) -> list[float]:
    """Decide every group as the daemon does; the seconds that each took. Cells are made as they are looked at."""
    spent = []
    for frame in frames.values():
        began = time.thread_time()
        shape(_one(catalogue, frame))
        spent.append(time.thread_time() - began)
    return spent


def _one(catalogue: Catalogue, frame: Frame) -> Explanation:
    declared = catalogue.groups[frame.group]
    evaluation = evaluate(catalogue, frame.group, frame, {}, frame.at)
    requests = requests_from(catalogue, evaluation)
    decision = decide(declared, requests, FLEET, STATE, frame.at, evaluation=evaluation)
    return explain(catalogue, declared, evaluation, decision, FLEET, STATE)


def _layout(groups: Sequence[GroupId]) -> Layout:
    series = [
        Series(group, CounterId(counter), MemberName(f"m{member}"))
        for group in groups
        for counter in COUNTERS
        for member in range(MEMBERS)
    ]
    return Layout(series=tuple(series), counted=np.ones(len(series), dtype=np.bool_))


def _scrape(layout: Layout, value: float, tick: int) -> Scrape:
    count, steady = len(layout.series), tick * INTERVAL
    return Scrape(
        layout=layout,
        at=Moment(wall=Instant(1e9 + steady), steady=Monotonic(steady)),
        value=np.full(count, value),
        replied_at=np.full(count, steady),
        uptime=np.full(count, np.nan),
        reply=np.full(count, Reply.OK, dtype=np.uint8),
    )


def _catalogue() -> Catalogue:
    conditions = [
        _condition(f"{name}-{compare.value}", name, compare, threshold)
        for name in COUNTERS
        for compare, threshold in ((Compare.ABOVE, 80.0), (Compare.BELOW, 30.0))
    ]
    policies = [
        _policy("out", Verb.ADD, ("cpu-above", "sessions-above")),
        _policy("in", Verb.REMOVE, ("cpu-below", "sessions-below")),
    ]
    groups = [
        Group(
            id=GroupId(f"group-{number:05}"),
            profile=ProfileId("small"),
            minimum=2,
            maximum=40,
            interval=INTERVAL,
            policies=tuple(policy.id for policy in policies),
        )
        for number in range(GROUPS)
    ]
    return Catalogue(
        digest="0" * 64,
        counters={CounterId(name): Counter(id=CounterId(name), source=HaproxyField(field=name)) for name in COUNTERS},
        conditions={condition.id: condition for condition in conditions},
        policies={policy.id: policy for policy in policies},
        clouds={},
        balancers={},
        profiles={},
        groups={group.id: group for group in groups},
        sites={},
    )


def _condition(id: str, counter: str, compare: Compare, threshold: float) -> Condition:
    return Condition(id=ConditionId(id), counter=CounterId(counter), window=60.0, compare=compare, threshold=threshold)


def _policy(id: str, verb: Verb, when: tuple[str, ...]) -> Policy:
    return Policy(
        id=PolicyId(id), when=tuple(map(ConditionId, when)), adjustment=Adjustment(verb=verb, amount=10, percent=True)
    )
