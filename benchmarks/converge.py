"""Ten thousand members from nothing, on a simulated cloud whose calls take 5 ms, and a pass over them at rest."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

from benchmarks.report.figures import Measured, at_most, once
from benchmarks.report.measuring import apart
from config.model.catalogue import Budget, Group, NoProgram, Profile, SimulatedCloud
from config.model.simulation import Behaviour, BootTime
from config.units import CloudId, GroupId, ProfileId
from handler.convergence.converge import Converger
from handler.convergence.passes import Pass
from handler.orchestrators.simulated.driver import SimulatedOrchestrator
from handler.planning.desired import Definition
from handler.ports.stored import StoredGroup
from handler.runtime import clock
from handler.store.sqlite import SqliteStore
from trigger.requests import GroupState

_MEMBERS = 10_000
_CALL = 0.005
_ROUNDS = 5
_SMALL = (10, 100)
"""The sizes before the large one: what a member costs must not grow with the fleet."""
INSTALLATION = "k3f9ab"
_WEB = GroupId("web")


def run(part: int = 1) -> Iterator[Measured]:
    """Measure in a process of its own, whose memory is only this."""
    yield from apart(_all, max(_MEMBERS // part, 1000))


def _all(members: int) -> tuple[Measured, ...]:
    return tuple(_measured(members))


def _measured(members: int) -> Iterator[Measured]:
    with tempfile.TemporaryDirectory(prefix="ttb") as place:
        store = SqliteStore.open(Path(place) / "store.sqlite", installation=INSTALLATION)
        definition = definition_of()
        converger = simulated(definition, store, Path(place))
        store.declare([definition], clock.wall())
        stored = replace(store.groups()[0], state=GroupState(desired=members, revision=1))
        yield from _grown(converger, stored, store, members)
        yield from _at_rest(converger, stored)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield once(f"memory of the process, at most, with {members:,} members", memory, "MiB")
        store.close()


def _grown(converger: Converger, stored: StoredGroup, store: SqliteStore, members: int) -> Iterator[Measured]:
    """Grow to a small size, to a middle one and to the large one, and compare what a member costs in each."""
    each = list[float]()
    for before, size in pairwise((*_SMALL, members)):
        grow(converger, stored, before)
        commits, began, cpu = store._writer.commits, time.perf_counter(), time.process_time()  # noqa: SLF001 counted there
        passes = grow(converger, stored, size)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        each.append(cpu / (size - before))
        job = f"from {before:,} members to {size:,}, calls of {_CALL * 1000:.0f} ms"
        yield once(job, wall, "s")
        yield once(f"{job}: our own processor time", cpu, "CPU-s", goal=at_most(12.0) if size == _MEMBERS else None)
        yield once(f"{job}: passes", passes, "")
        yield once(f"{job}: commits for each member", (store._writer.commits - commits) / (size - before), "")  # noqa: SLF001
    yield once("processor time a member, of the large step to the small one", each[-1] / each[0], "×")


def grow(converger: Converger, stored: StoredGroup, size: int) -> int:
    """Converge to a size; returns the passes that it took."""
    sized = replace(stored, state=replace(stored.state, desired=size))
    for passes in range(1, 30):
        if converger.run(sized).plan.converged:
            return passes
    raise RuntimeError(f"{size} members were not there after 30 passes")


def _at_rest(converger: Converger, stored: StoredGroup) -> Iterator[Measured]:
    took = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        done: Pass = converger.run(stored)
        took.append(time.perf_counter() - began)
        assert done.plan.converged
    job = f"a pass over {stored.state.desired:,} members at rest, the calls' 5 ms included"
    yield once(job, min(took) * 1000, "ms")


def definition_of() -> Definition:
    budget = Budget(outstanding=_MEMBERS, per_hour=_MEMBERS)
    behaviour = Behaviour(boot=BootTime(median=0.0, p95=0.0), call=_CALL)
    return Definition(
        group=Group(id=_WEB, profile=ProfileId("web"), minimum=0, maximum=_MEMBERS, budget=budget),
        profile=Profile(id=ProfileId("web"), cloud=CloudId("sim"), recipe=NoProgram()),
        cloud=SimulatedCloud(id=CloudId("sim"), behaviour=behaviour, budget=budget),
        balancers=MappingProxyType({}),
    )


def simulated(definition: Definition, store: SqliteStore, place: Path) -> Converger:
    """Return what makes passes on a simulated cloud that keeps its machines in a folder."""
    cloud = SimulatedOrchestrator(definition.cloud, INSTALLATION, place, clock.wall)  # type: ignore[arg-type]
    return Converger(
        installation=INSTALLATION,
        store=store,
        orchestrator_for=lambda _: cloud,
        balancer_for=_unused,
        probe=_unused,
        clock=clock.wall,
    )


def _unused(*_: object) -> NoReturn:
    raise AssertionError("there is no balancer and no probe here")
