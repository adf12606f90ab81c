"""Members are virtual machines of a user of OpenNebula.

Note [Found by mark]: the member's name is both the machine's name and an attribute in its USER_TEMPLATE; the call that
creates the machine gives both. If the answer to that call is lost, the driver finds the machine by them; it also looks
for it before it creates one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from collector.clients.circuits import Circuits
from collector.clients.concurrency import KeyedLock
from collector.clients.opennebula.client import OpennebulaClient
from collector.clients.opennebula.messages import NotAllowed, NotThere, WrongState
from collector.clients.shared import Shared
from config.errors import Permanent, Transient
from config.model.access import SecretRef
from config.model.catalogue import OpennebulaCloud, OpennebulaRecipe, Profile
from config.units import GroupId, Instant, MemberName, Seconds
from handler.orchestrators.accepted import after_acceptance
from handler.orchestrators.opennebula.doctor import OpennebulaDoctor
from handler.orchestrators.opennebula.ids import NETWORK, TEMPLATE, OpennebulaIds
from handler.orchestrators.opennebula.parsing import (
    GIVEN,
    MARK,
    RELEASED,
    OpennebulaMachine,
    claim_of,
    id_of,
    machine_of,
    template_xml,
)
from handler.orchestrators.opennebula.quotas import OpennebulaQuotaMeter
from handler.orchestrators.opennebula.states import ACTIVE, SHUTDOWN
from handler.planning.headroom import Quota
from handler.planning.launches import Claim, LaunchId
from handler.planning.world import Listing, Server, ServerState
from handler.ports.examination import Check
from handler.ports.orchestrator import Launch

_OWN = -3
"""Filter: machines of the user itself, not of its groups."""
_NOT_DONE = -1
_APPEND = 1


class OpennebulaOrchestrator:
    """The driver of one user's machines on one OpenNebula. Sends nothing before the first call."""

    def __init__(
        self,
        declaration: OpennebulaCloud,
        installation: str,
        clock: Callable[[], Instant],
        read_secret: Callable[[SecretRef], str],
        circuits: Circuits | None = None,
    ) -> None:
        self._cloud = declaration
        self._installation = installation
        self._clock = clock
        self._client = OpennebulaClient(declaration, read_secret, circuits)
        self._ids = OpennebulaIds(declaration.id, self._client, clock)
        self._meter = OpennebulaQuotaMeter(client=self._client, ids=self._ids)
        self._turns = KeyedLock()
        self._pool = Shared(self._machines)
        self._seen: dict[MemberName, int] = {}
        """Ids where members were seen or made last: only a hint where to look first."""
        self._stopping_since: dict[MemberName, Instant] = {}
        """When members were first asked to stop."""

    def list(self, group: GroupId) -> Listing:
        """List a group's machines; complete if every page and every entry could be read.

        Raises:
            DriverError: not even the first page can be read.
        """
        listing = self.list_all()
        servers = tuple(server for server in listing.servers if _group_of(server.name) == group)
        return replace(listing, servers=servers)

    def list_all(self) -> Listing:
        """List the machines of all groups, as `list`: OpenNebula lists all of a user's machines or none."""
        machines, because = self._pool.read()
        ours = [(name, machine) for machine in machines if (name := machine.member(self._installation)) is not None]
        servers = tuple(server for each in ours if (server := self._server(*each)) is not None)
        if not because:
            self._forget_all_but({server.name for server in servers})
        return Listing(servers=servers, complete=not because, because=because)

    def find(self, name: MemberName) -> Server | None:
        """Find a machine; ``None`` only after a complete listing without it."""
        bearing = self._bearing(name)
        return self._server(name, bearing[0]) if bearing else None

    def create(self, launch: Launch) -> Server:
        """Instantiate the template, or return the existing machine with the mark. Does not wait for the machine.

        Raises:
            Permanent: a quota, a name without an object or with several, or another refusal; nothing was created.
            Transient: any other failure. A machine that was created will be found by its mark.
        """
        name = launch.id.name
        with self._turns.of(name):
            with after_acceptance(accepted=name in self._seen):
                bearing = self._bearing(name)
            server = self._server(name, bearing[0] if bearing else self._made(launch))
            if server is None:
                raise Transient(f"{self._about(name)} was gone as soon as it was created")
            return server

    def destroy(self, name: MemberName, *, grace: Seconds) -> None:
        """Stop the guest and remove the machine. After ``grace``, a call removes it without asking the guest.

        OpenNebula lets a machine run on if its guest does not stop. In some temporary states it removes none.

        Raises:
            Transient: not in the machine's present state.
        """
        with self._turns.of(name):
            bearing = self._bearing(name)
            if not bearing:
                self._stopping_since.pop(name, None)
                return
            began = self._stopping_since.setdefault(name, self._clock())
            hard = self._cloud.hard or self._clock() - began >= grace
            for machine in bearing:
                self._terminate(machine, hard=hard)

    # Marks of existing machines.

    @property
    def fixed_marks(self) -> str:
        """Return why marks cannot be written; empty: they can."""
        return ""

    def foreign_member(self, named: str) -> Server | None:
        """Look for a machine of the user by its id or name.

        Raises:
            Permanent: the machine bears a mark, or several machines have the name.
            Transient: none was seen, and not all could be.
        """
        found = self._with_id(named)
        if not found:
            machines, because = self._pool.read()
            found = [machine for machine in machines if machine.name == named]
            if because and not found:
                raise Transient(because)
        if len(found) > 1:
            ids = ", ".join(str(machine.id) for machine in found)
            raise Permanent(f"{self._cloud.id}: {len(found)} machines are called {named}: write the id ({ids})")
        for machine in found:
            self._refuse_marked(machine, named)
            return self._server(MemberName(machine.name), machine)
        return None

    def mark(self, id: str, launch: LaunchId) -> Server:
        """Write the mark into the machine's USER_TEMPLATE, beside its id; it keeps its own name.

        OpenNebula refuses no second writer: if two callers mark a machine at once, the last one wins.

        Raises:
            Permanent: the user has no such machine, or it bears another mark.
            Transient: any other failure; the mark may have been written.
        """
        with self._turns.of(launch.name):
            for machine in self._with_id(id):
                if machine.member(self._installation) != launch.name:
                    self._refuse_marked(machine, id)
                    self._write(machine, ((MARK, launch.name), (GIVEN, str(machine.id))))
                server = self._server(launch.name, machine)
                if server is not None:
                    return server
        raise Permanent(f"{self._cloud.id}: there is no machine {id}")

    def unmark(self, name: MemberName) -> None:
        """Overwrite the mark: the machine keeps its name, but a name without a mark is not a member."""
        with self._turns.of(name):
            for machine in self._bearing(name):
                self._write(machine, ((MARK, RELEASED), (GIVEN, RELEASED)))
            self._seen.pop(name, None)

    def claim(self, name: MemberName, claim: Claim) -> None:
        """Write the claim beside the mark."""
        with self._turns.of(name):
            for machine in self._bearing(name):
                try:
                    self._write(machine, claim_of(claim))
                except NotThere:
                    continue

    def _refuse_marked(self, machine: OpennebulaMachine, named: str) -> None:
        if machine.launch is not None:
            raise Permanent(f"{self._cloud.id}: {named} bears the mark {machine.launch.name}")

    def _write(self, machine: OpennebulaMachine, attributes: tuple[tuple[str, str], ...]) -> None:
        self._client.ask("vm.update", machine.id, template_xml(attributes), _APPEND)

    # Checks before members depend on the cloud.

    def checks(self, profiles: Sequence[Profile], most: int) -> Sequence[Check]:
        """Return checks of the cloud, as `handler.ports.examination.Examined`."""
        examination = OpennebulaDoctor(
            cloud=self._cloud,
            client=self._client,
            ids=self._ids,
            clock=self._clock,
            present=lambda: len(self.list_all().servers),
        )
        return examination.checks(profiles, most)

    # Room for new members.

    def quotas(self, profile: Profile) -> Sequence[Quota]:
        """Return the quotas of the user and of its group, as `handler.ports.orchestrator.Metered`."""
        return self._meter.quotas(profile)

    # Making and removing.

    def _made(self, launch: Launch) -> OpennebulaMachine:
        recipe, name = launch.profile.recipe, launch.id.name
        if not isinstance(recipe, OpennebulaRecipe):
            raise Permanent(f"profile {launch.profile.id} has no template of OpenNebula")
        template = self._ids.of(TEMPLATE, recipe.template)
        networks = [self._ids.of(NETWORK, network) for network in recipe.networks]
        nics = tuple(("NIC", (("NETWORK_ID", str(network)),)) for network in networks)
        extra = ((each.name, each.vector if each.single is None else each.single) for each in recipe.extra)
        xml = template_xml((*extra, *nics, (MARK, name), *claim_of(launch.claim)))
        answer = self._client.ask("template.instantiate", template, name, False, xml, False)
        machine = None
        if isinstance(answer, int):
            self._seen[name] = answer
            with after_acceptance():
                machine = self._machine(answer)
        if machine is None or machine.member(self._installation) != name:
            raise Transient(f"{self._about(name)}: the answer cannot be read; looking it up by its mark")
        return machine

    def _terminate(self, machine: OpennebulaMachine, *, hard: bool) -> None:
        """Terminate it, unless it is going already. The state changes only some time after OpenNebula accepts."""
        if _goes(machine) and not (hard and (machine.state, machine.lcm) == (ACTIVE, SHUTDOWN)):
            return
        try:
            self._client.ask("vm.action", "terminate-hard" if hard else "terminate", machine.id)
        except NotThere:
            return
        except WrongState:
            now = self._machine(machine.id)
            if now is not None and not _goes(now):
                raise

    # Looking.

    def _bearing(self, name: MemberName) -> Sequence[OpennebulaMachine]:
        """Return the machines of this member, the oldest first: one, unless another client created more.

        Raises:
            Transient: none was seen, and not all could be.
        """
        launch = LaunchId.parse(name)
        if launch is None or launch.installation != self._installation:
            return []
        hint = self._seen.get(name)
        hinted = None if hint is None else self._machine(hint)
        if hinted is not None and hinted.member(self._installation) == name:
            return [hinted]
        self._seen.pop(name, None)
        machines, because = self._pool.read()
        found = sorted(
            (machine for machine in machines if machine.member(self._installation) == name),
            key=lambda machine: machine.id,
        )
        if because and not found:
            raise Transient(because)
        return found

    def _machines(self) -> tuple[Sequence[OpennebulaMachine], str]:
        """Return all existing machines of the user, and why these are incomplete."""
        entries = self._client.every("vmpool.infoextended", "VM", _OWN, _NOT_DONE)
        read = [machine_of(entry) for entry in entries.read]
        machines = [machine for machine in read if machine is not None and machine.meaning is not None]
        for machine in machines:
            if (name := machine.member(self._installation)) is not None:
                self._seen.setdefault(name, machine.id)
        senseless = f"{self._cloud.id}: vmpool.infoextended lists entries that cannot be read" if None in read else ""
        return machines, entries.because or senseless

    def _machine(self, id: int) -> OpennebulaMachine | None:
        """Return one existing machine of the user. A machine that the user may not read is foreign.

        Raises:
            Transient: the answer cannot be read.
        """
        try:
            machine = machine_of(self._client.ask("vm.info", id))
        except (NotThere, NotAllowed):
            return None
        if machine is None or machine.id != id:
            raise Transient(f"{self._cloud.id}: one.vm.info: the answer cannot be read")
        return machine if machine.meaning is not None and machine.user == self._cloud.user else None

    def _forget_all_but(self, there: Set[MemberName]) -> None:
        for known in (self._seen, self._stopping_since):
            for name in [name for name in tuple(known) if name not in there]:
                known.pop(name, None)

    def _with_id(self, written: str) -> Sequence[OpennebulaMachine]:
        own_id = id_of(written)
        machine = None if own_id is None else self._machine(own_id)
        return [] if machine is None else [machine]

    def _server(self, name: MemberName, machine: OpennebulaMachine) -> Server | None:
        if machine.meaning is None:
            return None
        _, state = machine.meaning
        return Server(
            name=name,
            id=str(machine.id),
            state=state,
            address=machine.address(self._cloud.network),
            created_at=machine.created_at,
            raw_state=machine.word,
            zone=None if machine.cluster is None else f"cluster {machine.cluster}",
            claim=machine.claim,
        )

    def _about(self, name: MemberName) -> str:
        return f"{self._cloud.id}: {name}"


def _goes(machine: OpennebulaMachine) -> bool:
    return machine.meaning is not None and machine.meaning[1] is ServerState.DELETING


def _group_of(name: MemberName) -> GroupId | None:
    launch = LaunchId.parse(name)
    return None if launch is None else launch.group
