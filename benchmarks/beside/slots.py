"""The daemon's own slots over members that answer from memory: what a tick costs from samples to stored decisions.

Everything is the real part: slots, poller, aggregators, evaluation, decision queue, metrics, SQLite. Only the network
is left out: one source fills every row at once, so that polling costs next to nothing and the rest is what is measured.
"""

from __future__ import annotations

import asyncio
import gc
import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import numpy as np

from aggregator.aggregate import Aggregator
from benchmarks.beside.machine import resident
from collector.samples import Floats, Layout, Reply
from collector.sources.poll import Poller
from collector.targets import Round
from config.model.catalogue import Catalogue, ProcessCloud, ProcessRecipe, Profile
from config.units import CloudId, GroupId, Instant, Moment, Monotonic
from handler import logs
from handler.observability.metrics import Metrics
from handler.observability.reporting import Reporter
from handler.planning.desired import Definition
from handler.planning.launches import LaunchId
from handler.planning.status import MemberState
from handler.planning.steps import Plan
from handler.planning.world import Member, Phase, Record, Server, ServerState, World
from handler.runtime.deciding import Decider
from handler.runtime.decision_queue import DecisionQueue
from handler.runtime.group_runtime import GroupRuntime, LastPass
from handler.runtime.slots import Slot, slots_of
from handler.store.sql_store import SqlStore
from handler.store.sqlite import SqliteStore
from trigger.requests import Fleet, GroupState

START = 1_772_355_600.0
INSTALLATION = "k3f9ab"
_PATIENT = 10.0
Values = Callable[[Layout], Floats]
"""What the members of a layout answer now, in its order."""


class _Memory:
    """A source whose answers are there already."""

    def __init__(self) -> None:
        self.values: Values = lambda layout: np.zeros(len(layout.series))

    async def fetch(self, asked: Round) -> None:
        sheet = asked.sheet
        sheet.value[:] = self.values(sheet.layout)
        sheet.replied_at[:] = asked.clock().steady
        sheet.reply[:] = Reply.OK

    async def close(self) -> None:
        pass


class CatalogueSlots:
    """All slots of a catalogue, whose ticks are taken one after the other."""

    def __init__(self, catalogue: Catalogue, members: int, store: SqlStore) -> None:
        began = resident()
        self._seconds = 0.0
        self._catalogue = catalogue
        self._source = _Memory()
        self.store = store
        definitions = [_definition(catalogue, group) for group in catalogue.groups]
        self.store.declare(definitions, Instant(START))
        self.runtimes = {each.group.id: _runtime(each, members) for each in definitions}
        self.metrics = Metrics(self.runtimes, lambda: self._now().wall)
        self.metrics.took(catalogue, Instant(START))
        reporter = Reporter(self.metrics)
        self._poller = Poller(clock=self._now, read_secret=_no_secret, sources=[self._source])
        self._decider = Decider(
            runtimes=self.runtimes,
            poller=self._poller,
            queue=DecisionQueue(self.store, lambda: catalogue, reporter.decided),
            clock=self._now,
            report=reporter.ticked,
        )
        self._slots = [(slot, Aggregator(catalogue, slot.groups)) for slot in slots_of(catalogue, catalogue.groups)]
        self._decider.forecasts.start(catalogue, [slot.groups for slot, _ in self._slots])
        self._runner = asyncio.Runner()
        self._began = began

    @property
    def count(self) -> int:
        """Slots that the daemon spreads these groups over."""
        return len(self._slots)

    def memory(self) -> float:
        """MiB that groups, members, windows, the last explanations and the store take in this process."""
        return resident() - self._began

    def tick(self, values: Values, interval: float) -> float:
        """Take one tick of every slot, and return the processor seconds of this process for all of it."""
        self._source.values = values
        self._seconds += interval
        gc.collect()  # once for all slots, outside: the daemon freezes what it has, and collects seldom
        gc.freeze()
        began = time.process_time()
        self._runner.run(self._all())
        return time.process_time() - began

    def fill(self, values: Values, interval: float) -> None:
        """Put what members answer at one tick into the windows of every slot, and decide nothing."""
        self._source.values = values
        self._seconds += interval
        self._runner.run(self._filled())

    def close(self) -> None:
        """Close the store."""
        self._runner.close()
        self.store.close()

    async def _all(self) -> None:
        for slot, aggregator in self._slots:
            await self._tick(slot, aggregator)

    async def _filled(self) -> None:
        for slot, aggregator in self._slots:
            rosters = {group: self.runtimes[group].roster(self._now().wall) for group in slot.groups}
            aggregator.take(await self._poller.poll(self._catalogue, rosters, timeout=_PATIENT))

    async def _tick(self, slot: Slot, aggregator: Aggregator) -> None:
        await self._decider.tick(slot, self._catalogue, aggregator, self._now().steady)

    def _now(self) -> Moment:
        return Moment(wall=Instant(START + self._seconds), steady=Monotonic(1000.0 + self._seconds))


@contextmanager
def running(catalogue: Catalogue, members: int, place: Path, store: SqlStore | None = None) -> Iterator[CatalogueSlots]:
    """Have slots with a store, a new one in ``place`` if none is given, until the block ends; it is closed then.

    The daemon's log is written to memory.
    """
    logs.configure(stream=io.StringIO())
    slots = CatalogueSlots(
        catalogue, members, store or SqliteStore.open(place / "store.sqlite", installation=INSTALLATION)
    )
    try:
        yield slots
    finally:
        slots.close()


def _definition(catalogue: Catalogue, group: GroupId) -> Definition:
    declared = catalogue.groups[group]
    return Definition(
        group=declared,
        profile=Profile(id=declared.profile, cloud=CloudId("box"), recipe=ProcessRecipe(command=("serve",))),
        cloud=ProcessCloud(id=CloudId("box")),
        balancers=MappingProxyType({}),
    )


def _runtime(definition: Definition, count: int) -> GroupRuntime:
    """A group whose members all serve, as its last pass of convergence saw it."""
    group = definition.group.id
    members = tuple(_member(group, sequence) for sequence in range(1, count + 1))
    world = World(group=group, at=Instant(START), complete=True, because="", members=members, balancer_views={})
    runtime = GroupRuntime(id=group, definition=definition, state=GroupState(desired=count, revision=1))
    runtime.addresses = {member.name: "127.0.0.1" for member in members}
    runtime.seen = LastPass(
        at=Instant(START),
        world=world,
        plan=Plan(group=group, revision=1, steps=(), waits=()),
        states={member.name: MemberState.IN_SERVICE for member in members},
        fleet=Fleet(listed=True, marked=count, in_service=count, creates_left=10_000, back_off_until=None),
        failures=(),
        retries=(),
    )
    return runtime


def _member(group: GroupId, sequence: int) -> Member:
    name = LaunchId(installation=INSTALLATION, group=group, sequence=sequence).name
    long_ago = Instant(START - 86400.0)
    record = Record(
        name=name,
        group=group,
        sequence=sequence,
        phase=Phase.IN_SERVICE,
        intended_at=long_ago,
        made_at=long_ago,
        in_service_at=long_ago,
    )
    server = Server(
        name=name,
        id=str(sequence),
        state=ServerState.RUNNING,
        address="127.0.0.1",
        created_at=long_ago,
        raw_state="running",
    )
    return Member(name=name, record=record, server=server, disproved=False, ready=None)


def _no_secret(ref: object) -> str:
    raise AssertionError(f"no source asks for {ref}")
