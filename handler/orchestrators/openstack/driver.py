"""Members are servers of one OpenStack project.

Note [Marked in the call]: the call that creates a server also writes its owner into the metadata. Nova lets only
administrators search metadata, and accepts duplicate names: so the driver reads complete listings and filters them
here, and looks a server up by its name before it creates one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from collector.clients.circuits import Circuits
from collector.clients.concurrency import KeyedLock
from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.ids import OpenstackIds
from config.errors import Permanent, Transient
from config.model.access import SecretRef
from config.model.catalogue import OpenstackCloud, Profile
from config.model.parts import MemberPart
from config.units import GroupId, Instant, MemberName, PartName, Seconds
from handler.orchestrators.accepted import after_acceptance
from handler.orchestrators.openstack.departures import ServerDepartures
from handler.orchestrators.openstack.doctor import OpenstackDoctor
from handler.orchestrators.openstack.nova import GONE, Nova
from handler.orchestrators.openstack.parsing import KEYS, OpenstackServer, bearing, claim_of, id_of, mark_of
from handler.orchestrators.openstack.parts import OpenstackParts
from handler.orchestrators.openstack.quotas import OpenstackQuotaMeter
from handler.orchestrators.openstack.request import request_of
from handler.planning.headroom import Quota
from handler.planning.launches import Claim, LaunchId
from handler.planning.world import Listing, MadePart, PartListing, Server, ServerState
from handler.ports.examination import Check
from handler.ports.orchestrator import LOG_BYTES, Launch

_CANNOT_STOP = frozenset({404, 409})
_ACCEPTED = 202
_log = logging.getLogger(__name__)


def wait(seconds: Seconds) -> None:
    """Pause between two queries of a stopping server."""
    threading.Event().wait(seconds)


class OpenstackOrchestrator:
    """The driver of Nova in one project. Sends nothing before the first call."""

    def __init__(
        self,
        declaration: OpenstackCloud,
        installation: str,
        clock: Callable[[], Instant],
        read_secret: Callable[[SecretRef], str],
        wait: Callable[[Seconds], None] = wait,
        circuits: Circuits | None = None,
    ) -> None:
        connection = self._connection = OpenstackConnection(declaration.id, declaration.access, read_secret, circuits)
        self._clock = clock
        self._cloud = declaration.id
        self._installation = installation
        self._nova = Nova(connection)
        self._ids = OpenstackIds(connection, clock)
        self._meter = OpenstackQuotaMeter(connection=connection, nova=self._nova, ids=self._ids)
        self._parts = OpenstackParts(connection, self._nova, self._ids, self._is_ours)
        self._departures = ServerDepartures(self._nova, clock, wait)
        self._turns = KeyedLock()
        self._made: dict[MemberName, str] = {}
        """Ids of servers that this object created or marked: they can be queried even if listings omit them."""

    def list(self, group: GroupId) -> Listing:
        """List a group's servers; complete if every page and entry could be read and no cell is down.

        Raises:
            DriverError: not even the first page can be read.
        """
        return self._listed(lambda mark: mark.group == group)

    def list_all(self) -> Listing:
        """List the servers of all groups, as `list`."""
        return self._listed(lambda mark: True)

    def _listed(self, wanted: Callable[[LaunchId], bool]) -> Listing:
        seen = self._nova.everything()
        ours: dict[MemberName, list[OpenstackServer]] = {}
        for machine in seen.machines:
            if (mark := machine.mark) is not None and self._is_ours(mark) and wanted(mark):
                ours.setdefault(mark.name, []).append(machine)
        named = [(name, bearing(ours[name], name)) for name in sorted(ours)]
        return Listing(
            servers=tuple(self._server(name, machines[0]) for name, machines in named),
            twins=tuple(self._server(name, machine) for name, machines in named for machine in machines[1:]),
            complete=not seen.because,
            because=seen.because,
        )

    def find(self, name: MemberName) -> Server | None:
        """Find a server; ``None`` only after a complete listing of the project: it may have been renamed."""
        with self._turns.of(name):
            found = self._bearing(name)
            return self._server(name, found[0]) if found else None

    def output(self, name: MemberName, lines: int) -> bytes | None:
        """Ask Nova for the end of a server's console output."""
        with self._turns.of(name):
            found = self._bearing(name)
        return self._nova.output(found[0].id, lines).encode(errors="replace")[-LOG_BYTES:] if found else None

    def create(self, launch: Launch) -> Server:
        """Create a server, or return the existing one with the name and the mark. It is accepted and builds.

        Raises:
            Permanent: a quota, a name without an object or with several, a foreign server with this name, or another
            refusal; no server is left.
            Transient: any other failure. The server may exist: it will be found by its name.
        """
        name = launch.id.name
        with self._turns.of(name):
            machine = self._there(name) or self._accepted(launch)
            return self._server(name, machine)

    def destroy(self, name: MemberName, *, grace: Seconds) -> None:
        """Have Nova stop the server, and delete it once it has stopped or its grace is over; without grace at once."""
        with self._turns.of(name):
            for machine in self._bearing(name):
                if machine.state is not ServerState.DELETING:
                    self._remove(name, machine, grace)

    # Parts: `handler.ports.parts`.

    def parts(self, group: GroupId) -> PartListing:
        """List a group's parts; complete if all ports, floating addresses and volumes could be read."""
        return self._parts.of(lambda mark: mark.group == group)

    def all_parts(self) -> PartListing:
        """List the parts of all groups, as `parts`."""
        return self._parts.of(lambda mark: True)

    def find_part(self, member: MemberName, name: PartName) -> MadePart | None:
        """Find a part; ``None`` only after complete listings of all three kinds."""
        with self._turns.of(member):
            return self._parts.find(member, name)

    def make_part(self, member: MemberName, part: MemberPart, profile: Profile) -> None:
        """Have Neutron or Cinder create a part. A port gets the recipe's security groups."""
        with self._turns.of(member):
            self._parts.make(member, part, profile)

    def remove_part(self, member: MemberName, name: PartName) -> None:
        """Delete a part, unless a server uses it."""
        with self._turns.of(member):
            self._parts.remove(member, name)

    def release_part(self, member: MemberName, name: PartName) -> None:
        """Remove the mark from a part's description or metadata; its name stays."""
        with self._turns.of(member):
            self._parts.release(member, name)

    # Marks of existing servers: their metadata, and their name.

    @property
    def fixed_marks(self) -> str:
        """Return why marks cannot be written; empty: they can."""
        return ""

    def foreign_member(self, named: str) -> Server | None:
        """Look for a server of the project by its id or name.

        Raises:
            Permanent: the server bears a mark, or several servers have the name.
            Transient: none was seen, and not all could be.
        """
        seen = self._nova.called(named)
        if seen.because and not seen.machines:
            raise Transient(seen.because)
        if len(seen.machines) > 1:
            own_ids = ", ".join(machine.id for machine in seen.machines)
            many = f"{len(seen.machines)} servers are called {named}"
            raise Permanent(f"{self._cloud}: {many}: write the id of one of them: {own_ids}")
        for machine in seen.machines:
            self._refuse_marked(machine, named)
            return self._server(MemberName(machine.name), machine)
        return None

    def mark(self, id: str, launch: LaunchId) -> Server:
        """Write the mark into a server's metadata, and rename it to the member's name. The mark alone counts.

        Raises:
            Permanent: the server is missing, bears another mark, or the mark is refused.
            Transient: any other failure; the mark may have been written.
        """
        with self._turns.of(launch.name):
            machine = self._nova.server(id)
            if machine is None:
                raise Permanent(f"{self._cloud}: there is no server {id}")
            if machine.mark != launch:
                self._refuse_marked(machine, id)
                self._nova.ask("POST", f"/servers/{id}/metadata", body={"metadata": mark_of(launch)})
            self._made[launch.name] = machine.id
            if machine.name != launch.name:
                self._rename(machine, launch)
            return self._server(launch.name, machine)

    def _rename(self, machine: OpenstackServer, launch: LaunchId) -> None:
        """Give a marked server the member's name, for people; where that is refused, it keeps its own."""
        try:
            self._nova.ask("PUT", f"/servers/{machine.id}", body={"server": {"name": launch.name}})
        except Permanent as refused:
            _log.warning("%s: member %s keeps the name %s: %s", self._cloud, launch.name, machine.name, refused)

    def unmark(self, name: MemberName) -> None:
        """Remove the mark from a server's metadata; its name stays."""
        with self._turns.of(name):
            for machine in self._bearing(name):
                for key in KEYS:
                    self._nova.ask("DELETE", f"/servers/{machine.id}/metadata/{key}", but=GONE)
            self._made.pop(name, None)

    def claim(self, name: MemberName, claim: Claim) -> None:
        """Write the claim into a server's metadata; other keys stay."""
        with self._turns.of(name):
            for machine in self._bearing(name):
                self._nova.ask("POST", f"/servers/{machine.id}/metadata", body={"metadata": claim_of(claim)}, but=GONE)

    def _refuse_marked(self, machine: OpenstackServer, named: str) -> None:
        if machine.mark is not None:
            raise Permanent(f"{self._cloud}: {named} bears the mark {machine.mark.name}")

    # Checks before members depend on the cloud.

    def checks(self, profiles: Sequence[Profile], most: int) -> Sequence[Check]:
        """Return checks of the cloud, as `handler.ports.examination.Examined`."""
        examination = OpenstackDoctor(
            cloud=self._cloud,
            connection=self._connection,
            nova=self._nova,
            ids=self._ids,
            clock=self._clock,
            present=lambda: len(self.list_all().servers),
        )
        return examination.checks(profiles, most)

    # Room for new members.

    def quotas(self, profile: Profile) -> Sequence[Quota]:
        """Return the limits of the project, as `handler.ports.orchestrator.Metered`."""
        return self._meter.quotas(profile)

    # Making.

    def _there(self, name: MemberName) -> OpenstackServer | None:
        with after_acceptance():
            known = self._known(name)
        if known is not None:
            return known
        seen = self._nova.named(name)
        ours = bearing(seen.machines, name)
        if ours:
            return ours[0]
        if seen.machines:
            ids = ", ".join(machine.id for machine in seen.machines)
            raise Permanent(f"{self._cloud}: a foreign server is called {name} ({ids}): rename it")
        if seen.because:
            raise Transient(seen.because)
        return None

    def _accepted(self, launch: Launch) -> OpenstackServer:
        name = launch.id.name
        own_id = id_of(self._nova.ask("POST", "/servers", body=request_of(launch, self._ids)).body)
        if not own_id:
            raise Transient(f"{self._cloud}: {name}: the response has no server id; looking it up by name")
        self._made[name] = own_id
        with after_acceptance():
            machine = self._nova.server(own_id)
        if machine is None:
            raise Transient(f"{self._cloud}: {name} was accepted but is not listed yet; looking it up")
        return machine

    # Removing.

    def _remove(self, name: MemberName, machine: OpenstackServer, grace: Seconds) -> None:
        if grace > 0 and machine.status == "ACTIVE" and self._is_stopped(machine):
            self._departures.begin(machine.id, grace)
        else:
            self._nova.delete(machine.id)
        self._made.pop(name, None)

    def _is_stopped(self, machine: OpenstackServer) -> bool:
        if machine.is_stopping:
            return True
        answer = self._nova.ask("POST", f"/servers/{machine.id}/action", body={"os-stop": None}, but=_CANNOT_STOP)
        return answer.status == _ACCEPTED

    # Looking.

    def _known(self, name: MemberName) -> OpenstackServer | None:
        """Return the server that this object created for the name, if it exists and still bears the mark."""
        own_id = self._made.get(name)
        machine = None if own_id is None else self._nova.server(own_id)
        if machine is not None and machine.mark is not None and machine.mark.name == name:
            return machine
        self._made.pop(name, None)
        return None

    def _bearing(self, name: MemberName) -> tuple[OpenstackServer, ...]:
        """Return the servers of this member, the one that counts first.

        Raises:
            Transient: none was seen, and not all could be.
        """
        if not self._is_ours(LaunchId.parse(name)):
            return ()
        known = self._known(name)
        seen = self._nova.named(name).machines if known is None else (known,)
        found = bearing(seen, name)
        if found:
            return found
        everything = self._nova.everything()
        found = bearing(everything.machines, name)
        if everything.because and not found:
            raise Transient(everything.because)
        return found

    def _is_ours(self, mark: LaunchId | None) -> bool:
        return mark is not None and mark.installation == self._installation

    def _server(self, name: MemberName, machine: OpenstackServer) -> Server:
        return Server(
            name=name,
            id=machine.id,
            state=ServerState.DELETING if self._departures.leaving(machine.id) else machine.state,
            address=machine.address,
            created_at=machine.created_at,
            raw_state=machine.word,
            zone=machine.zone,
            claim=machine.claim,
        )
