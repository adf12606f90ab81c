"""A real OpenStack, where there is one: contracts are then kept there too.

``TRIMTAB_REAL_OPENSTACK`` names a cloud of the ``clouds.yaml`` that ``OS_CLIENT_CONFIG_FILE`` names. What else a bed
has is told by ``TRIMTAB_REAL_IMAGE``, ``_FLAVOR``, ``_NETWORK`` and ``_OUTSIDE``.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.ids import NETWORK_KIND, OpenstackIds
from collector.clients.openstack.parsing import ServiceResponse, entries, mapping
from collector.clients.openstack.session import BLOCK_STORAGE, COMPUTE, LOAD_BALANCER, NETWORK
from config.errors import DriverError
from config.model.catalogue import OpenstackCloud, OpenstackRecipe, Profile
from config.model.openstack import CloudsYaml, OpenstackAccess
from config.model.parts import FloatingAddress, MemberPart, NetworkPort, Volume
from config.units import CloudId, GroupId, Instant, MemberName, PartName, ProfileId
from handler.balancers.octavia.parsing import PoolMember, page_of
from handler.orchestrators.openstack.driver import OpenstackOrchestrator
from handler.orchestrators.openstack.nova import Nova
from handler.orchestrators.openstack.parsing import id_of
from handler.orchestrators.openstack.part_parsing import ADDRESSES, PORTS, SHELVES, VOLUMES
from handler.orchestrators.openstack.request import request_of
from handler.planning.launches import LaunchId
from handler.planning.world import MadePart, PartListing, PartState, Server, ServerState
from handler.ports.orchestrator import Launch
from tests.support.openstack import marked
from tests.support.orchestrators import installation
from tests.support.real_clouds import OPENSTACK, stages
from tests.support.waiting import PATIENT, until

OUTSIDE = os.environ.get("TRIMTAB_REAL_OUTSIDE", "public")
"""The network that floating addresses are from."""
_NULLABLE = {"OS-EXT-STS:task_state", "subnet_id", "monitor_address", "monitor_port"}
_SHELVES = {Volume: VOLUMES, NetworkPort: PORTS, FloatingAddress: ADDRESSES}
_AT = {shelf.path: shelf for shelf in SHELVES}


def an_access() -> OpenstackAccess:
    credentials = CloudsYaml(cloud=OPENSTACK, file=os.environ.get("OS_CLIENT_CONFIG_FILE"))
    return OpenstackAccess(credentials=credentials, timeout=60.0)


def a_recipe() -> OpenstackRecipe:
    return OpenstackRecipe(
        image=os.environ.get("TRIMTAB_REAL_IMAGE", "none"),
        flavor=os.environ.get("TRIMTAB_REAL_FLAVOR", "s1"),
        networks=(os.environ.get("TRIMTAB_REAL_NETWORK", "net"),),
    )


def no_secrets(_: object) -> str:
    raise AssertionError("clouds.yaml holds them")


def wall() -> Instant:
    return Instant(time.time())


def misfits(ours: Any, real: Any, where: str = "") -> Iterator[str]:
    """Where ours has what the real one does not have. Where the real one has nothing, nothing is known."""
    if real is None or (ours is None and where.rpartition(".")[2] in _NULLABLE):
        return
    if type(ours) is not type(real):
        yield f"{where}: {type(ours).__name__} for {type(real).__name__}"
    elif isinstance(ours, dict) and not where.endswith((".metadata", ".addresses")):
        for key, value in ours.items():
            if key in real:
                yield from misfits(value, real[key], f"{where}.{key}")
            else:
                yield f"{where}.{key}: is not there"
    elif isinstance(ours, list) and ours and real:
        yield from misfits(ours[0], real[0], f"{where}[]")


class Patient:
    """A driver whose members are waited for: contracts are written for clouds that take no time."""

    def __init__(self, driver: OpenstackOrchestrator, made: set[tuple[str, str]] | None = None) -> None:
        self._driver = driver
        self._made = set() if made is None else made
        """Kinds and ids of all parts."""

    def parts(self, group: GroupId) -> PartListing:
        return self._driver.parts(group)

    def find_part(self, member: MemberName, name: PartName) -> MadePart | None:
        return self._driver.find_part(member, name)

    def make_part(self, member: MemberName, part: MemberPart, profile: Profile) -> None:
        self._driver.make_part(member, part, profile)
        found = self._driver.find_part(member, part.name)
        assert found is not None
        self._made.add((_SHELVES[type(part.spec)].path, found.id))
        until(lambda: self._state(member, part.name) is PartState.READY, every=0.2)

    def remove_part(self, member: MemberName, name: PartName) -> None:
        self._driver.remove_part(member, name)
        until(lambda: self._state(member, name) is None, every=0.2)

    def release_part(self, member: MemberName, name: PartName) -> None:
        self._driver.release_part(member, name)

    def _state(self, member: MemberName, name: PartName) -> PartState | None:
        found = self._driver.find_part(member, name)
        return None if found is None else found.state

    def create(self, launch: Launch) -> Server:
        server = self._driver.create(launch)
        deadline = time.monotonic() + PATIENT
        while server.state is ServerState.BUILDING:
            assert time.monotonic() < deadline, server
            time.sleep(0.5)
            found = self._driver.find(launch.id.name)
            assert found is not None
            server = found
        return server

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)


@dataclass
class BedStage:
    """Two installations of this run's own, in one project."""

    here: str = field(default_factory=installation)
    there: str = field(default_factory=installation)
    foreign: list[str] = field(default_factory=list)
    network: str = field(default_factory=lambda: a_recipe().networks[0])
    outside: str = OUTSIDE
    made: set[tuple[str, str]] = field(default_factory=set)
    """Kinds and ids of all parts."""
    cloud: OpenstackCloud = field(default_factory=lambda: OpenstackCloud(id=CloudId("bed"), access=an_access()))

    def __post_init__(self) -> None:
        self.connection = OpenstackConnection(self.cloud.id, self.cloud.access, no_secrets)
        self.nova = Nova(self.connection)

    def driver(self, *, elsewhere: bool = False) -> Any:
        name = self.there if elsewhere else self.here
        return Patient(OpenstackOrchestrator(self.cloud, name, wall, no_secrets), self.made)

    def launch(self, sequence: int = 1, group: str = "web", *, elsewhere: bool = False) -> Launch:
        mark = LaunchId(installation=self.there if elsewhere else self.here, group=GroupId(group), sequence=sequence)
        profile = Profile(id=ProfileId("p"), cloud=self.cloud.id, recipe=a_recipe())
        return Launch(id=mark, profile=profile)

    def kill(self, server: Server) -> None:
        self._delete(server.id)

    def foreign_member(self, name: str) -> str:
        launch = self.launch(999, elsewhere=True)
        body: Any = request_of(launch, OpenstackIds(self.connection, wall))
        body["server"] |= {"name": name, "metadata": {}}
        made = id_of(self.nova.ask("POST", "/servers", body=body).body)
        self.foreign.append(made)
        until(lambda: (seen := self.nova.server(made)) is not None and seen.status == "ACTIVE")
        return made

    def count(self, name: MemberName) -> int:
        return sum(server.name == name for server in self.nova.everything().machines)

    def parts(self) -> list[tuple[str, str]]:
        """All that were made and are there, by whose mark they bear."""
        found = []
        for path, own_id in self.made:
            answer = self.connection.ask(_AT[path].service, "GET", f"{path}/{own_id}", but=frozenset({404}))
            if answer.status != 404:
                found.append(marked(mapping(answer.body, _AT[path].single)))
        return sorted(found)

    @property
    def makes_parts(self) -> bool:
        """Whether there are an outer network and volumes to make parts of."""
        try:
            OpenstackIds(self.connection, wall).of(NETWORK_KIND, OUTSIDE)
            self.connection.ask(BLOCK_STORAGE, "GET", "/volumes/detail")
        except DriverError:
            return False
        return True

    def _take_away(self) -> None:
        for path, own_id in sorted(self.made):
            self.connection.ask(_AT[path].service, "DELETE", f"{path}/{own_id}", but=frozenset({400, 404}))

    def _delete(self, server: str) -> None:
        self.connection.ask(COMPUTE, "DELETE", f"/servers/{server}", but=frozenset({404}))

    def clear(self) -> None:
        for server in (*self.mine(), *self.foreign):
            self._delete(server)
        until(lambda: not self.mine())
        until(lambda: (self._take_away(), not self.parts())[1], every=0.5)

    def mine(self) -> list[str]:
        marks = {self.here, self.there}
        return [
            server.id
            for server in self.nova.everything().machines
            if server.mark is not None and server.mark.installation in marks
        ]


