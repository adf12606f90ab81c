"""Gather the world of one group: listed machines, registrations on balancers, answers of members, and records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from config.errors import DriverError, NotFound, Permanent
from config.model.balancers import Balancer as DeclaredBalancer
from config.model.catalogue import Cloud, ReadyProbe
from config.units import BalancerId, GroupId, Instant, MemberName, Seconds
from handler.convergence.evidence import Witnesses
from handler.convergence.gather_parts import with_parts
from handler.convergence.inventory import AskedListing
from handler.convergence.lost_balancers import Absence, check_made, missed
from handler.convergence.pass_threads import called, waiting
from handler.convergence.traffic import CloudTraffic
from handler.planning.desired import Definition
from handler.planning.launches import LaunchId
from handler.planning.listing_sanity import ListingStreak, lengthened
from handler.planning.provisioning import closed
from handler.planning.roles import sequence_of
from handler.planning.world import (
    BalancerView,
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
from handler.ports.balancer import Balancer, Correcting, PartlyRead, Provisioner, Registered, registered_with
from handler.ports.orchestrator import Orchestrator, Proving
from handler.ports.store import Store
from trigger.moving import moved

_UNASKED = object()
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gatherer:
    """Gather worlds without changing members. It keeps the streaks of listings, and its last world, in memory."""

    installation: str
    store: Store
    orchestrator_for: Callable[[Cloud], Orchestrator]
    balancer_for: Callable[[DeclaredBalancer], Balancer]
    probe: Callable[[str, ReadyProbe], str]
    """Returns why a member is not ready; empty: it is."""
    clock: Callable[[], Instant]
    workers: int
    traffic: CloudTraffic
    witnesses: Witnesses
    _passing: dict[GroupId, Mapping[MemberName, Instant]] = field(default_factory=dict, init=False, repr=False)
    _streaks: dict[GroupId, Mapping[MemberName, ListingStreak]] = field(default_factory=dict, init=False, repr=False)
    _absences: dict[tuple[GroupId, BalancerId], Absence] = field(default_factory=dict, init=False, repr=False)
    reverted: dict[GroupId, Mapping[BalancerId, Set[MemberName]]] = field(default_factory=dict, init=False, repr=False)
    """Of the last world: members that get work from balancers although they are proved gone and not listed."""

    def gather(
        self, group: GroupId, definition: Definition, *, corrects: bool = False, given: AskedListing | None = None
    ) -> World:
        """Gather once. A cloud or balancer that does not answer makes the world incomplete, never an exception.

        The machines are listed now, unless a listing was given. With ``corrects``, balancers that cannot be read are
        repaired (`handler.ports.balancer.Correcting`).

        Raises:
            StoreError: the store cannot be read.
        """
        at = self.clock() if given is None else given.asked_at
        orchestrator = self.orchestrator_for(definition.cloud)
        records = {record.name: record for record in self.store.members(group)}
        listing = self.list(group, definition.cloud) if given is None else given.listing
        listed = self._ours(listing.servers, group)
        balancer_views = self._balancer_views(definition, records.values(), corrects=corrects)
        served = frozenset(name for name in _served(balancer_views) - records.keys() if self._is_ours(name, group))
        let_go = self._let_go(group, (listed.keys() | served) - records.keys())
        listed = {name: server for name, server in listed.items() if name not in let_go}
        unseen, lately = self._foreign(group, listed.keys() - records.keys(), served - let_go)
        gone = lately.keys()
        over = served - let_go - unseen - listed.keys() if listing.complete else frozenset()
        self.reverted[group] = {balancer: names for balancer, names in _worked(balancer_views, over) if names}
        missing = unseen | (records.keys() - listed.keys()) if listing.complete else frozenset()
        found = self._found(orchestrator, definition.cloud, (listed.keys() - records.keys()) | missing)
        waited_for = (unseen - found.keys()) | {name for name in gone if found.get(name, _UNASKED) is not None}
        silent = self._unsettled(group, waited_for, listing, at)
        servers = {name: server for name, server in {**listed, **found}.items() if name not in silent}
        members = tuple(self._timed(group, _members(records, servers, found, lately), at))
        admitted = partial(self.traffic.look, definition.cloud, self.clock)
        lanes = self.traffic.in_parallel(definition.cloud, self.workers)
        members = with_parts(members, orchestrator, definition, admitted, lanes)
        ours = frozenset(member.name for member in members)
        world = World(
            group=group,
            at=at,
            complete=listing.complete,
            because=listing.because,
            members=members,
            balancer_views={balancer: _only(ours, balancer_view) for balancer, balancer_view in balancer_views.items()},
            untraced=tuple(sorted(silent & unseen)),
            relisted=tuple(sorted(silent & gone)),
            profile=definition.profile_digest,
            ahead=self._ahead(group, servers.keys() - records.keys()),
        )
        world, probed = self._probed(world, definition)
        proof = isinstance(orchestrator, Proving) and orchestrator.proves_absence
        return self.witnesses.with_losses(world, definition, servers, probed, proof=proof)

    def follow(self, step: Seconds) -> None:
        """Keep the length of every span in memory after the clock was set by ``step``."""
        self._passing.update(moved(self._passing, Mapping[GroupId, Mapping[MemberName, Instant]], step))
        self._streaks.update(moved(self._streaks, Mapping[GroupId, Mapping[MemberName, ListingStreak]], step))
        self._absences.update(moved(self._absences, Mapping[tuple[GroupId, BalancerId], Absence], step))

    def _timed(self, group: GroupId, members: Iterable[Member], at: Instant) -> Iterator[Member]:
        """Yield the members with the time since when they are between two states; an unlisted one still is."""
        before, now = self._passing.get(group, {}), dict[MemberName, Instant]()
        for member in members:
            if member.server is None and member.name in before:
                now[member.name] = before[member.name]
            elif member.server is not None and member.server.state is ServerState.PASSING:
                now[member.name] = before.get(member.name, at)
            yield replace(member, passing_since=now[member.name]) if member.name in now else member
        self._passing[group] = now

    def _ahead(self, group: GroupId, unknown: Set[MemberName]) -> int:
        """Return the highest launch sequence of these, if above the store's last one; otherwise 0."""
        launches = (LaunchId.parse(name) for name in unknown)
        highest = max((launch.sequence for launch in launches if launch is not None), default=0)
        return highest if highest and highest > self.store.last_sequence(group) else 0

    def _let_go(self, group: GroupId, unknown: Set[MemberName]) -> frozenset[MemberName]:
        """Return the names that a person ordered never to touch."""
        return self.store.abandoned_of(group) if unknown else frozenset()

    def _foreign(
        self, group: GroupId, listed: Set[MemberName], served: Set[MemberName]
    ) -> tuple[frozenset[MemberName], Mapping[MemberName, Record]]:
        """Return the names without a record that get work and are not listed, and the last records of listed ones."""
        if not (listed or served):
            return frozenset(), {}
        gone = self.store.gone(group, listed | served)
        return frozenset(served - listed - gone.keys()), {name: gone[name] for name in gone.keys() & listed}

    def _unsettled(
        self, group: GroupId, silent: Set[MemberName], listing: Listing, at: Instant
    ) -> frozenset[MemberName]:
        """Return those of the names without a definite answer that lack enough equal listings in a row."""
        before = self._streaks.get(group, {})
        if not listing.complete:
            return frozenset(name for name in silent if name not in before or not before[name].is_settled(at))
        self._streaks[group] = streaks = lengthened(before, silent, at)
        return frozenset(name for name in silent if not streaks[name].is_settled(at))

    def list(self, group: GroupId, cloud: Cloud) -> Listing:
        """List a group's machines; if the cloud does not answer, the listing is empty and partial."""
        closed_until = self.traffic.closed_until(cloud, self.clock())
        if closed_until is not None:
            until = datetime.fromtimestamp(closed_until, UTC).strftime("%H:%M:%S")
            because = f"cloud {cloud.id} asked for time: it is left alone until {until} UTC"
            return Listing(servers=(), complete=False, because=because)
        try:
            with waiting():
                return self.orchestrator_for(cloud).list(group)
        except DriverError as error:
            self.traffic.heard(cloud, error, self.clock())
            return Listing(servers=(), complete=False, because=str(error))

    def _ours(self, servers: Iterable[Server], group: GroupId) -> dict[MemberName, Server | None]:
        """Keep machines of this installation and group; of two under one name, the older."""
        oldest_last = sorted(servers, key=lambda server: (server.created_at, server.id), reverse=True)
        return {server.name: server for server in oldest_last if self._is_ours(server.name, group)}

    def _is_ours(self, name: str, group: GroupId) -> bool:
        launch = LaunchId.parse(name)
        return launch is not None and launch.installation == self.installation and launch.group == group

    def _found(
        self, orchestrator: Orchestrator, cloud: Cloud, names: Iterable[MemberName]
    ) -> dict[MemberName, Server | None]:
        """Ask for machines by name, as many as the cloud may be asked; only definite answers are in the result."""

        def ask(name: MemberName) -> tuple[tuple[MemberName, Server | None], ...]:
            try:
                with self.traffic.call(cloud, self.clock, asks=True) as admitted:
                    return ((name, orchestrator.find(name)),) if admitted else ()
            except DriverError:
                return ()  # nothing was proved

        lanes = self.traffic.in_parallel(cloud, self.workers)
        answers = called([partial(ask, name) for name in sorted(names)], lanes)
        return dict(answer for found in answers for answer in found)

    def _balancer_views(
        self, definition: Definition, records: Iterable[Record], *, corrects: bool
    ) -> Mapping[BalancerId, BalancerView]:
        involved = {use.balancer for use in definition.group.balancers}
        involved.update(balancer for record in records for balancer, _ in record.balancers)
        ids = sorted(involved)
        look = partial(self._balancer_view, definition, corrects=corrects)
        answers = called([partial(look, balancer) for balancer in ids], self.workers)
        return dict(zip(ids, answers, strict=True))

    def _balancer_view(self, definition: Definition, balancer: BalancerId, *, corrects: bool) -> BalancerView:
        declared = definition.balancers.get(balancer)
        if declared is None:
            return BalancerView(
                registrations=None, because=f"balancer {balancer} is no longer declared, and members are behind it"
            )
        whose = definition.group.id, balancer
        try:
            port = self.balancer_for(declared)
            shut = self._shut(definition.group.id, port) if isinstance(port, Provisioner) else ""
            registered = self._registered(definition, port, corrects=corrects)
            balancer_view = BalancerView(
                registrations=registered.registrations, closed=shut, foreign=registered.foreign
            )
        except NotFound as error:
            self._absences[whose] = absence = missed(self._absences.get(whose), self.clock(), definition.group.interval)
            return _missing(balancer, error, absence, definition.group.interval)
        except DriverError as error:
            partly = error.registrations if isinstance(error, PartlyRead) else None
            balancer_view = BalancerView(registrations=None, because=f"balancer {balancer}: {error}", partly=partly)
        self._absences.pop(whose, None)
        return balancer_view

    def _registered(self, definition: Definition, port: Balancer, *, corrects: bool) -> Registered:
        """Return the registrations of a balancer; of an exclusive group's, the foreign ones, too."""
        if not definition.group.exclusive:
            return Registered(registrations=_corrected(port, port.registrations, corrects=corrects))
        return _corrected(port, lambda: registered_with(port, self.installation), corrects=corrects)

    def _shut(self, group: GroupId, port: Provisioner) -> str:
        """Return why no member can join a balancer that Trimtab creates; empty: members can. Raises as `check_made`."""
        found = port.parts()
        bindings = self.store.bindings(group)
        check_made(port, next((each for each in bindings if each.balancer == port.declared.id), None), found)
        return closed(port.declared, found)

    def _probed(self, world: World, definition: Definition) -> tuple[World, Mapping[MemberName, str]]:
        """Probe the members whose readiness decides a step; return also the results."""
        if definition.profile.ready is None:
            return world, {}
        asked = {
            member.name: member.server.address
            for member in world.members
            if member.server is not None and member.server.address is not None and _is_asked(member, world)
        }
        if not asked:
            return world, {}
        probes = self.witnesses.own_probes.of(definition, (member for member in world.members if member.name in asked))
        calls = {name: partial(self.probe, asked[name], probe) for name, probe in probes.items() if probe is not None}
        results = dict(zip(calls, called([*calls.values()], self.workers), strict=True))
        members = tuple(
            replace(member, ready=not results.get(member.name), unready=results.get(member.name, ""))
            if member.name in asked
            else member
            for member in world.members
        )
        return replace(world, members=members), results


