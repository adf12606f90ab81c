"""What polling SNMP agents costs: beside bare gufo-snmp, with one member a group and with ten, and with v3.

Real snmpd processes on loopback addresses, eight objects of each agent. Processor time is that of the whole process
that asks, agents left out: from the socket to the `Frame` of every group, polled slot by slot as the daemon does.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

from gufo.snmp import SnmpVersion
from gufo.snmp.aio import SnmpSession

from aggregator.aggregate import Aggregator
from benchmarks.beside.machine import resident
from benchmarks.beside.snmp_agents import (
    OIDS,
    PATIENT,
    USER,
    asking,
    expect_whole,
    named_addresses,
    running_agents,
    settle,
)
from benchmarks.report.figures import Figure, Measured, at_most, once, times
from collector.targets import Roster
from config.model.access import SnmpAccess
from config.model.access import SnmpVersion as Version
from config.units import GroupId
from handler.daemon import connections
from handler.runtime.slots import Slot, slots_of
from tests.support.collector import rosters

_IN_FLIGHT = 256
_ROUNDS = 7

_TO_BARE = 1.1
"""What polling may cost at most, to bare gufo-snmp in the same run."""
_SIDES = {
    "ten": "v2c, ten members a group",
    "one": "v2c, one member a group",
    "v3": "v3 (SHA-256, AES) after first contact, ten members a group",
}

Figures = Iterator[Measured]


def run(part: int = 1) -> Figures:
    """Compare all ways to ask the same 1,000 agents."""
    connections.take_all_descriptors()  # as the daemon does: each agent has a socket, four where four ways are compared
    count = max(1000 // part, 10)
    with tempfile.TemporaryDirectory() as place, running_agents(Path(place), count) as port:
        yield from asyncio.run(_compared(port, count))


async def _compared(port: int, count: int) -> Figures:
    """Bare gufo-snmp, both groupings and v3 in turns, so that a busy minute meets all of them."""
    v2c, v3 = SnmpAccess(port=port), SnmpAccess(port=port, version=Version.V3, user=USER)
    sides = {"ten": _Chain(v2c, count, each=10), "one": _Chain(v2c, count, each=1), "v3": _Chain(v3, count, each=10)}
    bare = [
        SnmpSession(address, port=port, community="public", version=SnmpVersion.v2c)
        for address in named_addresses(count).values()
    ]
    used: dict[str, list[float]] = {"bare": [], **{what: [] for what in sides}}
    aggregated: dict[str, list[float]] = {what: [] for what in sides}
    first = await _cpu(sides["v3"].frames)
    await sides["ten"].frames()
    await sides["one"].frames()
    await _all(bare)
    settle()
    for _ in range(_ROUNDS):
        used["bare"].append(await _cpu(lambda: _all(bare)))
        for what, side in sides.items():
            used[what].append(await _cpu(side.frames))
            aggregated[what].append(side.aggregated)
    for side in sides.values():
        await side.close()
    return _ratios(count, used, aggregated, first)


def _ratios(
    count: int, used: Mapping[str, Sequence[float]], aggregated: Mapping[str, Sequence[float]], first: float
) -> Iterator[Figure]:
    polls = f"{count:,} polls of 8 objects"
    bare = Figure(job=f"{polls}, bare", unit="CPU-s", samples=tuple(used["bare"]), by="gufo-snmp")
    yield bare
    sides = {}
    for what, words in _SIDES.items():
        job = f"{polls}, socket to frame, {words}"
        sides[what] = Figure(job=job, unit="CPU-s", samples=tuple(used[what]), memory=(resident(),))
        yield sides[what]
        yield Figure(job=f"{job}: of it scrape to frame", unit="CPU-s", samples=tuple(aggregated[what]))
    for what in ("ten", "one"):
        yield times(f"{polls}, {_SIDES[what]}, to bare gufo-snmp", sides[what], bare, goal=at_most(_TO_BARE))
    yield times(f"{polls}, v3 to v2c", sides["v3"], sides["ten"])
    yield once(f"{polls}, v3, first contact", first, "CPU-s")


class _Chain:
    """Agents as members of groups of one size, polled and aggregated slot by slot, as the daemon does."""

    def __init__(self, access: SnmpAccess, count: int, *, each: int) -> None:
        names = [GroupId(f"g{number:05}") for number in range(count // each)]
        members = list(named_addresses(count).items())
        self.aggregated = 0.0
        """Processor seconds of the last tick that went from scrapes to frames."""
        self._poller, self._catalogue = asking(access, names)
        self._slots = [
            (Aggregator(self._catalogue, slot.groups), self._rosters(slot, names, members, each))
            for slot in slots_of(self._catalogue, names)
        ]

    async def frames(self) -> None:
        """One tick of every slot, from the socket to the frame of every group."""
        self.aggregated = 0.0
        for aggregator, listed in self._slots:
            scrape = await self._poller.poll(self._catalogue, listed, timeout=PATIENT)
            expect_whole(scrape)
            began = time.process_time()
            assert aggregator.take(scrape).keys() == listed.keys()
            self.aggregated += time.process_time() - began

    async def close(self) -> None:
        """Give back every socket."""
        await self._poller.close()

    @staticmethod
    def _rosters(
        slot: Slot, names: Sequence[GroupId], members: Sequence[tuple[str, str]], each: int
    ) -> Mapping[GroupId, Roster]:
        first = {name: number * each for number, name in enumerate(names)}
        own = {group: dict(members[first[group] : first[group] + each]) for group in slot.groups}
        return {group: rosters(some, group=group)[group] for group, some in own.items()}


async def _all(sessions: Sequence[SnmpSession]) -> None:
    window = asyncio.Semaphore(_IN_FLIGHT)

    async def ask(session: SnmpSession) -> None:
        async with window:
            assert len(await session.get_many(OIDS)) == len(OIDS)

    async with asyncio.TaskGroup() as tasks:
        for session in sessions:
            tasks.create_task(ask(session))


async def _cpu(work: Callable[[], Awaitable[None]]) -> float:
    began = time.process_time()
    await work()
    return time.process_time() - began
