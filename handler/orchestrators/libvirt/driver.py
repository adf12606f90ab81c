"""Members are domains of one host with libvirt, or of several that no cloud stands above.

Note [Which host has it]: a name may be on any host. While one does not answer, a name that was not asked for before
can be made on another one; a name that was asked for before may be on the silent one, and is not made again.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from collector.clients.circuits import Circuits
from collector.clients.concurrency import KeyedLock, in_parallel
from collector.clients.libvirt.client import LibvirtClient
from collector.clients.libvirt.messages import DomainRef, Fault, LibvirtFailed, LibvirtMissing
from collector.clients.libvirt.transport import Identity
from collector.clients.shared import Shared
from config.causes import FailureCause
from config.errors import DriverError, Full, Permanent
from config.model.catalogue import LibvirtCloud, Profile
from config.model.libvirt import LibvirtHost
from config.units import GroupId, Instant, MemberName, Seconds
from handler.orchestrators.accepted import after_acceptance
from handler.orchestrators.libvirt.doctor import LibvirtDoctor
from handler.orchestrators.libvirt.hosts import HostDriver, HostsReading
from handler.orchestrators.libvirt.listing import HostListing, HostReader
from handler.orchestrators.libvirt.machines import LibvirtMachine, foreign_server, without_copies
from handler.orchestrators.libvirt.making import LibvirtMaker, recipe_of
from handler.orchestrators.libvirt.marks import DomainMark
from handler.orchestrators.libvirt.room import MIB, HostRoom
from handler.planning.headroom import Quota, UsageLimit
from handler.planning.launches import Claim, LaunchId
from handler.planning.world import Listing, Server
from handler.ports.examination import Check
from handler.ports.orchestrator import Launch

_AT_ONCE = 16
"""Hosts that are asked side by side."""


class LibvirtOrchestrator:
    """The driver of hosts with libvirt. Sends nothing before the first call.

    Args:
        clock: the wall clock: it is compared with the time that domains bear.
    """

    def __init__(
        self,
        declaration: LibvirtCloud,
        installation: str,
        clock: Callable[[], Instant],
        circuits: Circuits | None = None,
    ) -> None:
        self._cloud, self._installation, self._clock = declaration, installation, clock
        self._hosts = {host.name: self._host(host, circuits) for host in declaration.hosts}
        self._turns = KeyedLock()
        self._pool = Shared(self._read)
        self._placing = threading.Lock()
        self._underway: Counter[str] = Counter()
        """Creations under way on each host."""

    def _host(self, host: LibvirtHost, circuits: Circuits | None) -> HostDriver:
        cloud = self._cloud
        about = f"{cloud.id}: {host.name}" if host.name else str(cloud.id)
        identity = Identity(trust=cloud.trust, certificate=cloud.certificate, key=cloud.key)
        client = LibvirtClient(about, host.uri, identity, cloud.timeout, circuits)
        reader = HostReader(
            host=host.name, client=client, about=about, source=cloud.addresses, installation=self._installation
        )
        room = HostRoom(client, about, cloud.memory)
        maker = LibvirtMaker(host=host.name, client=client, room=room, about=about)
        return HostDriver(client=client, reader=reader, maker=maker)

    def list(self, group: GroupId) -> Listing:
        """List a group's domains; complete if every host answered.

        Raises:
            DriverError: no host answered.
        """
        listing = self.list_all()
        of = (server for server in listing.servers if _group_of(server.name) == group)
        return replace(listing, servers=tuple(of))

    def list_all(self) -> Listing:
        """List the domains of all groups, as `list`."""
        reading = self._pool.read()
        if not reading.answered:
            raise reading.uncertain
        ours = without_copies(each for each in reading.machines if each.member(self._installation) is not None)
        now = self._clock()
        servers = tuple(machine.server(now) for machine in ours)
        return Listing(servers=servers, complete=not reading.because, because=reading.because)

    def find(self, name: MemberName) -> Server | None:
        """Find a domain; ``None`` only if every host answered without it."""
        bearing = self._bearing(name)
        return bearing[0].server(self._clock()) if bearing else None

    def create(self, launch: Launch) -> Server:
        """Define and start a domain on the host with the fewest members, or return the one that bears the name.

        A domain that was defined and not started is started.

        Raises:
            Full: no host has room; nothing was made.
            Permanent: refused; nothing was made.
            Transient: any other failure. A domain that was defined will be found by its mark.
        """
        name, recipe = launch.id.name, recipe_of(launch.profile)
        with self._turns.of(name):
            reading = self._pool.read()
            bearing = reading.of(name, self._installation)
            if not bearing:
                if reading.failures and not (launch.first and reading.answered):
                    raise reading.uncertain
                return self._server(self._placed(launch, reading))
            machine = bearing[0]
            if machine.mark.unfinished:
                machine = self._hosts[machine.host].maker.finished(machine, recipe, self._clock())
            return self._server(machine)

    def destroy(self, name: MemberName, *, grace: Seconds) -> None:
        """Ask the guest to shut down; end it after ``grace``; delete its volumes and its definition when it is off.

        When the guest was asked stands on the domain, so that a restart begins no new grace.
        """
        with self._turns.of(name):
            for machine in self._bearing(name):
                with suppress(LibvirtMissing):  # another client was faster
                    self._take_down(machine, grace)

    def _take_down(self, machine: LibvirtMachine, grace: Seconds) -> None:
        maker, now = self._hosts[machine.host].maker, self._clock()
        asked = machine.mark.leaving
        if asked is None:
            asked, machine = now, replace(machine, mark=replace(machine.mark, leaving=now))
            maker.write(machine, machine.mark)
        if machine.runs:
            machine = maker.switch_off(machine) if now - asked >= grace else maker.ask_to_stop(machine)
        if not machine.runs:
            maker.remove(machine)

    # Marks of existing domains.

    @property
    def fixed_marks(self) -> str:
        """Return why marks cannot be written; empty: they can."""
        return ""

    def foreign_member(self, named: str) -> Server | None:
        """Look for a domain by its UUID or name.

        Raises:
            Permanent: the domain bears a mark, or several have the name.
            Transient: none was seen, and not every host answered.
        """
        reading = self._pool.read()
        found = self._unmarked(reading, named)
        if not found and reading.because:
            raise reading.uncertain
        if len(found) > 1:
            ids = ", ".join(str(domain.uuid) for _, domain in found)
            raise Permanent(f"{self._cloud.id}: {len(found)} domains are called {named}: write the id ({ids})")
        for host, domain in found:
            return foreign_server(host, domain, self._hosts[host].maker.state(domain), self._clock())
        return None

    def mark(self, id: str, launch: LaunchId) -> Server:
        """Write the mark into the domain's metadata, beside its UUID; the domain keeps its name.

        Raises:
            Permanent: there is no such domain, it bears another mark, or it is lost when it is off.
            Transient: any other failure; the mark may have been written.
        """
        with self._turns.of(launch.name):
            reading = self._pool.read()
            for machine in reading.of(launch.name, self._installation):
                if str(machine.domain.uuid) == id:
                    return machine.server(self._clock())
            for host, domain in self._unmarked(reading, id):
                if str(domain.uuid) == id:
                    return self._given(host, domain, launch)
            if reading.because:
                raise reading.uncertain
        raise Permanent(f"{self._cloud.id}: there is no machine {id}")

    def unmark(self, name: MemberName) -> None:
        """Take the mark off: the domain goes on, with its volumes."""
        with self._turns.of(name):
            for machine in self._bearing(name):
                self._hosts[machine.host].maker.write(machine, None)

    def claim(self, name: MemberName, claim: Claim) -> None:
        """Write the claim into the mark."""
        with self._turns.of(name):
            for machine in self._bearing(name):
                self._hosts[machine.host].maker.write(machine, replace(machine.mark, claim=claim))

    def _given(self, host: str, domain: DomainRef, launch: LaunchId) -> Server:
        maker, now = self._hosts[host].maker, self._clock()
        mark = DomainMark(launch=launch, of=domain.uuid, made=now)
        machine = LibvirtMachine(host=host, domain=domain, mark=mark, state=maker.state(domain))
        try:
            maker.write(machine, mark)
        except LibvirtFailed as error:
            if error.code != Fault.OPERATION_INVALID:
                raise
            raise Permanent(f"{error}: define the domain, so that it is there when it is off") from error
        return self._server(machine)

    def _unmarked(self, reading: HostsReading, named: str) -> Sequence[tuple[str, DomainRef]]:
        """Return the domains without a mark with this UUID, or else with this name.

        Raises:
            Permanent: one that bears a mark is called so.
        """
        for machine in reading.machines:
            if named in {str(machine.domain.uuid), machine.domain.name}:
                raise Permanent(f"{self._cloud.id}: {named} bears the mark {machine.mark.launch.name}")
        others = reading.others
        with_id = [(host, domain) for host, domain in others if str(domain.uuid) == named]
        return with_id or [(host, domain) for host, domain in others if domain.name == named]

    # Checks before members depend on the cloud.

    def checks(self, profiles: Sequence[Profile], most: int) -> Sequence[Check]:
        """Return checks of the hosts, as `handler.ports.examination.Examined`."""
        clients = {name: host.client for name, host in self._hosts.items()}
        doctor = LibvirtDoctor(
            cloud=self._cloud,
            clients=clients,
            quotas=self.quotas,
            present=lambda: len(self.list_all().servers),
        )
        return doctor.checks(profiles, most)

    # Room for new members.

    def quotas(self, profile: Profile) -> Sequence[Quota]:
        """Return the memory of all hosts that answer, as `handler.ports.orchestrator.Metered`.

        Raises:
            DriverError: no host answered.
        """
        answers = in_parallel([host.limit for host in self._hosts.values()], _AT_ONCE)
        limits = [answer for answer in answers if isinstance(answer, UsageLimit)]
        if not limits:
            raise next(answer for answer in answers if isinstance(answer, DriverError))
        used, most = sum(limit.used for limit in limits), sum(limit.most or 0.0 for limit in limits)
        total = UsageLimit(what=limits[0].what, used=used, most=most)
        return (Quota(limit=total, each=recipe_of(profile).memory / MIB),)

    # Placing.

    def _placed(self, launch: Launch, reading: HostsReading) -> LibvirtMachine:
        """Make a domain on the host with the fewest members, then of the group; if that refuses, on the next one.

        Raises:
            Full: no host has room.
            Permanent: every host refuses it, or has no room.
        """
        left, refused = dict(reading.answered), list[Permanent]()
        while left:
            with self._reserved(launch, left) as host:
                del left[host]
                try:
                    return self._hosts[host].maker.made(launch, recipe_of(launch.profile), self._clock())
                except Permanent as error:
                    refused.append(error)
        raise _refusal(refused)

    @contextmanager
    def _reserved(self, launch: Launch, hosts: Mapping[str, HostListing]) -> Iterator[str]:
        """Choose a host; creations under way count as members."""
        with self._placing:
            host = min(hosts, key=lambda name: self._filling(launch, name, hosts[name]))
            self._underway[host] += 1
        try:
            yield host
        finally:
            with self._placing:
                self._underway[host] -= 1

    def _filling(self, launch: Launch, host: str, listing: HostListing) -> tuple[int, int]:
        members = [machine.member(self._installation) for machine in listing.machines]
        of_group = [name for name in members if name is not None and _group_of(name) == launch.id.group]
        return sum(name is not None for name in members) + self._underway[host], len(of_group)

    # Looking.

    def _read(self) -> HostsReading:
        names = tuple(self._hosts)
        answers = in_parallel([self._hosts[name].listed for name in names], _AT_ONCE)
        return HostsReading(hosts=dict(zip(names, answers, strict=True)))

    def _bearing(self, name: MemberName) -> Sequence[LibvirtMachine]:
        """Return the domains of this member: one, unless a migration left a copy.

        Raises:
            Transient: none was seen, and not every host answered.
        """
        reading = self._pool.read()
        found = reading.of(name, self._installation)
        if not found and reading.because:
            raise reading.uncertain
        return found

    def _server(self, machine: LibvirtMachine) -> Server:
        with after_acceptance():
            return self._hosts[machine.host].reader.with_address(machine).server(self._clock())


def _refusal(refused: Sequence[Permanent]) -> Permanent:
    """Return why no host took a member: for want of room only if every one lacks it."""
    others = [error for error in refused if not isinstance(error, Full)]
    return others[0] if others else Full("; ".join(map(str, refused)), cause=FailureCause.CAPACITY)


def _group_of(name: MemberName) -> GroupId | None:
    launch = LaunchId.parse(name)
    return None if launch is None else launch.group
