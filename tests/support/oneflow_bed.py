"""A real OneFlow, where there is one: contracts are then kept there too.

Its ``bed.json`` is that of `tests.support.opennebula_bed`, where ``oneflow``, ``oneflow_user`` and
``oneflow_password`` stand; the user owns the services that are made here. ``"oneflow_release": "6.10"`` beside
them: roles are written as that release has them.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collector.clients.opennebula.client import OpennebulaClient
from config.errors import Transient
from config.model.access import SecretRef
from config.model.catalogue import OneflowCloud, OneflowRecipe, Profile
from config.units import CloudId, GroupId, Instant, MemberName, ProfileId
from handler.orchestrators.oneflow.client import FlowWire
from handler.orchestrators.oneflow.driver import OneflowOrchestrator
from handler.orchestrators.oneflow.parsing import RUNNING, Service, service_of
from handler.orchestrators.opennebula.parsing import OpennebulaMachine, machine_of
from handler.planning.launches import LaunchId
from handler.planning.world import Server, ServerState
from handler.ports.orchestrator import Launch
from tests.support.opennebula_bed import a_bed, a_secret, as_admin, facts, wall
from tests.support.orchestrators import installation
from tests.support.real_clouds import stages
from tests.support.waiting import PATIENT, until

NAMING = "$ROLE_NAME_$VM_NUMBER_(service_$SERVICE_ID)"
_OWN, _NOT_DONE, _DELETE = -3, -1, 3


def a_cloud() -> OneflowCloud:
    own_id, known = CloudId("bed"), facts()
    nebula = a_bed(id=own_id, user=known["oneflow_user"], password=SecretRef(env="oneflow_password"), hard=True)
    return OneflowCloud(id=own_id, endpoint=known["oneflow"], nebula=nebula, vm_name=NAMING)


class Patient:
    """A driver that is asked again while OneFlow is at something, as passes do; members are waited for."""

    def __init__(self, driver: OneflowOrchestrator) -> None:
        self._driver = driver

    def create(self, launch: Launch) -> Server:
        deadline = time.monotonic() + PATIENT
        while True:
            try:
                server = self._driver.create(launch)
                if server.state is not ServerState.BUILDING:
                    return server
            except Transient:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.2)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)


@dataclass
class FlowBedStage:
    """Two installations of this run's own, as one user, with a service for each group of either."""

    here: str = field(default_factory=installation)
    there: str = field(default_factory=installation)
    foreign: list[int] = field(default_factory=list)
    services: dict[str, int] = field(default_factory=dict)
    cloud: OneflowCloud = field(default_factory=a_cloud)

    def __post_init__(self) -> None:
        self.wire, self.flow = OpennebulaClient(self.cloud.nebula, a_secret), FlowWire(self.cloud, a_secret)

    def driver(self, *, elsewhere: bool = False) -> Any:
        return Patient(OneflowOrchestrator(self.cloud, self.there if elsewhere else self.here, wall, a_secret))

    def launch(self, sequence: int = 1, group: str = "web", *, elsewhere: bool = False) -> Launch:
        mark = LaunchId(installation=self.there if elsewhere else self.here, group=GroupId(group), sequence=sequence)
        service = str(self.service(f"{group}-{mark.installation}"))
        recipe = OneflowRecipe(service=service, role="node")
        return Launch(id=mark, profile=Profile(id=ProfileId("p"), cloud=self.cloud.id, recipe=recipe))

    def service(self, name: str, nodes: int = 0) -> int:
        """The id of a service with one role; it is made when it is asked for first."""
        if name not in self.services:
            role = {"name": "node", "cardinality": nodes, "cooldown": 0, **self._kind()}
            template: Any = self.flow.ask("POST", "/service_template", {"name": name, "roles": [role]})
            made_of = template["DOCUMENT"]["ID"]
            given = {"perform": "instantiate", "params": {"merge_template": {"name": name}}}
            made: Any = self.flow.ask("POST", f"/service_template/{made_of}/action", {"action": given})
            self.services[name] = own_id = int(made["DOCUMENT"]["ID"])
            self.flow.ask("DELETE", f"/service_template/{made_of}", {"delete_type": "none"})
            until(lambda: self.shown(own_id).state == RUNNING, every=0.2)
        return self.services[name]

    def shown(self, own_id: int) -> Service:
        service = service_of(self.flow.ask("GET", f"/service/{own_id}"))
        assert service is not None
        return service

    def _kind(self) -> dict[str, str | int]:
        own = self._template()
        return {"vm_template": own} if facts().get("oneflow_release") == "6.10" else {"type": "vm", "template_id": own}

    def _template(self) -> int:
        pool = self.wire.every("templatepool.info", "VMTEMPLATE", -2)
        return next(int(entry.ID) for entry in pool.read if getattr(entry, "NAME", "") == "web")  # type: ignore[attr-defined]

    def kill(self, server: Server) -> None:
        as_admin("vm.recover", int(server.id), _DELETE)

    def foreign_member(self, name: str) -> str:
        made = self.wire.ask("template.instantiate", self._template(), name, False, "", False)
        assert isinstance(made, int)
        self.foreign.append(made)
        until(lambda: any(vm.id == made and vm.lcm for vm in self.machines()), every=0.1)
        return str(made)

    def count(self, name: MemberName) -> int:
        return sum(vm.launch is not None and vm.launch.name == name for vm in self.machines())

    def machines(self) -> list[OpennebulaMachine]:
        pool = self.wire.every("vmpool.infoextended", "VM", _OWN, _NOT_DONE)
        assert not pool.because
        return [vm for entry in pool.read if (vm := machine_of(entry)) is not None]

    def clear(self) -> None:
        nodes = [
            node for own in self.services.values() for role in self.shown(own).roles.values() for node in role.nodes
        ]
        ours = [vm.id for vm in self.machines() if vm.launch and vm.launch.installation in {self.here, self.there}]
        for own_id in self.services.values():
            given = {"action": {"perform": "recover", "params": {"delete": True}}}
            self.flow.ask("POST", f"/service/{own_id}/action", given)
        left = {*nodes, *ours, *self.foreign}
        for own_id in left & {vm.id for vm in self.machines()}:
            as_admin("vm.recover", own_id, _DELETE)
        until(lambda: not left & {vm.id for vm in self.machines()}, every=0.1)


@contextlib.contextmanager
def flow_bed_stage(_: Path | None = None, clock: Callable[[], Instant] | None = None) -> Iterator[FlowBedStage]:
    stage = FlowBedStage()
    try:
        stage.launch()  # makes the service that most tests use: making it takes longer than a member
        yield stage
    finally:
        stage.clear()


FLOW_BEDS = stages("oneflow", flow_bed_stage)
"""For the contracts' tables."""
