"""An OpenNebula to test the driver against, and declarations of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from config.model.access import SecretRef
from config.model.catalogue import OpennebulaCloud, OpennebulaRecipe, Profile
from config.model.recipes import Extra, attributes_of
from config.units import CloudId, GroupId, Instant, MemberName, ProfileId
from handler.orchestrators.opennebula.driver import OpennebulaOrchestrator
from handler.planning.launches import LaunchId
from handler.planning.world import Server
from handler.ports.orchestrator import Launch
from tests.support.circuits import circuits_by
from tests.support.opennebula_wire import DONE, PASSWORD, USER, OpennebulaWire
from tests.support.orchestrators import Clock
from tests.support.waiting import PATIENT

HERE, THERE = "k3f9ab", "zzzzzz"


def a_template_recipe(*, extra: Extra = (), **fields: Any) -> OpennebulaRecipe:
    return OpennebulaRecipe(**{"template": "web", "networks": ("tier",), "extra": attributes_of(extra), **fields})


def an_opennebula(endpoint: str, **fields: Any) -> OpennebulaCloud:
    kept = {"user": USER, "password": SecretRef(env="PASSWORD")}
    return OpennebulaCloud(**{"id": CloudId("prod"), "endpoint": endpoint, "timeout": PATIENT, **kept, **fields})


@dataclass
class OpennebulaStage:
    """One user without machines."""

    wire: OpennebulaWire
    endpoint: str
    clock: Callable[[], Instant]
    secrets: dict[str, str] = field(default_factory=lambda: {"PASSWORD": PASSWORD})

    def __post_init__(self) -> None:
        self.circuits = circuits_by(self.clock)

    def driver(self, *, elsewhere: bool = False, **fields: Any) -> OpennebulaOrchestrator:
        return OpennebulaOrchestrator(
            an_opennebula(self.endpoint, **fields),
            THERE if elsewhere else HERE,
            self.clock,
            lambda ref: self.secrets[ref.env or ""],
            self.circuits,
        )

    def launch(self, sequence: int = 1, group: str = "web", *, elsewhere: bool = False, **fields: Any) -> Launch:
        mark = LaunchId(installation=THERE if elsewhere else HERE, group=GroupId(group), sequence=sequence)
        profile = Profile(id=ProfileId("p"), cloud=CloudId("prod"), recipe=a_template_recipe(**fields))
        return Launch(id=mark, profile=profile)

    def kill(self, server: Server) -> None:
        self.wire.vms[int(server.id)].state = DONE

    def foreign_member(self, name: str) -> str:
        return str(self.wire.add(name).id)

    def count(self, name: MemberName) -> int:
        return len(self.wire.bearing(name))


@contextlib.contextmanager
def opennebula_stage(_: Path | None = None, clock: Callable[[], Instant] | None = None) -> Iterator[OpennebulaStage]:
    now = clock or Clock()
    wire = OpennebulaWire(clock=now)
    with wire.serving() as endpoint:
        yield OpennebulaStage(wire, endpoint, now)
