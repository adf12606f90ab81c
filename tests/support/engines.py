"""A whole engine over a cloud and balancers in memory: real loops, a real clock, quick intervals."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from collector.boards.alerts import Board
from collector.boards.pushes import Pushes
from collector.clients.amqp.subscription import listen
from collector.clients.http.client import HttpClient
from collector.clients.vault.reader import SecretReader
from collector.sources.poll import Poller
from collector.sources.pushed import PushedSource
from collector.targets import Round
from config.units import GroupId, Instant, MemberName, Moment, Monotonic, Seconds
from handler.convergence.converge import Converger
from handler.convergence.sightings import READY
from handler.engine.engine import Engine
from handler.engine.parts import EngineParts
from handler.ingest.intake import Inbox
from handler.ingest.pushes.member_keys import MemberKeys
from handler.observability.notification_sender import NotificationSender
from handler.operations.facade import Operations
from handler.planning import pacing
from handler.planning.status import GroupStatus, MemberState
from handler.planning.steps import Wait
from handler.ports.held_clock import HeldClock
from handler.ports.store import Store
from handler.runtime import clock
from handler.runtime.forecasts import ForecastKeeper
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.resuming import WindowCheckpoints
from handler.runtime.slots import slots_of
from handler.sealing.key_sources import OwnKeyFile
from handler.store.checkpoints import CheckpointFolder
from handler.store.forecast_files import ForecastFolder
from tests.support.collector import no_secret
from tests.support.fake_cloud import FakeBalancer, FakeCloud
from tests.support.store import opened
from tests.support.waiting import PATIENT
from tests.support.worlds import INSTALLATION
from trigger.reasons import Reason

T = TypeVar("T")
WEB = GroupId("web")

MODEL = """\
counters: {load: {haproxy: scur, range: [0, 100]}}
conditions:
  high: {counter: load, above: 80}
  low: {counter: load, below: 20}
policies:
  out: {when: [high], add: 1, quiet_time: 1h}
  in: {when: [low], remove: 1, quiet_time: 1h}
clouds: {box: {process: {}}}
balancers:
  edge: {haproxy: {socket: /run/edge.sock, backend: web}}
  side: {haproxy: {socket: /run/side.sock, backend: web}}
profiles: {web: {cloud: box, command: [serve]}}
groups:
  web:
    profile: web
    balancers: [{use: edge, port: 8080}]
    min: 2
    max: 4
    interval: 0.05s
    warm_up: 0s
    drain: 1s
    quiet_time: 1h
    policies: [out, in]
