"""Builders of worlds, members and definitions, with defaults for everything that a test does not care about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from config.model.balancers import HaproxyBalancer
from config.model.catalogue import BalancerUse, Group, ProcessCloud, ProcessRecipe, Profile, ReadyProbe
from config.model.parts import MemberPart, NetworkPort, OnDelete, Volume
from config.units import BalancerId, CloudId, GroupId, Instant, MemberName, PartName, ProfileId
from handler.planning.desired import Definition, DesiredState, Limits
from handler.planning.launches import LaunchId
from handler.planning.world import (
    BalancerView,
    Health,
    Leaving,
    Member,
    Phase,
    Record,
    Registration,
    RegistrationState,
    Server,
    ServerState,
    World,
)
from handler.ports.stored import StoredGroup
from trigger.requests import GroupState

NOW = Instant(1_700_000_000.0)
INSTALLATION = "k3f9ab"
WEB = GroupId("web")
EDGE = BalancerId("edge")
PROBE = ReadyProbe(path="/healthz", port=8080, within=300.0)

FRONT = MemberPart(name=PartName("front"), spec=NetworkPort(network="web"))
DATA = MemberPart(name=PartName("data"), spec=Volume(size=20 << 30), on_delete=OnDelete.RETAIN)


def name_of(sequence: int, *, group: GroupId = WEB, installation: str = INSTALLATION) -> MemberName:
    return LaunchId(installation=installation, group=group, sequence=sequence).name


def a_definition(
    *,
    balancers: Iterable[BalancerId] = (EDGE,),
    ready: ReadyProbe | None = PROBE,
    parts: tuple[MemberPart, ...] = (),
    **group: Any,
) -> Definition:
    uses = tuple(balancers)
    declared = {balancer: HaproxyBalancer(id=balancer, socket="/run/x.sock", backend="web") for balancer in uses}
    defaults: dict[str, Any] = {"minimum": 0, "maximum": 100}
    return Definition(
        group=Group(
            id=WEB,
            profile=ProfileId("web"),
            balancers=tuple(BalancerUse(balancer=balancer, port=8080) for balancer in uses),
            **{**defaults, **group},
        ),
        profile=Profile(
            id=ProfileId("web"),
            cloud=CloudId("box"),
            recipe=ProcessRecipe(command=("serve",)),
            ready=ready,
            parts=parts,
        ),
        cloud=ProcessCloud(id=CloudId("box")),
        balancers=MappingProxyType(declared),
    )


def a_record(sequence: int = 1, phase: Phase = Phase.IN_SERVICE, **changes: Any) -> Record:
    """A record with the instants that its phase implies, all an hour ago."""
    past = Instant(NOW - 3600)
    is_made, has_served = phase is not Phase.INTENDED, phase in {Phase.IN_SERVICE, Phase.LEAVING}
    record = Record(
        name=name_of(sequence),
        group=WEB,
        sequence=sequence,
        phase=phase,
        intended_at=past,
        server_id=f"id-{sequence}" if is_made else None,
        made_at=past if is_made else None,
        in_service_at=past if has_served else None,
        balancers=((EDGE, 8080),),
        leaving=Leaving.SURPLUS if phase is Phase.LEAVING else None,
        leaving_at=past if phase is Phase.LEAVING else None,
    )
    return replace(record, **changes)


def a_server(sequence: int = 1, state: ServerState = ServerState.RUNNING, **changes: Any) -> Server:
    server = Server(
        name=name_of(sequence),
        id=f"id-{sequence}",
        state=state,
        address=f"127.0.1.{sequence % 250 + 1}",
        created_at=Instant(NOW - 3600),
        raw_state=state.value,
    )
    return replace(server, **changes)


def a_member(
    sequence: int = 1,
    phase: Phase | None = Phase.IN_SERVICE,
    state: ServerState | None = ServerState.RUNNING,
    *,
    disproved: bool = False,
    ready: bool | None = None,
    **record: Any,
) -> Member:
    """A member; ``phase`` ``None``: not in the store; ``state`` ``None``: not on the listing."""
    return Member(
        name=name_of(sequence),
        record=None if phase is None else a_record(sequence, phase, **record),
        server=None if state is None else a_server(sequence, state),
        disproved=disproved,
        ready=ready,
    )


def a_registration(
    sequence: int = 1,
    state: RegistrationState = RegistrationState.SERVING,
    connections: int | None = None,
    health: Health | None = None,
) -> Registration:
    return Registration(member=name_of(sequence), state=state, connections=connections, health=health)


def a_world(
    *members: Member,
    registrations: Iterable[Registration] | None = (),
    complete: bool = True,
    balancer_views: Mapping[BalancerId, BalancerView] | None = None,
) -> World:
    """A world of one balancer, ``EDGE``, with ``registrations`` (``None``: it cannot be read)."""
    edge = BalancerView(
        registrations=None
        if registrations is None
        else {registration.member: registration for registration in registrations},
        because="",
    )
    return World(
        group=WEB,
        at=NOW,
        complete=complete,
        because="" if complete else "half of it timed out",
        members=members,
        balancer_views={EDGE: edge} if balancer_views is None else balancer_views,
    )


def a_fleet(size: int) -> World:
    """``size`` members in service, all as they should be."""
    numbers = range(1, size + 1)
    return a_world(
        *(a_member(number) for number in numbers), registrations=[a_registration(number) for number in numbers]
    )


def desired(size: int | None, *, deleting: bool = False) -> DesiredState:
    return DesiredState(size=size, revision=7, deleting=deleting)


def limits(**changes: Any) -> Limits:
    return replace(Limits(creates=10, back_off_until=None), **changes)


def a_group(size: int | None, definition: Definition | None = None, **changes: Any) -> StoredGroup:
    definition = a_definition() if definition is None else definition
    group = StoredGroup(
        id=definition.group.id,
        state=GroupState(desired=size, revision=7),
        definition=definition,
        deleting=False,
        failed_builds=0,
        back_off_until=None,
    )
    return replace(group, **changes)
