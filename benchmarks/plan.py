"""How long the planner takes for ten thousand members and for a million, and gathering before it."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType
from typing import Any

from config.gc_pause import uncollected
from config.model.balancers import HaproxyBalancer
from config.model.catalogue import BalancerUse, Group, ProcessCloud, ProcessRecipe, Profile, ReadyProbe
from config.units import BalancerId, CloudId, GroupId, Instant, MemberName, ProfileId
from handler.convergence.converge import Converger
from handler.convergence.sightings import READY
from handler.planning.desired import Definition, DesiredState, Limits
from handler.planning.launches import LaunchId
from handler.planning.plan import plan
from handler.planning.world import (
    Leaving,
    Listing,
    Member,
    Phase,
    Record,
    Seat,
    Seating,
    SeatState,
    Server,
    ServerState,
    World,
)
from handler.ports.orchestrator import Launch
from handler.store.sqlite import SqliteStore
from trigger.requests import GroupState

_MEMBERS = 10_000
_MANY = 1_000_000
_ROUNDS = 5
_NOW = Instant(1_700_000_000.0)
_EDGE = BalancerId("edge")
_WEB = GroupId("web")


def run(part: int = 1) -> Iterable[tuple[str, float, str]]:
    """Yield (what was measured, the best of some rounds, unit).

    Planning is told in time of the processor, gathering on the clock; memory is of a whole process with its world.
    """
    definition, some, many = _definition(), _MEMBERS // part, _MANY // part
    converged = _world(some)
    yield f"plan, {some:,} members, converged", _measured(converged, definition, some), "ms"
    yield f"plan, {some:,} members, choosing half to leave", _measured(converged, definition, some // 2), "ms"
    shrinking = _world(some, leaving=some // 2)
    yield f"plan, {some:,} members, half of them leaving", _measured(shrinking, definition, some // 2), "ms"
    yield f"gather and plan, {some:,} members, converged", _gathered(converged, definition), "ms"
    for case in _LARGE:
        took, peak = _apart(case, many)
        yield f"plan, {many:,} members, {case}", took, "s"
        yield "  its process at most, world and all", peak, "MiB"


_LARGE: dict[str, tuple[float, float]] = {
    "converged": (0.0, 1.0),
    "one in a hundred leaving": (0.01, 1.0),
    "choosing half to leave": (0.0, 0.5),
    "half of them leaving": (0.5, 0.5),
}
"""What is going on: the share of members that leave already, and the share that is desired."""


def _apart(case: str, members: int) -> tuple[float, float]:
    """Plan a large world in a process of its own: seconds, and MiB at most."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_large, case, members).result()


def _large(case: str, members: int) -> tuple[float, float]:
    leaving, size = (round(share * members) for share in _LARGE[case])
    world = _world(members, leaving=leaving)
    took = _measured(world, _definition(), size, rounds=1) / 1000
    return took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@dataclass
class _Cloud:
    """Answers at once, as if nothing had to be read."""

    world: World

    def list(self, _: GroupId) -> Listing:
        return Listing(servers=tuple(m.server for m in self.world.members if m.server is not None), complete=True)

    def find(self, name: MemberName) -> Server | None:
        raise AssertionError(name)

    def create(self, launch: Launch) -> Server:
        raise AssertionError(launch)

    def destroy(self, name: MemberName, *, grace: float) -> None:
        raise AssertionError(name, grace)


@dataclass
class _Edge(_Cloud):
    def seats(self) -> Mapping[MemberName, Seat]:
        return self.world.seatings[_EDGE].seats or {}


def _gathered(world: World, definition: Definition) -> float:
    """Gather from a store on disk, and from a cloud and a balancer that answer at once; and plan."""
    with tempfile.TemporaryDirectory() as directory:
        store = SqliteStore.open(Path(directory) / "bench.sqlite", installation="k3f9ab")
        store.declare([definition], _NOW)
        store.save([member.record for member in world.members if member.record is not None], CloudId("box"))
        edge: Any = _Edge(world)
        cloud: Any = _Cloud(world)
        converger = Converger(
            installation="k3f9ab",
            store=store,
            orchestrator_for=lambda _: cloud,
            balancer_for=lambda _: edge,
            probe=lambda _, __: READY,
            clock=lambda: _NOW,
        )
        stored = replace(store.groups()[0], state=GroupState(desired=len(world.members), revision=1))
        best = float("inf")
        for _ in range(_ROUNDS):
            begun = time.perf_counter()
            if not converger.dry_run(stored).converged:
                raise RuntimeError("the world was not gathered as it is")
            best = min(best, time.perf_counter() - begun)
        store.close()
    return best * 1000


def _measured(world: World, definition: Definition, size: int, rounds: int = _ROUNDS) -> float:
    desired = DesiredState(size=size, revision=1)
    limits = Limits(creates=10, back_off_until=None)
    best = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        with uncollected(len(world.members)):  # as a pass plans
            plan(desired, world, definition, limits, _NOW)
        best = min(best, time.process_time() - begun)
    return best * 1000


def _definition() -> Definition:
    return Definition(
        group=Group(
            id=_WEB,
            profile=ProfileId("web"),
            balancers=(BalancerUse(balancer=_EDGE, port=8080),),
            minimum=0,
            maximum=_MEMBERS,
        ),
        profile=Profile(
            id=ProfileId("web"),
            cloud=CloudId("box"),
            recipe=ProcessRecipe(command=("serve",)),
            ready=ReadyProbe(path="/healthz", port=8080, within=300.0),
        ),
        cloud=ProcessCloud(id=CloudId("box")),
        balancers=MappingProxyType({_EDGE: HaproxyBalancer(id=_EDGE, socket="/run/haproxy.sock", backend="web")}),
    )


def _world(size: int, *, leaving: int = 0) -> World:
    members = tuple(_member(sequence, leaving=sequence <= leaving) for sequence in range(1, size + 1))
    seats = {member.name: Seat(member=member.name, state=SeatState.SERVING, connections=3) for member in members}
    return World(
        group=_WEB,
        at=_NOW,
        complete=True,
        because="",
        members=members,
        seatings={_EDGE: Seating(seats=seats)},
    )


def _member(sequence: int, *, leaving: bool) -> Member:
    name = LaunchId(installation="k3f9ab", group=_WEB, sequence=sequence).name
    past = Instant(_NOW - 3600)
    record = Record(
        name=name,
        group=_WEB,
        sequence=sequence,
        phase=Phase.LEAVING if leaving else Phase.IN_SERVICE,
        intended_at=past,
        made_at=past,
        in_service_at=past,
        balancers=((_EDGE, 8080),),
        leaving=Leaving.SURPLUS if leaving else None,
        leaving_at=_NOW if leaving else None,
    )
    server = Server(
        name=name,
        id=str(sequence),
        state=ServerState.RUNNING,
        address=f"10.{sequence >> 16}.{sequence >> 8 & 255}.{sequence & 255}",
        created_at=Instant(past - sequence),
        raw_state="ACTIVE",
    )
    return Member(name=name, record=record, server=server, disproved=False, ready=None)
