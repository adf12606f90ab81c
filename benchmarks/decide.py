"""What decisions cost in the daemon: its slots, its decision queue and its store, for 10,000 groups of 4 conditions.

A tick goes all the way: samples that have arrived, windows, conditions, requests, decision, explanation, one durable
write. Members answer from memory, so no time is spent on a network.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np

from benchmarks.beside import slots
from benchmarks.report.figures import Figure, Measured, at_most, once
from config.model.catalogue import (
    Adjustment,
    AdjustmentVerb,
    Budget,
    Catalogue,
    Compare,
    Condition,
    Group,
    NoProgram,
    Policy,
    Profile,
    SimulatedCloud,
)
from config.model.counters import Counter, HaproxyField
from config.model.simulation import Behaviour, BootTime
from config.units import CloudId, ConditionId, CounterId, GroupId, Instant, PolicyId, ProfileId
from handler.convergence.converge import Converger
from handler.orchestrators.simulated.driver import SimulatedOrchestrator
from handler.planning.desired import Definition
from handler.runtime import clock
from trigger.explain.words import say

GROUPS, MEMBERS = 10_000, 2
COUNTERS = ("cpu", "sessions")
INTERVAL = 30.0
ROUNDS = 5
BREACHING = 1000
_WORDS = 1000
_BUDGET = Budget(outstanding=10**6, per_hour=10**6)
_CLOUD = SimulatedCloud(
    id=CloudId("sim"), behaviour=Behaviour(boot=BootTime(median=0.0, p95=0.0), call=0.0), budget=_BUDGET
)


def run(part: int = 1) -> Iterator[Measured]:
    """Measure ticks of all groups, and what groups cost that breach at once."""
    yield from _ticks(GROUPS // part)
    yield from _breach(BREACHING // part)


def _ticks(groups: int) -> Iterator[Measured]:
    catalogue = catalogue_of(groups)
    with tempfile.TemporaryDirectory(prefix="ttb") as place, slots.running(catalogue, MEMBERS, Path(place)) as daemon:
        for value, what, goal in ((50.0, "nothing fires", 0.3), (95.0, "every group scales out", 1.0)):
            spent = [daemon.tick(all_answer(value), INTERVAL) for _ in range(ROUNDS + 3)][3:]  # windows fill meanwhile
            job = f"{groups:,} groups x 4 conditions, samples to stored decisions, {what}"
            yield Figure(job=job, unit="CPU-s", samples=tuple(spent), goal=at_most(goal * groups / GROUPS))
            yield Figure(job=f"  each group, {what}", unit="CPU-us", samples=_each(spent, groups))
        sizes = {runtime.state.desired for runtime in daemon.runtimes.values()}
        assert min(size or 0 for size in sizes) > MEMBERS, "every group was to scale out"
        yield once("  memory of groups, windows and explanations", daemon.memory(), "MiB")
        yield once("  slots", daemon.count, "")
        explanation = next(iter(daemon.runtimes.values())).explanation
        assert explanation is not None
        words = cpu_of(lambda: [say(explanation, Instant(slots.START)) for _ in range(_WORDS)])
        yield once("one explanation in words", 1e6 * words / _WORDS, "CPU-us")


def _breach(groups: int) -> Iterator[Measured]:
    """Let all groups breach at one tick: to the stored decisions, and on to one pass each on a simulated cloud."""
    catalogue = catalogue_of(groups)
    with tempfile.TemporaryDirectory(prefix="ttb") as place, slots.running(catalogue, MEMBERS, Path(place)) as daemon:
        for runtime in daemon.runtimes.values():
            runtime.definition = _simulated(runtime.definition)
        cloud = SimulatedOrchestrator(_CLOUD, slots.INSTALLATION, Path(place), clock.wall)
        converger = Converger(
            installation=slots.INSTALLATION,
            store=daemon.store,
            orchestrator_for=lambda _: cloud,
            balancer_for=_unused,
            probe=_unused,
            clock=clock.wall,
        )
        for runtime in daemon.runtimes.values():
            converger.run(runtime.stored())
        for _ in range(3):
            daemon.tick(all_answer(50.0), INTERVAL)
        decided = [daemon.tick(all_answer(95.0), INTERVAL) for _ in range(2)]  # of a window of two ticks, both
        passes = cpu_of(lambda: [converger.run(runtime.stored()) for runtime in daemon.runtimes.values()])
        assert {runtime.state.desired for runtime in daemon.runtimes.values()} == {MEMBERS + 1}, (
            "every group was to breach"
        )
        job = f"{groups:,} groups that breach at once, each:"
        yield once(f"{job} to the stored decision", 1e3 * max(decided) / groups, "CPU-ms")
        yield once(f"{job} one pass on a simulated cloud, with one create", 1e3 * passes / groups, "CPU-ms")
        yield once(f"{job} both", 1e3 * (max(decided) + passes) / groups, "CPU-ms", goal=at_most(3.0))


def _simulated(definition: Definition) -> Definition:
    profile = Profile(id=definition.profile.id, cloud=_CLOUD.id, recipe=NoProgram())
    return replace(definition, profile=profile, cloud=_CLOUD)


def _unused(*_: object) -> NoReturn:
    raise AssertionError("there is no balancer and no probe here")


def _each(spent: Sequence[float], groups: int) -> tuple[float, ...]:
    return tuple(1e6 * seconds / groups for seconds in spent)


def cpu_of(call: Callable[[], object]) -> float:
    """Return the processor seconds of a call, of all threads."""
    began = time.process_time()
    call()
    return time.process_time() - began


def all_answer(value: float) -> slots.Values:
    """Let every member answer this to everything."""
    return lambda layout: np.full(len(layout.series), value)


def catalogue_of(count: int) -> Catalogue:
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
