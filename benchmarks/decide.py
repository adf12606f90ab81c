"""What decisions cost in the daemon: its slots, its decision queue and its store, for 10,000 groups of 4 conditions.

A tick goes all the way: samples that have arrived, windows, conditions, requests, decision, explanation, one durable
write. Members answer from memory, so no time is spent on a network.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.beside import slots
from config.model.catalogue import Adjustment, AdjustmentVerb, Catalogue, Compare, Condition, Group, Policy
from config.model.counters import Counter, HaproxyField
from config.units import ConditionId, CounterId, GroupId, Instant, PolicyId, ProfileId
from trigger.explain.words import say

GROUPS, MEMBERS = 10_000, 2
COUNTERS = ("cpu", "sessions")
INTERVAL = 30.0
ROUNDS = 5
_WORDS = 1000


def run(part: int = 1) -> Iterator[tuple[str, float, str]]:
    """Measure the median tick of all groups, when nothing fires and when every group scales out."""
    groups, members = GROUPS // part, MEMBERS
    catalogue = _catalogue(groups)
    with tempfile.TemporaryDirectory(prefix="ttb") as place, slots.running(catalogue, members, Path(place)) as daemon:
        for value, what in ((50.0, "nothing fires"), (95.0, "every group scales out")):
            spent = [daemon.tick(_all_answer(value), INTERVAL) for _ in range(ROUNDS + 2)][2:]  # two fill the windows
            middle = statistics.median(spent)
            yield f"{groups:,} groups x 4 conditions, samples to stored decisions, {what}", middle, "CPU-s"
            yield "  each group", 1e6 * middle / groups, "CPU-us"
        sizes = {runtime.state.desired for runtime in daemon.runtimes.values()}
        assert min(size or 0 for size in sizes) > members, "every group was to scale out"
        yield "  memory of groups, windows and explanations", daemon.memory(), "MiB"
        yield "  slots", daemon.count, ""
        told = next(iter(daemon.runtimes.values())).explanation
        assert told is not None
        began = time.process_time()
        for _ in range(_WORDS):
            say(told, Instant(slots.START))
        yield "one explanation in words", 1e6 / _WORDS * (time.process_time() - began), "CPU-us"


def _all_answer(value: float) -> slots.Values:
    return lambda layout: np.full(len(layout.series), value)


def _catalogue(count: int) -> Catalogue:
    conditions = [
        _condition(f"{name}-{compare.value}", name, compare, threshold)
        for name in COUNTERS
        for compare, threshold in ((Compare.ABOVE, 80.0), (Compare.BELOW, 30.0))
    ]
    policies = [
        _policy("out", AdjustmentVerb.ADD, ("cpu-above", "sessions-above")),
        _policy("in", AdjustmentVerb.REMOVE, ("cpu-below", "sessions-below")),
    ]
    groups = [
        Group(
            id=GroupId(f"group-{number:05}"),
            profile=ProfileId("small"),
            minimum=2,
            maximum=1000,
            interval=INTERVAL,
            policies=tuple(policy.id for policy in policies),
        )
        for number in range(count)
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


def _policy(id: str, verb: AdjustmentVerb, when: tuple[str, ...]) -> Policy:
    return Policy(
        id=PolicyId(id),
        when=tuple(map(ConditionId, when)),
        adjustment=Adjustment(verb=verb, amount=10, percent=True),
        quiet_time=0.0,
    )