"""


def model(**changes: object) -> str:
    """`MODEL` with values of the group's keys changed, or added."""
    lines = MODEL.splitlines()
    for key, value in changes.items():
        name = {"minimum": "min", "maximum": "max"}.get(key, key)
        lines = [line for line in lines if not line.startswith(f"    {name}:")]
        lines.append(f"    {name}: {value}")
    return "\n".join(lines) + "\n"


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at what is waited for more often than a cloud would like."""
    monkeypatch.setattr(pacing, "_SOON", 0.01)
    for wait in (Wait.BUILDING, Wait.NOT_READY, Wait.DRAINING, Wait.DELETING, Wait.UNCONFIRMED):
        monkeypatch.setitem(pacing._PACE, wait, 0.05)


@dataclass
class Readings:
    """A source that answers every question with one value, or, while it is ``None``, not at all."""

    value: float | None = 50.0

    async def fetch(self, asked: Round) -> None:
        for target in asked.targets:
            for row in target.rows.values():
                if self.value is not None:
                    asked.sheet.put(row, self.value, at=asked.clock().steady)

    async def close(self) -> None: ...


@dataclass
class EngineBed:
    """What outlives a daemon: the file, the store's file, the cloud and its balancers."""

    directory: Path
    text: str = MODEL
    readings: Readings = field(default_factory=Readings)
    opened: Callable[[Path], Store] = opened
    ahead: Seconds = 0.0
    """By how much the machine's wall clock is set ahead; may be changed at any time."""
    later: Seconds = 0.0
    """How much later it is than it is, by both clocks; may grow at any time."""
    boot: str = ""
    """Id of the machine's boot; empty: windows and holds end with the daemon."""

    def __post_init__(self) -> None:
        self.cloud = FakeCloud(clock.wall)
        self.balancers = {name: FakeBalancer(clock.wall, busy=0.0) for name in ("edge", "side")}
        self.file = self.directory / "model.yaml"
        self.declare(self.text)

    def read(self) -> Moment:
        """Both clocks of the machine, now."""
        now = clock.moment()
        return Moment(wall=Instant(now.wall + self.ahead + self.later), steady=Monotonic(now.steady + self.later))

    @property
    def edge(self) -> FakeBalancer:
        return self.balancers["edge"]

    @property
    def path(self) -> Path:
        return self.directory / "trimtab.sqlite"

    @property
    def copy(self) -> Path:
        """Of the file that was applied for all daemons over the store."""
        return self.directory / "applied.yaml"

    def declare(self, text: str) -> None:
        self.file.write_text(text)

    @property
    def machines(self) -> set[MemberName]:
        return self.cloud.ours(INSTALLATION, WEB)

    def parts(self) -> list[tuple[str, str]]:
        """All parts that there are, by whose mark they bear."""
        return [(part.member, part.name) for part in self.cloud.simulation.parts.there()]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Up]:
        """One daemon's life."""
        store, held = self.opened(self.path), HeldClock(self.read)
        converger = Converger(
            installation=INSTALLATION,
            store=store,
            orchestrator_for=lambda _: self.cloud,
            balancer_for=lambda declared: self.balancers[declared.id],
            probe=lambda address, _: READY if self.cloud.answers_at(address) else "no answer within 2s",
            clock=held.wall,
            workers=1,
        )
        keys, pushes = MemberKeys(self.directory / "member-keys"), Pushes()
        keys.load()
        sources = (self.readings, PushedSource(pushes))
        engine = Engine(
            EngineParts(
                file=self.file,
                applied_copy=self.copy,
                applied=store.applied_file(),
                store=store,
                converger=converger,
                poller=Poller(clock=held.moment, read_secret=no_secret, sources=sources),
                balancer_for=lambda declared: self.balancers[declared.id],
                clock=held.moment,
                held=held,
                notification_sender=NotificationSender(environ={}, read_secret=no_secret, clock=held.wall),
                inbox=Inbox(board=Board(), pushes=pushes, member_keys=keys, read_secret=no_secret, listen=listen),
                http=HttpClient(clock=held.moment, read_secret=no_secret),
                secrets=SecretReader({}, held.elapsed),
                seal_key=lambda _: OwnKeyFile(self.directory / "seal-key"),
                recordings=self.directory / "recording",
                audit=self.directory / "audit.jsonl",
                forecasts=ForecastKeeper(ForecastFolder(self.directory / "forecasts")),
                checkpoints=WindowCheckpoints(CheckpointFolder(self.directory / "checkpoints"), self.boot),
                boot=self.boot or clock.boot_id(),
            )
        )
        try:
            await engine.start()
            yield Up(self, engine, Operations(engine), store)
        finally:
            await engine.stop()

    def run(self, scene: Callable[[Up], Coroutine[Any, Any, T]]) -> T:
        """Play a scene while a daemon runs."""

        async def play() -> T:
            async with self.running() as up:
                return await scene(up)

        return asyncio.run(play())


@dataclass
class Up:
    """A daemon that is up."""

    bed: EngineBed
    engine: Engine
    operations: Operations
    store: Store

    @property
    def runtime(self) -> GroupRuntime:
        return self.engine.runtimes[WEB]

    @property
    def status(self) -> GroupStatus:
        return self.operations.group(WEB)

    def serving(self) -> int:
        return sum(member.state is MemberState.IN_SERVICE for member in self.status.members)

    async def until(self, holds: Callable[[], object], within: float = PATIENT) -> None:
        """Wait until it holds, a deadline long."""
        try:
            async with asyncio.timeout(within):
                while not holds():  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
        except TimeoutError:
            raise AssertionError(f"not within {within} s: {self.operations.status()}") from None

    async def grown(self, size: int) -> None:
        """Wait until so many serve, and nothing is left to do."""
        await self.until(lambda: self.serving() == size == len(self.bed.machines) and self.settled())

    def settled(self) -> bool:
        return self.runtime.seen is not None and self.runtime.seen.plan.converged

    async def ticked(self, times: int = 2) -> None:
        """Let some more decisions pass."""
        for _ in range(times):
            before = self.runtime.decided_at
            await self.until(lambda before=before: self.runtime.decided_at != before)

    async def tick(self, later: Seconds) -> Reason:
        """Let so much time pass and take a tick; the reason of its decision."""
        self.bed.later += later
        decider, catalogue = self.engine._decider, self.engine.catalogue()
        (slot,) = slots_of(catalogue, [WEB])
        await decider.tick(slot, catalogue, decider._aggregators[slot.groups], self.bed.read().steady)
        reason = self.status.reason
        assert reason is not None
        return reason

    async def passed(self, times: int = 2) -> None:
        """Let some more convergence passes pass."""
        for _ in range(times):
            before = self.runtime.seen
            self.runtime.wake.set()
            await self.until(lambda before=before: self.runtime.seen is not before)
