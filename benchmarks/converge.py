"""Ten thousand members from nothing, on a simulated cloud whose calls take 5 ms, and a pass over them at rest."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

from config.model import Budget, Group, NoProgram, Profile, SimulatedCloud
from config.simulation import Behaviour, BootTime
from config.units import CloudId, GroupId, ProfileId
from handler.app import clock
from handler.converge import Converger
from handler.desired import Definition
from handler.orchestrators.simulated import SimulatedOrchestrator
from handler.passes import Pass
from handler.store.interface import StoredGroup
from handler.store.sqlite import SqliteStore
from trigger.requests import GroupState

_MEMBERS = 10_000
_CALL = 0.005
_ROUNDS = 5
_BESIDE_HEAT = (10, 100)
_OF_HEAT = 100.8
"""Seconds that Heat 19 takes on two cores at rest, for members that are nothing (``OS::Heat::None``): all of it is its
own."""
_INSTALLATION = "k3f9ab"
_WEB = GroupId("web")


def run() -> Iterator[tuple[str, float, str]]:
    """Measure in a process of its own, whose memory is only this."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.converge"], stdout=subprocess.PIPE, text=True
    ) as measuring:
        assert measuring.stdout is not None
        for line in measuring.stdout:
            what, figure, unit = line.rstrip("\n").split("\t")
            yield what, float(figure), unit
    assert measuring.returncode == 0


def _measured() -> Iterator[tuple[str, float, str]]:
    with tempfile.TemporaryDirectory(prefix="ttb") as place:
        store = SqliteStore.open(Path(place) / "store.sqlite", installation=_INSTALLATION)
        definition = _definition()
        cloud = SimulatedOrchestrator(definition.cloud, _INSTALLATION, Path(place), clock.wall)  # type: ignore[arg-type]
        converger = Converger(
            installation=_INSTALLATION,
            store=store,
            orchestrator_for=lambda _: cloud,
            balancer_for=_nobody,
            probe=_nobody,
            clock=clock.wall,
        )
        store.declare([definition], clock.wall())
        stored = replace(store.groups()[0], state=GroupState(desired=_MEMBERS, revision=1))
        yield from _beside_heat(converger, stored)
        yield from _grown(converger, stored, store)
        yield from _at_rest(converger, stored)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield f"memory of the process, at most, with {_MEMBERS:,} members", memory, "MiB"
        store.close()


def _grown(converger: Converger, stored: StoredGroup, store: SqliteStore) -> Iterator[tuple[str, float, str]]:
    commits, calls, passes = store._writer.commits, 0, 0  # noqa: SLF001 what is counted is its own affair
    wall, cpu = time.perf_counter(), time.process_time()
    while not (done := converger.run(stored)).plan.converged:
        calls += len(done.outcomes)
        passes += 1
        assert passes < 20, done.messages
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    yield f"{_MEMBERS:,} members from {_BESIDE_HEAT[1]}, calls of {_CALL * 1000:.0f} ms", wall, "s"
    yield "our own processor time for that", cpu, "s"
    yield "passes", passes, ""
    yield "commits for each member", (store._writer.commits - commits) / _MEMBERS, ""  # noqa: SLF001


def _beside_heat(converger: Converger, stored: StoredGroup) -> Iterator[tuple[str, float, str]]:
    """From 10 members to 100, whose machines cost calls; the measure is how many times longer Heat takes."""
    for size in _BESIDE_HEAT:
        began = time.perf_counter()
        sized = replace(stored, state=replace(stored.state, desired=size))
        while not converger.run(sized).plan.converged:
            pass
    took = time.perf_counter() - began
    yield "from {} members to {}, calls of 5 ms".format(*_BESIDE_HEAT), took, "s"
    yield f"Heat takes for that, without any calls, {_OF_HEAT} s: times as long", _OF_HEAT / took, ""


def _at_rest(converger: Converger, stored: StoredGroup) -> Iterator[tuple[str, float, str]]:
    took = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        done: Pass = converger.run(stored)
        took.append(time.perf_counter() - began)
        assert done.plan.converged
    yield f"a pass over {_MEMBERS:,} members at rest, the calls' 5 ms included", min(took) * 1000, "ms"


def _definition() -> Definition:
    budget = Budget(outstanding=_MEMBERS, per_hour=_MEMBERS)
    behaviour = Behaviour(boot=BootTime(median=0.0, p95=0.0), call=_CALL)
    return Definition(
        group=Group(id=_WEB, profile=ProfileId("web"), minimum=0, maximum=_MEMBERS, budget=budget),
        profile=Profile(id=ProfileId("web"), cloud=CloudId("sim"), recipe=NoProgram()),
        cloud=SimulatedCloud(id=CloudId("sim"), behaviour=behaviour, budget=budget),
        balancers=MappingProxyType({}),
    )


def _nobody(*_: object) -> NoReturn:
    raise AssertionError("nobody is balanced or probed here")


if __name__ == "__main__":
    for figure in _measured():
        print(*figure, sep="\t", flush=True)
