"""A OneFlow to test the driver against, as it is in 7.0 and as it was in 6.10, and declarations of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collector.clients.coalescing import QUIET
from config.model.catalogue import OneflowCloud, OneflowRecipe, Profile
from config.units import CloudId, GroupId, Instant, MemberName, ProfileId, Seconds
from handler.orchestrators.oneflow.driver import OneflowOrchestrator
from handler.planning.launches import LaunchId
from handler.ports.orchestrator import Launch
from tests.support.oneflow_wire import OneflowWire
from tests.support.opennebula import HERE, THERE, OpennebulaStage, an_opennebula
from tests.support.opennebula_wire import DONE, OpennebulaWire, Vm
from tests.support.orchestrators import Clock

NAMING = "$ROLE_NAME_$VM_NUMBER_(service_$SERVICE_ID)"


def a_oneflow(endpoint: str, rpc: str, *, vm_name: str = NAMING, **fields: Any) -> OneflowCloud:
    return OneflowCloud(id=CloudId("prod"), endpoint=endpoint, nebula=an_opennebula(rpc, **fields), vm_name=vm_name)


@dataclass
class OneflowStage(OpennebulaStage):
    """One user with a service for each group, whose roles have no nodes yet."""

    flow: OneflowWire = None  # type: ignore[assignment] given by name
    address: str = ""
    quiet: Seconds = QUIET
    """How long its driver waits for one more member before it scales."""

    def driver(self, *, elsewhere: bool = False, **fields: Any) -> OneflowOrchestrator:  # type: ignore[override]
        return OneflowOrchestrator(
            a_oneflow(self.address, self.endpoint, **fields),
            THERE if elsewhere else HERE,
            self.clock,
            lambda ref: self.secrets[ref.env or ""],
            self.circuits,
            quiet=self.quiet,
        )

    def launch(self, sequence: int = 1, group: str = "web", *, elsewhere: bool = False, **fields: Any) -> Launch:
        mark = LaunchId(installation=THERE if elsewhere else HERE, group=GroupId(group), sequence=sequence)
        recipe = OneflowRecipe(**{"service": group, "role": "node", **fields})
        return Launch(id=mark, profile=Profile(id=ProfileId("p"), cloud=CloudId("prod"), recipe=recipe))

    def count(self, name: MemberName) -> int:
        return self.alive.count(name)

    @property
    def alive(self) -> list[str]:
        """The nodes, by mark or order; one that has neither, by the machine's name."""
        return sorted(_called(vm) for vm in self.wire.vms.values() if vm.state != DONE)


def _called(vm: Vm) -> str:
    order = str(vm.user_template.get("TRIMTAB_ORDER", "")).split("|")
    born = (member for member, _, name in (each.partition(":") for each in order) if name == vm.name)
    return str(vm.user_template.get("TRIMTAB") or next(born, vm.name))


@contextlib.contextmanager
def oneflow_stage(
    _: Path | None = None, clock: Callable[[], Instant] | None = None, *, old: bool = False
) -> Iterator[OneflowStage]:
    now = clock or Clock()
    wire = OpennebulaWire(clock=now)
    flow = OneflowWire(wire, old=old)
    for name in ("web", "api"):
        flow.service(name, "node")
    with wire.serving() as endpoint, flow.serving() as address:
        yield OneflowStage(wire, endpoint, now, flow=flow, address=address)


@contextlib.contextmanager
def old_oneflow_stage(folder: Path | None = None, clock: Callable[[], Instant] | None = None) -> Iterator[OneflowStage]:
    """As OneFlow was in 6.10."""
    with oneflow_stage(folder, clock, old=True) as stage:
        yield stage
