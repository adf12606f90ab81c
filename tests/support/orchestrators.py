"""Clouds to test drivers against, each on a stage that is cleared afterwards."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from config.model.access import SecretRef
from config.model.catalogue import NoProgram, ProcessCloud, ProcessRecipe, Profile, SimulatedCloud
from config.model.simulation import Behaviour, BootTime
from config.units import CloudId, GroupId, Instant, MemberName, ProfileId
from handler.orchestrators.process import children, procfs
from handler.orchestrators.process.driver import ProcessOrchestrator
from handler.orchestrators.simulated.driver import SimulatedOrchestrator
from handler.orchestrators.simulated.ledger import SimulationLedger
from handler.orchestrators.simulated.simulation import Simulation
from handler.planning.launches import LaunchId
from handler.planning.world import Server
from handler.ports.orchestrator import Launch, Orchestrator, no_secrets
from tests.support.waiting import until

AT_ONCE = Behaviour(boot=BootTime(median=0.0, p95=0.0), stop=0.0)
_HERE, _THERE = "k3f9ab", "zzzzzz"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class Stage(Protocol):
    """One empty cloud. A new driver joins the contract with a stage of its own."""

    def driver(self, *, elsewhere: bool = False) -> Orchestrator:
        """A driver object that knows nothing yet; ``elsewhere``: of another installation."""
        ...

    def launch(self, sequence: int = 1, group: str = "web", *, elsewhere: bool = False) -> Launch:
        """A member that can be made and stays until it is destroyed."""
        ...

    def kill(self, server: Server) -> None:
        """End a machine behind the driver's back."""
        ...

    def foreign_member(self, name: str) -> str:
        """Put a machine there that bears no mark; its id."""
        ...

    def count(self, name: MemberName) -> int:
        """How many machines bear the name, asked without the driver."""
        ...


def installation() -> str:
    """Return a name of an installation that no other call returns, also in test runs at the same time."""
    return "".join(secrets.choice(_DIGITS) for _ in range(6))


@dataclass
class Clock:
    """A wall clock that stands still until it is moved."""

    at: float = field(default_factory=time.time)

    def __call__(self) -> Instant:
        return Instant(self.at)


def a_recipe(command: tuple[str, ...] = ("sleep", "60"), **fields: object) -> ProcessRecipe:
    return ProcessRecipe(command=command, **fields)  # type: ignore[arg-type]


@dataclass
class ProcessStage:
    directory: Path
    clock: Callable[[], Instant]
    here: str = field(default_factory=installation)
    there: str = field(default_factory=installation)
    recipe: ProcessRecipe = field(default_factory=a_recipe)

    def driver(
        self, *, elsewhere: bool = False, read_secret: Callable[[SecretRef], str] = no_secrets
    ) -> ProcessOrchestrator:
        name = self.there if elsewhere else self.here
        return ProcessOrchestrator(
            ProcessCloud(id=CloudId("box")), name, self.directory / name, self.clock, read_secret=read_secret
        )

    def launch(
        self, sequence: int = 1, group: str = "web", *, elsewhere: bool = False, recipe: ProcessRecipe | None = None
    ) -> Launch:
        for name in (self.here, self.there):
            (self.directory / name).mkdir(exist_ok=True)
        return Launch(
            id=LaunchId(installation=self.there if elsewhere else self.here, group=GroupId(group), sequence=sequence),
            profile=Profile(id=ProfileId("p"), cloud=CloudId("box"), recipe=recipe or self.recipe),
        )

    def log(self, launch: Launch) -> Path:
        return self.directory / self.here / "logs" / f"{launch.id.name}.log"

    def kill(self, server: Server) -> None:
        os.kill(pid_of(server), signal.SIGKILL)

    def foreign_member(self, name: str) -> str:
        return str(os.posix_spawn("/bin/sleep", ["sleep", "60"], {"NAME": name}, setsid=True))

    def count(self, name: MemberName) -> int:
        return len(bearing(f"TRIMTAB_MEMBER={name}"))

    def clear(self) -> None:
        """End everything that is on the roll or bears the mark of this stage, whatever became of it."""
        for link in self.directory.glob("*/members/*-*"):
            with contextlib.suppress(ValueError, OSError):  # a test has damaged it
                pid, started = (int(part) for part in str(link.readlink()).split(":")[:2])
                procfs.send(procfs.Process(pid=pid, session=pid, started=started, state=""), signal.SIGKILL)
        for mark in (f"TRIMTAB_INSTALLATION={self.here}", f"TRIMTAB_INSTALLATION={self.there}"):
            for pid in bearing(mark):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            until(lambda mark=mark: children.reap() or not bearing(mark))  # type: ignore[misc]


def bearing(variable: str) -> list[int]:
    """Pids of all processes with this in their environment: leaders and children."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and os.fsencode(variable) in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def pid_of(server: Server) -> int:
    return int(server.id.partition(":")[0])


@dataclass
class SimulatedStage:
    """A simulated cloud on which nothing goes wrong and nothing takes time."""

    directory: Path
    clock: Callable[[], Instant]
    behaviour: Behaviour = AT_ONCE
    network: str = "web"
    outside: str = "public"
    waited: list[float] = field(default_factory=list)

    def driver(self, *, elsewhere: bool = False) -> SimulatedOrchestrator:
        cloud = SimulatedCloud(id=CloudId("sim"), behaviour=self.behaviour)
        name = _THERE if elsewhere else _HERE
        return SimulatedOrchestrator(cloud, name, self.directory, self.clock, self.waited.append)

    def launch(self, sequence: int = 1, group: str = "web", *, elsewhere: bool = False) -> Launch:
        mark = LaunchId(installation=_THERE if elsewhere else _HERE, group=GroupId(group), sequence=sequence)
        return Launch(id=mark, profile=Profile(id=ProfileId("p"), cloud=CloudId("sim"), recipe=NoProgram()))

    def kill(self, server: Server) -> None:
        with self.opened() as (simulation, now):
            machine = simulation.machine(server.name)
            assert machine is not None
            simulation.put(machine.gone(now))

    def foreign_member(self, name: str) -> str:
        with self.opened() as (simulation, now):
            return simulation.add(name, now).id

    def count(self, name: MemberName) -> int:
        with self.opened() as (simulation, now):
            return [machine.name for machine in simulation.machines(now)].count(name)

    def parts(self) -> list[tuple[str, str]]:
        """All that there are, by whose mark they bear."""
        with self.opened() as (simulation, _):
            return sorted((part.member, part.name) for part in simulation.parts.there())

    @contextlib.contextmanager
    def opened(self) -> Iterator[tuple[Simulation, Instant]]:
        """The cloud itself, as another client sees it."""
        ledger = SimulationLedger(self.path, self.behaviour, self.clock)
        with contextlib.closing(ledger), ledger.turn() as turn:
            yield turn

    @property
    def path(self) -> Path:
        return self.directory / "simulated" / "sim.jsonl"


@contextlib.contextmanager
def simulated_stage(directory: Path, clock: Callable[[], Instant] | None = None) -> Iterator[SimulatedStage]:
    yield SimulatedStage(directory, clock or Clock())


@contextlib.contextmanager
def process_stage(directory: Path, clock: Callable[[], Instant] | None = None) -> Iterator[ProcessStage]:
    stage = ProcessStage(directory, clock or Clock())
    try:
        yield stage
    finally:
        stage.clear()
