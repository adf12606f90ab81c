"""Members are virtual machines of a CloudStack account.

Note [Found by name]: the host name is derived from the launch id and given in the call that creates a machine. If the
answer to that call is lost, or its job does not end in time, the driver finds the machine by its name; it also looks
for it before it creates one.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from collector.clients.circuits import Circuits
from collector.clients.cloudstack.client import CloudstackClient
from collector.clients.cloudstack.jobs import JobPoller, wait
from collector.clients.cloudstack.parsing import JobState, refusal, text
from collector.clients.concurrency import KeyedLock
from config.causes import FailureCause
from config.errors import DriverError, Permanent, Transient
from config.model.access import SecretRef
from config.model.catalogue import CloudstackCloud, CloudstackRecipe, Profile
from config.units import GroupId, Instant, MemberName, Seconds
from handler.orchestrators.cloudstack.doctor import CloudstackDoctor
from handler.orchestrators.cloudstack.ids import AFFINITY_GROUP, NETWORK, OFFERING, TEMPLATE, ZONE, CloudstackIds
from handler.orchestrators.cloudstack.machines import CloudstackMachine, machine_of
from handler.orchestrators.cloudstack.names import CLAIM, MARK, RELEASED, TAG, host_name, mark_of, member_of, short_name
from handler.orchestrators.cloudstack.quotas import CloudstackQuotaMeter
from handler.planning.headroom import Quota
from handler.planning.launches import Claim, LaunchId
from handler.planning.world import Listing, Server
from handler.ports.examination import Check
from handler.ports.orchestrator import Launch

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ON_THEIR_WAY = frozenset({"Stopping", "Expunging"})


class CloudstackOrchestrator:
    """The driver of one CloudStack account. Sends nothing before the first call."""

    def __init__(
        self,
        declaration: CloudstackCloud,
        installation: str,
        clock: Callable[[], Instant],
        read_secret: Callable[[SecretRef], str],
        wait: Callable[[Seconds], None] = wait,
        circuits: Circuits | None = None,
    ) -> None:
        self._cloud = declaration
        self._installation = installation
        self._clock = clock
        self._wait = wait
        self._client = CloudstackClient(declaration, read_secret, circuits)
        self._jobs = JobPoller(self._client, clock, wait, declaration.job_timeout)
        self._ids = CloudstackIds(declaration.id, self._client, clock)
        self._meter = CloudstackQuotaMeter(cloud=declaration.id, client=self._client, ids=self._ids)
        self._turns = KeyedLock()

    def list(self, group: GroupId) -> Listing:
        """List a group's machines; complete if every page and every entry could be read.

        Raises:
            DriverError: not even the first page can be read.
        """
        listing = self._listed(f"{group}-{self._installation}-")
        servers = tuple(server for server in listing.servers if _group_of(server.name) == group)
        return replace(listing, servers=servers)

    def list_all(self) -> Listing:
        """List the machines of all groups, as `list`."""
        return self._listed(f"-{self._installation}-")

    def _listed(self, keyword: str) -> Listing:
        machines, because = self._machines(keyword=keyword)
        ours = [(self._member(machine), machine) for machine in machines if not machine.is_gone]
        servers = tuple(self._server(name, machine) for name, machine in ours if name is not None)
        return Listing(servers=servers, complete=not because, because=because)

    def find(self, name: MemberName) -> Server | None:
        """Find a machine; ``None`` only after complete listings without it. A destroyed machine is gone."""
        bearing = self._bearing(name)
        return self._server(name, bearing[0]) if bearing else None

    def create(self, launch: Launch) -> Server:
        """Deploy a machine and wait for it, or return the existing one with this name.

        Raises:
            Permanent: a limit of the account, a name without an object or with several, or another refusal; no machine
            is left.
            Transient: any other failure. An unfinished job goes on: its machine will be found by its name.
        """
        name = launch.id.name
        with self._turns.of(name):
            called = self._called(name)
            return self._server(name, called[0] if called else self._made(launch))

    def destroy(self, name: MemberName, *, grace: Seconds) -> None:
        """Have CloudStack stop and destroy the machine. CloudStack alone decides how long it may take to stop."""
        with self._turns.of(name):
            for machine in self._bearing(name):
                if machine.word not in _ON_THEIR_WAY:
                    self._destroy(name, machine)

    # Marks of existing machines: a tag, and a display name for people.

    @property
    def fixed_marks(self) -> str:
        """Return why marks cannot be written; empty: they can."""
        return ""

    def foreign_member(self, named: str) -> Server | None:
        """Look for a machine of the account by its id, host name or display name.

        Raises:
            Permanent: the machine bears a mark, or several machines have the name.
            Transient: none was seen, and not all could be.
        """
        machines, because = self._machines(keyword=named)
        called = [machine for machine in machines if named in {machine.host, machine.display} and not machine.is_gone]
        found = self._with_id(named) or called
        if because and not found:
            raise Transient(because)
        if len(found) > 1:
            ids = ", ".join(machine.id for machine in found)
            raise Permanent(f"{self._cloud.id}: {len(found)} machines are called {named}: write the id ({ids})")
        for machine in found:
            self._refuse_marked(machine, named)
            return self._server(MemberName(machine.host), machine)
        return None

    def mark(self, id: str, launch: LaunchId) -> Server:
        """Tag a machine and give it the member's name. If two callers tag it at once, CloudStack refuses one.

        Raises:
            Permanent: the machine is missing, bears another mark, or tag or name is refused; it has no tag of ours.
            Transient: any other failure; the tag may have been written.
        """
        with self._turns.of(launch.name):
            for machine in self._with_id(id):
                if machine.tag != launch.name:
                    self._refuse_marked(machine, id)
                    self._tag("createTags", id, TAG, launch.name)
                if machine.display != launch.name:
                    self._rename(id, launch)
                return self._server(launch.name, machine)
        raise Permanent(f"{self._cloud.id}: there is no machine {id}")

    def _rename(self, id: str, launch: LaunchId) -> None:
        """Give a tagged machine the member's name; if that is refused, remove the tag: listings are by name."""
        try:
            self._client.ask("updateVirtualMachine", id=id, displayname=launch.name)
        except Permanent as refused:
            try:
                self._tag("deleteTags", id, TAG, launch.name)
            except DriverError as error:
                raise Transient(f"{refused}; the tag {launch.name} could not be removed: {error}") from None
            raise

    def unmark(self, name: MemberName) -> None:
        """Tag a machine that Trimtab created, or remove the tag of an adopted one; display names stay."""
        with self._turns.of(name):
            for machine in self._bearing(name):
                made = member_of(self._installation, host=machine.host, display=machine.display, mark=machine.mark)
                if made is not None and not machine.released:
                    self._tag("createTags", machine.id, RELEASED, "true")
                if machine.tag is not None:
                    self._tag("deleteTags", machine.id, TAG, machine.tag)

    def claim(self, name: MemberName, claim: Claim) -> None:
        """Tag the machine with the claim. CloudStack overwrites no tag: an existing one is removed first."""
        with self._turns.of(name):
            for machine in self._bearing(name):
                if machine.claim_tag:
                    self._tag("deleteTags", machine.id, CLAIM, machine.claim_tag)
                self._tag("createTags", machine.id, CLAIM, claim.text)

    def _refuse_marked(self, machine: CloudstackMachine, named: str) -> None:
        borne = mark_of(host=machine.host, mark=machine.mark, tag=machine.last_word)
        if borne is not None:
            raise Permanent(f"{self._cloud.id}: {named} bears the mark {borne}")

    def _tag(self, command: str, id: str, key: str, value: str) -> None:
        given = {"resourceids": id, "resourcetype": "UserVm", "tags[0].key": key, "tags[0].value": value}
        state, result = self._ended(text(self._client.ask(command, **given), "jobid"))
        if state is not JobState.DONE:
            raise Transient(str(refusal(result, f"{self._cloud.id}: {command} of {id}")))

    # Checks before members depend on the cloud.

    def checks(self, profiles: Sequence[Profile], most: int) -> Sequence[Check]:
        """Return checks of the cloud, as `handler.ports.examination.Examined`."""
        examination = CloudstackDoctor(
            cloud=self._cloud,
            client=self._client,
            ids=self._ids,
            clock=self._clock,
            present=lambda: len(self.list_all().servers),
        )
        return examination.checks(profiles, most)

    # Room for new members.

    def quotas(self, profile: Profile) -> Sequence[Quota]:
        """Return the limits of the account or project, as `handler.ports.orchestrator.Metered`."""
        return self._meter.quotas(profile)

    # Making.

    def _made(self, launch: Launch) -> CloudstackMachine:
        answer = self._client.ask("deployVirtualMachine", **self._parameters(launch))
        job = text(answer, "jobid")
        if not job:
            raise Transient(f"{self._about(launch.id.name)}: the response has no job id; looking it up by name")
        state, result = self._ended(job)
        match state:
            case JobState.PENDING:
                raise Transient(f"{self._about(launch.id.name)} is still being deployed; looking it up by name")
            case JobState.DONE:
                entry = result.get("virtualmachine") if isinstance(result, Mapping) else None
                machine = machine_of(entry)
                if machine is None or self._member(machine) != launch.id.name:
                    raise Transient(f"{self._about(launch.id.name)}: the answer cannot be read; looking it up by name")
                return machine
            case JobState.FAILED | JobState.CANCELLED:
                raise self._cleared(launch.id.name, refusal(result, self._about(launch.id.name)))
            case _:
                assert_never(state)

    def _cleared(self, name: MemberName, failure: DriverError) -> DriverError:
        """Remove the rest of a failed deployment. While a rest exists, the failure is not permanent."""
        try:
            for machine in self._called(name):
                self._destroy(name, machine)
            left = self._called(name)
        except DriverError as error:
            return Transient(f"{failure}; the rest of it could not be removed: {error}")
        return Transient(f"{failure}; the rest of it is being removed") if left else failure

    def _parameters(self, launch: Launch) -> dict[str, str]:
        recipe = launch.profile.recipe
        if not isinstance(recipe, CloudstackRecipe):
            message = f"profile {launch.profile.id} has no zone, template and offering"
            raise Permanent(message, cause=FailureCause.LAUNCH_CONFIGURATION)
        zone = self._ids.of(ZONE, recipe.zone)
        given = {
            **dict(recipe.parameters),
            "zoneid": zone,
            "templateid": self._ids.of(TEMPLATE, recipe.template, zone),
            "serviceofferingid": self._ids.of(OFFERING, recipe.offering),
            "networkids": ",".join(self._ids.of(NETWORK, network, zone) for network in recipe.networks),
            "affinitygroupids": ",".join(self._ids.of(AFFINITY_GROUP, group) for group in recipe.affinity_groups),
            "userdata": base64.b64encode(recipe.user_data.encode()).decode(),
            "name": host_name(launch.id, short=recipe.short_names),
            "displayname": launch.id.name,
            f"details[0].{MARK}": launch.id.name,
            f"details[0].{CLAIM}": "" if launch.claim is None else launch.claim.text,
        }
        return {key: value for key, value in given.items() if value}

    # Removing.

    def _destroy(self, name: MemberName, machine: CloudstackMachine) -> None:
        expunge = {"expunge": "true"} if self._cloud.expunge else {}
        try:
            answer = self._client.ask("destroyVirtualMachine", id=machine.id, **expunge)
        except Permanent:
            if self._bearing(name):
                raise
            return
        state, result = self._ended(text(answer, "jobid"))
        if state in {JobState.FAILED, JobState.CANCELLED} and self._bearing(name):
            raise refusal(result, self._about(name))

    # Jobs.

    def _ended(self, job: str) -> tuple[JobState, object]:
        """Wait for a job, with growing pauses. One that has not ended in time is PENDING; it goes on."""
        return self._jobs.ended(job)

    # Looking.

    def _bearing(self, name: MemberName) -> tuple[CloudstackMachine, ...]:
        """Return the machines of this member, the oldest first: one, unless another client created more.

        Raises:
            Transient: none was seen, and not all could be.
        """
        called = self._called(name)
        if called or not self._is_ours(name):
            return called
        return self._of(name, {"tags[0].key": TAG, "tags[0].value": name})  # adopted, and renamed later

    def _called(self, name: MemberName) -> tuple[CloudstackMachine, ...]:
        """Return the machines with this name. Raises as `_bearing`."""
        launch = LaunchId.parse(name)
        if launch is None or not self._is_ours(name):
            return ()
        hosts = dict.fromkeys((launch.name, short_name(launch)))
        return self._of(name, *({"keyword": host} for host in hosts))

    def _is_ours(self, name: MemberName) -> bool:
        launch = LaunchId.parse(name)
        return launch is not None and launch.installation == self._installation

    def _of(self, name: MemberName, *asked: Mapping[str, str]) -> tuple[CloudstackMachine, ...]:
        found: dict[str, CloudstackMachine] = {}
        for by in asked:
            machines, because = self._machines(**by)
            found |= {machine.id: machine for machine in machines if self._member(machine) == name}
            if because and not found:
                raise Transient(because)
        there = (machine for machine in found.values() if not machine.is_gone)
        return tuple(sorted(there, key=lambda machine: (machine.created_at, machine.id)))

    def _with_id(self, id: str) -> Sequence[CloudstackMachine]:
        """Return the machine with this id of the cloud; empty: there is none, or it is destroyed.

        Raises:
            Transient: it was not seen, but the listing is incomplete.
        """
        if not _ID.fullmatch(id):
            return ()
        machines, because = self._machines(id=id)
        found = [machine for machine in machines if machine.id == id and not machine.is_gone]
        if because and not found:
            raise Transient(because)
        return found

    def _machines(self, **by: str) -> tuple[tuple[CloudstackMachine, ...], str]:
        """Return the account's machines, each once, and why these are incomplete; ``keyword`` filters names."""
        entries = self._client.every("listVirtualMachines", "virtualmachine", details="nics", **by)
        read = [machine_of(entry) for entry in entries.read]
        machines = {machine.id: machine for machine in read if machine is not None}
        senseless = f"{self._cloud.id}: listVirtualMachines lists entries that cannot be read" if None in read else ""
        return tuple(machines.values()), entries.because or senseless

    def _member(self, machine: CloudstackMachine) -> MemberName | None:
        names = {"host": machine.host, "display": machine.display}
        return member_of(self._installation, **names, mark=machine.mark, tag=machine.last_word)

    def _server(self, name: MemberName, machine: CloudstackMachine) -> Server:
        return Server(
            name=name,
            id=machine.id,
            state=machine.state(self._clock(), self._cloud.job_timeout),
            address=machine.address,
            created_at=machine.created_at,
            raw_state=machine.word,
            zone=machine.zone,
            claim=machine.claim,
        )

    def _about(self, name: MemberName) -> str:
        return f"{self._cloud.id}: {name}"


def _group_of(name: MemberName) -> GroupId | None:
    launch = LaunchId.parse(name)
    return None if launch is None else launch.group
