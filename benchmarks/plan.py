"""What planning costs for ten thousand members and for a million, and gathering before it.

Memory is that of a whole process with its world: records, machines, registrations and the plan.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.report.figures import Figure, Measured, at_most
from benchmarks.report.measuring import Cost, apart, processor_figure, rounds
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
    BalancerView,
    Leaving,
    Listing,
    Member,
    Phase,
    Record,
    Registration,
    RegistrationState,
    Server,
    ServerState,
    World,
)
from handler.ports.orchestrator import Launch
from handler.store.sqlite import SqliteStore
from trigger.requests import GroupState

_MEMBERS = 10_000
MANY = 1_000_000
_NOW = Instant(1_700_000_000.0)
_EDGE = BalancerId("edge")
_WEB = GroupId("web")
_BALANCERS = ((_EDGE, 8080),)
"""One value for all members, as the store has it: what it reads or makes under equal documents is shared."""


def run(part: int = 1) -> Iterator[Measured]:
    """Measure gathering and planning of a small world, then planning of a large one in a process of its own."""
    some, many = _MEMBERS // part, MANY // part
    yield processor_figure(f"gather and plan, {some:,} members, converged", _gathered(_world(some), _definition()))
    for case in CASES:
        yield processor_figure(f"plan, {some:,} members, {case}", planned(case, some))
    costs = apart(planned, LEAVING, many)
    figure = processor_figure(f"plan, {many:,} members, {LEAVING}", costs, goal=at_most(2.0))
    yield figure
    job = f"{figure.job}: its process at most, world and all"
    yield Figure(job=job, unit="MiB", samples=figure.memory, goal=at_most(700.0))


LEAVING = "half of them leaving"
CASES = {"converged": (0.0, 1.0), "choosing half to leave": (0.0, 0.5), LEAVING: (0.5, 0.5)}
"""What is going on: the share of members that leave already, and the share that is desired."""


def planned(case: str, members: int) -> tuple[Cost, ...]:
    """Plan for a world of so many members, in rounds."""
    leaving, size = (round(share * members) for share in CASES[case])
    world, definition = _world(members, leaving=leaving), _definition()
    desired, limits = DesiredState(size=size, revision=1), Limits(creates=10, back_off_until=None)

    def once_more() -> None:
        with uncollected(members):  # as a pass plans
            plan(desired, world, definition, limits, _NOW)

    return rounds(once_more)


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
    def registrations(self) -> Mapping[MemberName, Registration]:
        return self.world.balancer_views[_EDGE].registrations or {}


def _gathered(world: World, definition: Definition) -> tuple[Cost, ...]:
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

        def once_more() -> None:
            if not converger.dry_run(stored).converged:
                raise RuntimeError("the world was not gathered as it is")

        costs = rounds(once_more)
        store.close()
    return costs


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
    registrations = {
        member.name: Registration(member=member.name, state=RegistrationState.SERVING, connections=3)
        for member in members
    }
    return World(
        group=_WEB,
        at=_NOW,
        complete=True,
        because="",
        members=members,
        balancer_views={_EDGE: BalancerView(registrations=registrations)},
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
        balancers=_BALANCERS,
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