def _members(
    records: Mapping[MemberName, Record],
    servers: Mapping[MemberName, Server | None],
    found: Mapping[MemberName, Server | None],
    gone: Mapping[MemberName, Record],
) -> tuple[Member, ...]:
    """Return every member with a record or a machine, by sequence."""
    members = [
        Member(
            name=name,
            record=records.get(name),
            server=servers.get(name),
            disproved=name in found and found[name] is None,
            ready=None,
            gone=gone.get(name),
        )
        for name in records.keys() | servers.keys()
        if name in records or servers[name] is not None
    ]
    return tuple(sorted(members, key=lambda member: (sequence_of(member), member.name)))


def _missing(balancer: BalancerId, error: NotFound, absence: Absence, interval: Seconds) -> BalancerView:
    """Return what is known of a missing balancer; until that is proved, it counts as unreadable."""
    if absence.is_proved(interval):
        return BalancerView(registrations=None, because=f"balancer {balancer} is not found: {error}", not_found=True)
    from_ = datetime.fromtimestamp(absence.proved_from(interval), UTC).strftime("%H:%M:%S")
    because = f"balancer {balancer} is missing, and counts as not found from {from_} UTC on: {error}"
    return BalancerView(registrations=None, because=because)


def _corrected(port: Balancer, read: Callable[[], Read], *, corrects: bool) -> Read:
    """Read a balancer; with ``corrects``, one that cannot be read is repaired, and read again."""
    try:
        return read()
    except Permanent:
        if not corrects or not isinstance(port, Correcting):
            raise
    port.correct()
    return read()


