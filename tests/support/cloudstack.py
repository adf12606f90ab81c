"""A CloudStack to test the driver against, and declarations of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from config.model.access import SecretRef
from config.model.catalogue import CloudstackCloud, CloudstackRecipe, Profile
from config.units import CloudId, GroupId, Instant, MemberName, ProfileId
from handler.orchestrators.cloudstack.driver import CloudstackOrchestrator
from handler.planning.launches import LaunchId
from handler.planning.world import Server
from handler.ports.orchestrator import Launch
from tests.support.circuits import circuits_by
from tests.support.cloudstack_wire import KEY, SECRET, CloudstackWire
from tests.support.orchestrators import Clock
from tests.support.waiting import PATIENT

HERE, THERE = "k3f9ab", "zzzzzz"


def a_machine_recipe(**fields: Any) -> CloudstackRecipe:
    return CloudstackRecipe(**{"zone": "par1", "template": "web", "offering": "small", "networks": ("tier",), **fields})


def a_cloudstack(endpoint: str, **fields: Any) -> CloudstackCloud:
    kept = {"api_key": SecretRef(env="KEY"), "secret": SecretRef(env="SECRET")}
    return CloudstackCloud(**{"id": CloudId("prod"), "endpoint": endpoint, "timeout": PATIENT, **kept, **fields})


@dataclass
class CloudstackStage:
    """One empty account. Jobs take no time: what would be waited for is written down."""

    wire: CloudstackWire
    endpoint: str
    clock: Callable[[], Instant]
    secrets: dict[str, str] = field(default_factory=lambda: {"KEY": KEY, "SECRET": SECRET})
    waited: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.circuits = circuits_by(self.clock)

    def driver(self, *, elsewhere: bool = False, **fields: Any) -> CloudstackOrchestrator:
        return CloudstackOrchestrator(
            a_cloudstack(self.endpoint, **fields),
            THERE if elsewhere else HERE,
            self.clock,
            lambda ref: self.secrets[ref.env or ""],
            self.waited.append,
            self.circuits,
        )

    def launch(self, sequence: int = 1, group: str = "web", *, elsewhere: bool = False, **fields: Any) -> Launch:
        mark = LaunchId(installation=THERE if elsewhere else HERE, group=GroupId(group), sequence=sequence)
        profile = Profile(id=ProfileId("p"), cloud=CloudId("prod"), recipe=a_machine_recipe(**fields))
        return Launch(id=mark, profile=profile)

    def kill(self, server: Server) -> None:
        del self.wire.vms[server.id]

    def foreign_member(self, name: str) -> str:
        return self.wire.add(name).id

    def count(self, name: MemberName) -> int:
        return len(self.wire.bearing(name))


@contextlib.contextmanager
def cloudstack_stage(_: Path | None = None, clock: Callable[[], Instant] | None = None) -> Iterator[CloudstackStage]:
    now = clock or Clock()
    wire = CloudstackWire(clock=now)
    with wire.serving() as endpoint:
        yield CloudstackStage(wire, endpoint, now)
