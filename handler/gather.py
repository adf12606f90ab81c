"""Gathers the world of one group: what its cloud lists, its balancers seat, its members answer, and we remember."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from functools import partial

from config.errors import DriverError
from config.model import Balancer as DeclaredBalancer
from config.model import Cloud, ReadyProbe
from config.units import BalancerId, GroupId, Instant, MemberName
from handler.abreast import abreast
from handler.balancers.interface import Balancer
from handler.desired import Definition
from handler.launches import LaunchId
from handler.orchestrators.interface import Orchestrator
from handler.roles import sequence_of
from handler.store.interface import Store
from handler.world import (
    Listing,
    Member,
    Phase,
    Record,
    Seating,
    SeatState,
    Server,
    ServerState,
    World,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gatherer:
    """Looks, and changes nothing."""

    installation: str
    store: Store
    orchestrator_for: Callable[[Cloud], Orchestrator]
    balancer_for: Callable[[DeclaredBalancer], Balancer]
    probe: Callable[[str, ReadyProbe], bool]
    clock: Callable[[], Instant]
    workers: int

    def gather(self, group: GroupId, definition: Definition) -> World:
        """Look once. A cloud or balancer that does not answer makes the world incomplete, never an exception.

        Raises:
            StoreError: what we remember cannot be read.
        """
        at = self.clock()
        orchestrator = self.orchestrator_for(definition.cloud)
        records = {record.name: record for record in self.store.members(group)}
        listing = self._list(orchestrator, group)
        servers = self._ours(listing.servers, group)
        found = self._found(orchestrator, _doubted(records.keys(), servers.keys(), complete=listing.complete))
        servers = {**servers, **found}
        members = [
            Member(
                name=name,
                record=records.get(name),
                server=servers.get(name),
                disproved=name in found and found[name] is None,
                ready=None,
            )
            for name in records.keys() | servers.keys()
            if name in records or servers[name] is not None
        ]
        world = World(
            group=group,
            at=at,
            complete=listing.complete,
            because=listing.because,
            members=tuple(sorted(members, key=lambda member: (sequence_of(member), member.name))),
            seatings=self._seatings(definition, records.values(), frozenset(member.name for member in members)),
        )
        return self._probed(world, definition)

    def _list(self, orchestrator: Orchestrator, group: GroupId) -> Listing:
        try:
            return orchestrator.list(group)
        except DriverError as error:
            return Listing(servers=(), complete=False, because=str(error))

    def _ours(self, servers: Iterable[Server], group: GroupId) -> dict[MemberName, Server | None]:
        """Keep machines of this installation and group; of two under one name, the older."""
        oldest_last = sorted(servers, key=lambda server: (server.created_at, server.id), reverse=True)
        return {server.name: server for server in oldest_last if self._is_ours(server.name, group)}

    def _is_ours(self, name: str, group: GroupId) -> bool:
        launch = LaunchId.parse(name)
        return launch is not None and launch.installation == self.installation and launch.group == group

    def _found(self, orchestrator: Orchestrator, names: Iterable[MemberName]) -> dict[MemberName, Server | None]:
        """Ask for machines by name; only definite answers are in the result."""

        def ask(name: MemberName) -> tuple[tuple[MemberName, Server | None], ...]:
            try:
                return ((name, orchestrator.find(name)),)
            except DriverError:
                return ()  # nothing was proved

        answers = abreast([partial(ask, name) for name in sorted(names)], self.workers)
        return dict(answer for said in answers for answer in said)

    def _seatings(
        self, definition: Definition, records: Iterable[Record], ours: frozenset[MemberName]
    ) -> Mapping[BalancerId, Seating]:
        involved = {use.balancer for use in definition.group.balancers}
        involved.update(balancer for record in records for balancer, _ in record.balancers)
        ids = sorted(involved)
        answers = abreast([partial(self._seating, definition, balancer, ours) for balancer in ids], self.workers)
        return dict(zip(ids, answers, strict=True))

    def _seating(self, definition: Definition, balancer: BalancerId, ours: frozenset[MemberName]) -> Seating:
        declared = definition.balancers.get(balancer)
        if declared is None:
            return Seating(seats=None, because=f"balancer {balancer} is no longer declared, and members are behind it")
        try:
            seats = self.balancer_for(declared).seats()
        except DriverError as error:
            return Seating(seats=None, because=f"balancer {balancer}: {error}")
        return Seating(seats={name: seat for name, seat in seats.items() if name in ours})

    def _probed(self, world: World, definition: Definition) -> World:
        ready = definition.profile.ready
        if ready is None:
            return world
        asked = {
            member.name: member.server.address
            for member in world.members
            if member.server is not None and member.server.address is not None and _is_asked(member, world)
        }
        answers = abreast([partial(self.probe, address, ready) for address in asked.values()], self.workers)
        said = dict(zip(asked, answers, strict=True))
        members = tuple(replace(member, ready=said.get(member.name)) for member in world.members)
        return replace(world, members=members)


def _doubted(known: Set[MemberName], listed: Set[MemberName], *, complete: bool) -> Set[MemberName]:
    """Whom to ask for by name: the known that a complete listing lacks, and the listed that are not known.

    A stale listing still shows members that are proved gone and forgotten; they are not to be taken up again.
    """
    return (listed - known) | (known - listed if complete else frozenset())


def _is_asked(member: Member, world: World) -> bool:
    """Whether the probe's answer decides anything: on the way into service, or when a seat has been lost."""
    if member.record is None or member.server is None or member.server.state is not ServerState.RUNNING:
        return False
    if member.record.phase is not Phase.IN_SERVICE:
        return member.record.phase is not Phase.LEAVING
    for balancer, _ in member.record.balancers:
        seats = world.seatings[balancer].seats
        seat = None if seats is None else seats.get(member.name)
        if seats is not None and (seat is None or seat.state is not SeatState.SERVING):
            return True
    return False