def _served(balancer_views: Mapping[BalancerId, BalancerView]) -> frozenset[MemberName]:
    """Return all names that get work from balancers."""
    registrations = (
        registration
        for balancer_view in balancer_views.values()
        if balancer_view.registrations is not None
        for registration in balancer_view.registrations.values()
    )
    return frozenset(registration.member for registration in registrations if registration.works)


def _worked(
    balancer_views: Mapping[BalancerId, BalancerView], names: Set[MemberName]
) -> Iterator[tuple[BalancerId, Set[MemberName]]]:
    """Yield for each balancer those of these names that get work from it."""
    for balancer, balancer_view in balancer_views.items():
        yield (
            balancer,
            {
                registration.member
                for registration in (balancer_view.registrations or {}).values()
                if registration.works and registration.member in names
            },
        )


def _only(ours: frozenset[MemberName], balancer_view: BalancerView) -> BalancerView:
    def own(registrations: Mapping[MemberName, Registration] | None) -> Mapping[MemberName, Registration] | None:
        if registrations is None:
            return None
        return {name: registration for name, registration in registrations.items() if name in ours}

    return replace(balancer_view, registrations=own(balancer_view.registrations), partly=own(balancer_view.partly))


def _is_asked(member: Member, world: World) -> bool:
    """Return whether the probe's result matters: on the way into service, or after a lost registration."""
    if member.record is None or member.server is None or member.server.state is not ServerState.RUNNING:
        return False
    if member.record.phase is not Phase.IN_SERVICE:
        return member.record.phase is not Phase.LEAVING
    for balancer, _ in member.record.balancers:
        registrations = world.balancer_views[balancer].known
        registration = None if registrations is None else registrations.get(member.name)
        if registrations is not None and (registration is None or registration.state is not RegistrationState.SERVING):
            return True
    return False
