"""How long the planner takes for a group of ten thousand members."""

from __future__ import annotations

import time
from collections.abc import Iterable
from types import MappingProxyType

from config.model import BalancerUse, Group, HaproxyBalancer, ProcessCloud, ProcessRecipe, Profile, ReadyProbe
from config.units import BalancerId, CloudId, GroupId, Instant, ProfileId
from handler.desired import Definition, DesiredState, Limits
from handler.launches import LaunchId
from handler.planning import plan
from handler.world import Leaving, Member, Phase, Record, Seat, Seating, SeatState, Server, ServerState, World

_MEMBERS = 10_000
_ROUNDS = 5
_NOW = Instant(1_700_000_000.0)
_EDGE = BalancerId("edge")
_WEB = GroupId("web")


def run() -> Iterable[tuple[str, float, str]]:
    """Yield (what was measured, the best of five rounds, unit)."""
    definition = _definition()
    converged = _world(leaving=0)
    yield f"plan, {_MEMBERS} members, converged", _measured(converged, definition, _MEMBERS), "ms"
    yield f"plan, {_MEMBERS} members, choosing half to leave", _measured(converged, definition, _MEMBERS // 2), "ms"
    shrinking = _world(leaving=_MEMBERS // 2)
    yield f"plan, {_MEMBERS} members, half of them leaving", _measured(shrinking, definition, _MEMBERS // 2), "ms"


def _measured(world: World, definition: Definition, size: int) -> float:
    desired = DesiredState(size=size, revision=1)
    limits = Limits(creates=10, back_off_until=None)
    best = float("inf")
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        plan(desired, world, definition, limits, _NOW)
        best = min(best, time.perf_counter() - begun)
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


def _world(*, leaving: int) -> World:
    members = tuple(_member(sequence, leaving=sequence <= leaving) for sequence in range(1, _MEMBERS + 1))
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
        address="10.0.0.1",
        created_at=past,
        raw_state="ACTIVE",
    )
    return Member(name=name, record=record, server=server, disproved=False, ready=None)
