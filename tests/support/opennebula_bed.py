"""A real OpenNebula, where there is one: contracts are then kept there too.

``TRIMTAB_REAL_OPENNEBULA`` names the ``bed.json`` that ``python -m tests.beds.opennebula up`` leaves behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
import xmlrpc.client
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collector.clients.opennebula.client import OpennebulaClient
from config.model.access import SecretRef
from config.model.catalogue import OpennebulaCloud, OpennebulaRecipe, Profile
from config.units import CloudId, GroupId, Instant, MemberName, ProfileId
from handler.orchestrators.opennebula.driver import OpennebulaOrchestrator
from handler.orchestrators.opennebula.parsing import OpennebulaMachine, machine_of
from handler.planning.launches import LaunchId
from handler.planning.world import Server, ServerState
from handler.ports.orchestrator import Launch
from tests.beds.opennebula import Bed
from tests.support.orchestrators import installation
from tests.support.real_clouds import OPENNEBULA, stages
from tests.support.waiting import PATIENT, until

_OWN, _NOT_DONE, _DELETE, _CREATE = -3, -1, 3, 0x8
_KINDS = {"VM": 0x1000000000, "TEMPLATE": 0x20000000000}


def facts() -> Mapping[str, str]:
    facts_read: Mapping[str, str] = json.loads(Path(OPENNEBULA).read_text())
    return facts_read


def a_bed(**fields: Any) -> OpennebulaCloud:
    kept = {"user": facts()["user"], "password": SecretRef(env="password"), "endpoint": facts()["endpoint"]}
    return OpennebulaCloud(**{"id": CloudId("bed"), "timeout": 15.0, **kept, **fields})


def a_secret(ref: SecretRef) -> str:
    return facts()[ref.env or ""]


def as_admin(method: str, *arguments: object) -> Any:
    """Call a method of the API as the administrator; the answer as it came: done, value, code."""
    session = f"{facts()['admin']}:{facts()['admin_password']}"
    with xmlrpc.client.ServerProxy(facts()["endpoint"]) as proxy:
        return getattr(proxy, f"one.{method}")(session, *arguments)


def wall() -> Instant:
    return Instant(time.time())


class Patient:
    """A driver whose members are waited for: contracts are written for clouds that take no time."""

    def __init__(self, driver: OpennebulaOrchestrator) -> None:
        self._driver = driver

    def create(self, launch: Launch) -> Server:
        server = self._driver.create(launch)
        deadline = time.monotonic() + PATIENT
        while server.state is ServerState.BUILDING:
            assert time.monotonic() < deadline, server
            time.sleep(0.1)
            found = self._driver.find(launch.id.name)
            assert found is not None
            server = found
        return server

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)


@dataclass
class NebulaBedStage:
    """Two installations of this run's own, as one user."""

    here: str = field(default_factory=installation)
    there: str = field(default_factory=installation)
    foreign: list[str] = field(default_factory=list)
    cloud: OpennebulaCloud = field(default_factory=a_bed)

    def __post_init__(self) -> None:
        self.wire = OpennebulaClient(self.cloud, a_secret)

    def driver(self, *, elsewhere: bool = False) -> Any:
        name = self.there if elsewhere else self.here
        return Patient(OpennebulaOrchestrator(self.cloud, name, wall, a_secret))

    def launch(self, sequence: int = 1, group: str = "web", *, elsewhere: bool = False) -> Launch:
        mark = LaunchId(installation=self.there if elsewhere else self.here, group=GroupId(group), sequence=sequence)
        recipe = OpennebulaRecipe(template="web", networks=("tier",))
        return Launch(id=mark, profile=Profile(id=ProfileId("p"), cloud=self.cloud.id, recipe=recipe))

    def kill(self, server: Server) -> None:
        as_admin("vm.recover", int(server.id), _DELETE)

    def foreign_member(self, name: str) -> str:
        made = self.wire.ask("template.instantiate", 0, name, False, "", False)
        self.foreign.append(str(made))
        until(lambda: any(vm.id == made and vm.lcm for vm in self.machines()), every=0.1)
        return str(made)

    def count(self, name: MemberName) -> int:
        return sum(vm.mark == name for vm in self.machines())

    def machines(self) -> list[OpennebulaMachine]:
        """All of the user that are there, asked without the driver's own eyes."""
        pool = self.wire.every("vmpool.infoextended", "VM", _OWN, _NOT_DONE)
        assert not pool.because
        return [vm for entry in pool.read if (vm := machine_of(entry)) is not None]

    def clear(self) -> None:
        for own in self.mine():
            as_admin("vm.recover", own, _DELETE)
        until(lambda: not self.mine(), every=0.05)

    def mine(self) -> list[int]:
        """Machines that this stage made, by whichever name they go now."""
        ours, foreign = {self.here, self.there}, set(self.foreign)
        return [
            vm.id
            for vm in self.machines()
            if str(vm.id) in foreign or (vm.launch is not None and vm.launch.installation in ours)
        ]


@contextlib.contextmanager
def nebula_bed_stage(_: Path | None = None, clock: Callable[[], Instant] | None = None) -> Iterator[NebulaBedStage]:
    stage = NebulaBedStage()
    try:
        yield stage
    finally:
        stage.clear()


NEBULA_BEDS = stages("opennebula", nebula_bed_stage)
"""For the contracts' tables."""


@contextlib.contextmanager
def a_user(*rights: str) -> Iterator[OpennebulaCloud]:
    """Make a new user in a group of their own, with rights to create these objects and the bed's password."""
    name = f"trial-{installation()}"
    group = as_admin("group.allocate", name)[1]
    user = as_admin("user.allocate", name, facts()["password"], "", [group])[1]
    for kind in rights:
        rule = (f"{0x200000000 + group:x}", f"{_KINDS[kind] | 0x400000000:x}", f"{_CREATE:x}", f"{0x400000000:x}")
        assert as_admin("acl.addrule", *rule)[0]
    cloud = a_bed(user=name)
    try:
        yield cloud
    finally:
        stage = NebulaBedStage(cloud=cloud)
        stage.foreign = [str(vm.id) for vm in stage.machines()]
        stage.clear()
        as_admin("user.delete", user)
        as_admin("group.delete", group)


def a_quota(cloud: OpennebulaCloud, **limits: int) -> None:
    """Limit what the user may have; -1: the default, which is no limit."""
    user = OpennebulaClient(cloud, a_secret).ask("user.info", -1)
    given = "".join(f"<{what}>{limit}</{what}>" for what, limit in limits.items())
    assert as_admin("user.quota", user.ID, f"<TEMPLATE><VM>{given}</VM></TEMPLATE>")[0]  # type: ignore[attr-defined]


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Hypervisors do nothing meanwhile: machines stay in BOOT or SHUTDOWN."""
    bed = Bed(Path(OPENNEBULA).parent)
    drivers = [own for own in bed.running() if b"one_vmm_dummy.rb" in Path(f"/proc/{own}/cmdline").read_bytes()]
    for own in drivers:
        os.kill(own, signal.SIGSTOP)
    try:
        yield
    finally:
        for own in drivers:
            os.kill(own, signal.SIGCONT)
