"""An OpenStack to test the drivers against, and declarations of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from config.model.access import SecretRef
from config.model.catalogue import OpenstackCloud, OpenstackRecipe, Profile
from config.model.openstack import ApplicationCredential, OpenstackAccess
from config.units import CloudId, GroupId, Instant, MemberName, ProfileId
from handler.orchestrators.openstack.driver import OpenstackOrchestrator
from handler.planning.launches import LaunchId
from handler.planning.world import Server
from handler.ports.orchestrator import Launch
from tests.support.circuits import circuits_by
from tests.support.openstack_nova_wire import Glance, Nova, Things
from tests.support.openstack_parts_wire import Cinder, PartsNeutron
from tests.support.openstack_wire import CREDENTIAL, SECRET, OpenstackWire
from tests.support.orchestrators import Clock
from tests.support.waiting import PATIENT

HERE, THERE = "k3f9ab", "zzzzzz"


def a_server_recipe(**fields: Any) -> OpenstackRecipe:
    return OpenstackRecipe(**{"image": "web", "flavor": "small", "networks": ("net",), **fields})


def an_access(auth_url: str, **fields: Any) -> OpenstackAccess:
    credential = ApplicationCredential(auth_url=auth_url, id=CREDENTIAL, secret=SecretRef(env="SECRET"))
    return OpenstackAccess(**{"credentials": credential, "timeout": PATIENT, **fields})


def an_openstack(auth_url: str, **fields: Any) -> OpenstackCloud:
    return OpenstackCloud(id=CloudId("prod"), access=an_access(auth_url, **fields))


@dataclass
class OpenstackStage:
    """One empty project. What would be waited for is written down."""

    wire: OpenstackWire
    nova: Nova
    neutron: PartsNeutron
    cinder: Cinder
    auth_url: str
    clock: Callable[[], Instant]
    secrets: dict[str, str] = field(default_factory=lambda: {"SECRET": SECRET})
    waited: list[float] = field(default_factory=list)
    network: str = "net"
    outside: str = "public"

    def __post_init__(self) -> None:
        self.circuits = circuits_by(self.clock)

    def driver(self, *, elsewhere: bool = False, **fields: Any) -> OpenstackOrchestrator:
        return OpenstackOrchestrator(
            an_openstack(self.auth_url, **fields),
            THERE if elsewhere else HERE,
            self.clock,
            lambda ref: self.secrets[ref.env or ""],
            self.waited.append,
            self.circuits,
        )

    def launch(self, sequence: int = 1, group: str = "web", *, elsewhere: bool = False, **fields: Any) -> Launch:
        mark = LaunchId(installation=THERE if elsewhere else HERE, group=GroupId(group), sequence=sequence)
        profile = Profile(id=ProfileId("p"), cloud=CloudId("prod"), recipe=a_server_recipe(**fields))
        return Launch(id=mark, profile=profile)

    def kill(self, server: Server) -> None:
        del self.nova.vms[server.id]

    def foreign_member(self, name: str) -> str:
        return self.nova.add(name).id

    def count(self, name: MemberName) -> int:
        return self.nova.alive.count(name)

    def parts(self) -> list[tuple[str, str]]:
        """All that there are, by whose mark they bear."""
        there = [*self.neutron.ports.values(), *self.neutron.floatingips.values(), *self.cinder.volumes.values()]
        return sorted(marked(entry) for entry in there)


def marked(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Whose mark a part bears, and its name; of a foreign one: the name that is left."""
    mark = entry.get("description") or entry.get("metadata", {}).get("trimtab.part") or ""
    member, _, part = mark.removeprefix("trimtab.part: ").partition(" ")
    return member, part or (entry.get("name") or "").rpartition("-")[2]


@contextlib.contextmanager
def openstack_stage(_: Path | None = None, clock: Callable[[], Instant] | None = None) -> Iterator[OpenstackStage]:
    now, things = clock or Clock(), Things()
    neutron, cinder = PartsNeutron(things, clock=now), Cinder(things, clock=now)
    nova = Nova(things, clock=now, holders=(neutron, cinder))
    cinder.alive = lambda server: server in nova.vms
    wire = OpenstackWire(services=(nova, Glance(things), neutron, cinder))
    with wire.serving() as auth_url:
        yield OpenstackStage(wire, nova, neutron, cinder, auth_url, now)
