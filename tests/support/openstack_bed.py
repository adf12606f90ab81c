"""A real OpenStack, where there is one: contracts are then kept there too.

``TRIMTAB_REAL_OPENSTACK`` names a cloud of the ``clouds.yaml`` that ``OS_CLIENT_CONFIG_FILE`` names. What else a bed
has is told by ``TRIMTAB_REAL_IMAGE``, ``_FLAVOR`` and ``_NETWORK``.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from config.model import OpenstackCloud, OpenstackRecipe, Profile
from config.openstack import CloudsYaml, OpenstackAccess
from config.units import CloudId, GroupId, Instant, MemberName, ProfileId, Seconds
from handler.balancers.octavia_answers import Entry, page_of
from handler.launches import LaunchId
from handler.openstack.answers import Answer, entries, mapping
from handler.openstack.connection import COMPUTE, LOAD_BALANCER, NETWORK, Connection
from handler.orchestrators.interface import Launch
from handler.orchestrators.openstack import OpenstackOrchestrator
from handler.orchestrators.openstack_answers import id_of
from handler.orchestrators.openstack_nova import Nova
from handler.world import Server, ServerState
from tests.support.orchestrators import installation
from tests.support.waiting import until

CLOUD = os.environ.get("TRIMTAB_REAL_OPENSTACK", "")
_PATIENCE: Seconds = 120.0


def an_access() -> OpenstackAccess:
    credentials = CloudsYaml(cloud=CLOUD, file=os.environ.get("OS_CLIENT_CONFIG_FILE"))
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


class Patient:
    """A driver whose members are waited for: contracts are written for clouds that take no time."""

    def __init__(self, driver: OpenstackOrchestrator) -> None:
        self._driver = driver

    def create(self, launch: Launch) -> Server:
        server = self._driver.create(launch)
        deadline = time.monotonic() + _PATIENCE
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
    """Two installations that nobody else has, in one project."""

    here: str = field(default_factory=installation)
    there: str = field(default_factory=installation)
    strangers: list[str] = field(default_factory=list)
    cloud: OpenstackCloud = field(default_factory=lambda: OpenstackCloud(id=CloudId("bed"), access=an_access()))

    def __post_init__(self) -> None:
        self.connection = Connection(self.cloud.id, self.cloud.access, no_secrets)
        self.nova = Nova(self.connection)

    def driver(self, *, elsewhere: bool = False) -> Any:
        name = self.there if elsewhere else self.here
        return Patient(OpenstackOrchestrator(self.cloud, name, wall, no_secrets))

    def launch(self, sequence: int = 1, group: str = "web", *, elsewhere: bool = False) -> Launch:
        mark = LaunchId(installation=self.there if elsewhere else self.here, group=GroupId(group), sequence=sequence)
        profile = Profile(id=ProfileId("p"), cloud=self.cloud.id, recipe=a_recipe())
        return Launch(id=mark, profile=profile)

    def kill(self, server: Server) -> None:
        self._delete(server.id)

    def stranger(self, name: str) -> str:
        launch = self.launch(999, elsewhere=True)
        body = self.driver()._driver._request(launch)  # type: ignore[attr-defined]
        body["server"] |= {"name": name, "metadata": {}}
        made = id_of(self.nova.ask("POST", "/servers", body=body).body)
        self.strangers.append(made)
        until(lambda: (seen := self.nova.server(made)) is not None and seen.status == "ACTIVE", within=_PATIENCE)
        return made

    def count(self, name: MemberName) -> int:
        return sum(server.name == name for server in self.nova.everything().machines)

    def _delete(self, server: str) -> None:
        self.connection.ask(COMPUTE, "DELETE", f"/servers/{server}", but=frozenset({404}))

    def clear(self) -> None:
        for server in (*self.mine(), *self.strangers):
            self._delete(server)
        until(lambda: not self.mine(), within=_PATIENCE)

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


BEDS = [pytest.param(bed_stage, id="openstack-bed")] if CLOUD else []
"""For the contracts' tables."""


@dataclass(frozen=True)
class FileAccess:
    """How a declaration names this bed."""

    @property
    def facts(self) -> dict[str, str]:
        recipe = a_recipe()
        file = os.environ.get("OS_CLIENT_CONFIG_FILE", "/etc/openstack/clouds.yaml")
        made_of = {"image": recipe.image, "flavor": recipe.flavor, "network": recipe.networks[0]}
        return {"cloud": CLOUD, "file": file, **made_of}


@dataclass
class Front:
    """A load balancer with a listener and an empty pool."""

    stage: BedStage
    load_balancer: str
    pool: str = ""

    def told(self, method: str, path: str, body: object = None) -> Any:
        """Make a change once nobody else is changing anything; its answer."""
        answers: list[Answer] = []

        def accepted() -> bool:
            answer = self.stage.connection.ask(LOAD_BALANCER, method, path, body=body, but=frozenset({404, 409}))
            answers.append(answer)
            return answer.status != 409

        until(accepted, within=_PATIENCE, every=0.2)
        return answers[-1].body

    def seated(self) -> tuple[Entry, ...]:
        """Everybody in the pool."""
        answer = self.stage.connection.ask(LOAD_BALANCER, "GET", f"/lbaas/pools/{self.pool}/members")
        page = page_of(answer.body)
        assert page is not None
        return page[0]

    def seat_stranger(self, address: str) -> None:
        member = {"name": "database", "address": address, "protocol_port": 80}
        self.told("POST", f"/lbaas/pools/{self.pool}/members", {"member": member})


@contextlib.contextmanager
def a_front(stage: BedStage) -> Iterator[Front]:
    subnets = stage.connection.ask(NETWORK, "GET", "/subnets").body
    subnet = mapping({"first": entries(subnets, "subnets")[0]}, "first")["id"]  # type: ignore[index]
    name = f"trial-{stage.here}"
    front = Front(stage, "")
    given = {"loadbalancer": {"name": name, "vip_subnet_id": subnet}}
    front.load_balancer = front.told("POST", "/lbaas/loadbalancers", given)["loadbalancer"]["id"]
    try:
        port = {"loadbalancer_id": front.load_balancer, "protocol": "HTTP", "protocol_port": 80}
        listener = front.told("POST", "/lbaas/listeners", {"listener": port})["listener"]["id"]
        spread = {"listener_id": listener, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "name": name}
        front.pool = front.told("POST", "/lbaas/pools", {"pool": spread})["pool"]["id"]
        yield front
    finally:
        front.told("DELETE", f"/lbaas/loadbalancers/{front.load_balancer}?cascade=true")
