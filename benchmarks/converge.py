"""Ten thousand members from nothing, on a simulated cloud whose calls take 5 ms, and a pass over them at rest.

Then 1,000 groups of four that each get one more member, by passes alone: what a decision costs is not in it.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

from collector.clients.concurrency import in_parallel
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
_GROUPS, _EACH, _PASSES = 1000, 4, 8
_INSTALLATION = "k3f9ab"
_WEB = GroupId("web")


def run(part: int = 1) -> Iterator[tuple[str, float, str]]:
    """Measure in a process of its own, whose memory is only this."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.converge", str(max(_MEMBERS // part, 1000)), str(_GROUPS // part)],
        stdout=subprocess.PIPE,
        text=True,
    ) as measuring:
        assert measuring.stdout is not None
        for line in measuring.stdout:
            what, figure, unit = line.rstrip("\n").split("\t")
            yield what, float(figure), unit
    assert measuring.returncode == 0


def _measured(members: int) -> Iterator[tuple[str, float, str]]:
    with tempfile.TemporaryDirectory(prefix="ttb") as place:
        store = SqliteStore.open(Path(place) / "store.sqlite", installation=_INSTALLATION)
        definition = _definition()
        cloud = SimulatedOrchestrator(definition.cloud, _INSTALLATION, Path(place), clock.wall)  # type: ignore[arg-type]
        converger = Converger(
            installation=_INSTALLATION,
            store=store,
            orchestrator_for=lambda _: cloud,
            balancer_for=_unused,
            probe=_unused,
            clock=clock.wall,
        )
        store.declare([definition], clock.wall())
        stored = replace(store.groups()[0], state=GroupState(desired=members, revision=1))
        yield from _grown(converger, stored, store, members)
        yield from _at_rest(converger, stored)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield f"memory of the process, at most, with {members:,} members", memory, "MiB"
        store.close()


def _many(groups: int) -> Iterator[tuple[str, float, str]]:
    """Let many groups grow by one member each, eight passes side by side."""
    with tempfile.TemporaryDirectory(prefix="ttb") as place:
        store = SqliteStore.open(Path(place) / "store.sqlite", installation=_INSTALLATION)
        one = _definition()
        named = [replace(one.group, id=GroupId(f"g{number}")) for number in range(groups)]
        definitions = [replace(one, group=group) for group in named]
        cloud = SimulatedOrchestrator(one.cloud, _INSTALLATION, Path(place), clock.wall)  # type: ignore[arg-type]
        converger = Converger(
            installation=_INSTALLATION,
            store=store,
            orchestrator_for=lambda _: cloud,
            balancer_for=_unused,
            probe=_unused,
            clock=clock.wall,
        )
        store.declare(definitions, clock.wall())
        stored = store.groups()
        _all_grown(converger, stored, _EACH)
        cpu = time.process_time()
        _all_grown(converger, stored, _EACH + 1)
        spent = time.process_time() - cpu
        yield f"{groups:,} groups of {_EACH} grow by one: passes, a group", 1000 * spent / groups, "CPU-ms"
        store.close()


def _all_grown(converger: Converger, groups: Sequence[StoredGroup], size: int) -> None:
    sized = [replace(each, state=GroupState(desired=size, revision=size)) for each in groups]
    in_parallel([partial(_grow, converger, each, size) for each in sized], _PASSES)


def _grown(
    converger: Converger, stored: StoredGroup, store: SqliteStore, members: int
) -> Iterator[tuple[str, float, str]]:
    """Grow to a small size, to a middle one and to the large one, and compare what a member costs in each."""
    each = list[float]()
    for before, size in pairwise((*_SMALL, members)):
        _grow(converger, stored, before)
        commits, began, cpu = store._writer.commits, time.perf_counter(), time.process_time()  # noqa: SLF001 counted there
        passes = _grow(converger, stored, size)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        each.append(cpu / (size - before))
        yield f"from {before:,} members to {size:,}, calls of {_CALL * 1000:.0f} ms", wall, "s"
        yield "  our own processor time for that", cpu, "CPU-s"
        yield "  passes", passes, ""
        yield "  commits for each member", (store._writer.commits - commits) / (size - before), ""  # noqa: SLF001
    yield "processor time a member, of the large step to the small one", each[-1] / each[0], "x"


def _grow(converger: Converger, stored: StoredGroup, size: int) -> int:
    """Converge to a size; returns the passes that it took."""
    sized = replace(stored, state=replace(stored.state, desired=size))
    for passes in range(1, 30):
        if converger.run(sized).plan.converged:
            return passes
    raise RuntimeError(f"{size} members were not there after 30 passes")


def _at_rest(converger: Converger, stored: StoredGroup) -> Iterator[tuple[str, float, str]]:
    took = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        done: Pass = converger.run(stored)
        took.append(time.perf_counter() - began)
        assert done.plan.converged
    yield f"a pass over {stored.state.desired:,} members at rest, the calls' 5 ms included", min(took) * 1000, "ms"


def _definition() -> Definition:
    budget = Budget(outstanding=_MEMBERS, per_hour=_MEMBERS)
    behaviour = Behaviour(boot=BootTime(median=0.0, p95=0.0), call=_CALL)
    return Definition(
        group=Group(id=_WEB, profile=ProfileId("web"), minimum=0, maximum=_MEMBERS, budget=budget),
        profile=Profile(id=ProfileId("web"), cloud=CloudId("sim"), recipe=NoProgram()),
        cloud=SimulatedCloud(id=CloudId("sim"), behaviour=behaviour, budget=budget),
        balancers=MappingProxyType({}),
    )


def _unused(*_: object) -> NoReturn:
    raise AssertionError("there is no balancer and no probe here")


if __name__ == "__main__":
    for figure in chain(_measured(int(sys.argv[1])), _many(int(sys.argv[2]))):
        print(*figure, sep="\t", flush=True)