@contextlib.contextmanager
def bed_stage(_: Path | None = None, clock: Callable[[], Instant] | None = None) -> Iterator[BedStage]:
    stage = BedStage()
    try:
        yield stage
    finally:
        stage.clear()


BEDS = stages("openstack", bed_stage)
"""For the contracts' tables."""


@dataclass(frozen=True)
class FileAccess:
    """How a declaration names this bed."""

    @property
    def facts(self) -> dict[str, str]:
        recipe = a_recipe()
        file = os.environ.get("OS_CLIENT_CONFIG_FILE", "/etc/openstack/clouds.yaml")
        made_of = {"image": recipe.image, "flavor": recipe.flavor, "network": recipe.networks[0]}
        return {"cloud": OPENSTACK, "file": file, **made_of}


@dataclass
class Front:
    """A load balancer with a listener and an empty pool."""

    stage: BedStage
    load_balancer: str
    pool: str = ""

    def change(self, method: str, path: str, body: object = None) -> Any:
        """Make a change once no other change is under way; its answer."""
        answers: list[ServiceResponse] = []

        def accepted() -> bool:
            answer = self.stage.connection.ask(LOAD_BALANCER, method, path, body=body, but=frozenset({404, 409}))
            answers.append(answer)
            return answer.status != 409

        until(accepted, every=0.2)
        return answers[-1].body

    def registered(self) -> tuple[PoolMember, ...]:
        """Everybody in the pool."""
        answer = self.stage.connection.ask(LOAD_BALANCER, "GET", f"/lbaas/pools/{self.pool}/members")
        page = page_of(answer.body)
        assert page is not None
        return page[0]

    def register_foreign(self, address: str) -> None:
        member = {"name": "database", "address": address, "protocol_port": 80}
        self.change("POST", f"/lbaas/pools/{self.pool}/members", {"member": member})


@contextlib.contextmanager
def a_front(stage: BedStage) -> Iterator[Front]:
    subnets = stage.connection.ask(NETWORK, "GET", "/subnets").body
    subnet = mapping({"first": entries(subnets, "subnets")[0]}, "first")["id"]  # type: ignore[index]
    name = f"trial-{stage.here}"
    front = Front(stage, "")
    given = {"loadbalancer": {"name": name, "vip_subnet_id": subnet}}
    front.load_balancer = front.change("POST", "/lbaas/loadbalancers", given)["loadbalancer"]["id"]
    try:
        port = {"loadbalancer_id": front.load_balancer, "protocol": "HTTP", "protocol_port": 80}
        listener = front.change("POST", "/lbaas/listeners", {"listener": port})["listener"]["id"]
        spread = {"listener_id": listener, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "name": name}
        front.pool = front.change("POST", "/lbaas/pools", {"pool": spread})["pool"]["id"]
        yield front
    finally:
        front.change("DELETE", f"/lbaas/loadbalancers/{front.load_balancer}?cascade=true")
