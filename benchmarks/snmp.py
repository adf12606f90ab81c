"""What polling SNMP agents costs: beside bare gufo-snmp, beside Prometheus' exporter, with v3, with silence, for long.

Real snmpd processes on loopback addresses, eight objects of each agent; one process stands for many agents. Processor
time is that of the whole process that asks, agents left out: ours from the socket to the `Frame` of every group, polled
slot by slot as the daemon does; with ``prometheus-snmp-exporter`` its own and that of the Prometheus that scrapes it,
storage and all. That part is left out where the two programs are not installed. ``SNMP_SOAK`` is the length of the last
part in seconds, 60 if not set.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

from gufo.snmp import SnmpVersion
from gufo.snmp.aio import SnmpSession

from aggregator.aggregate import Aggregator
from benchmarks.beside.machine import processor, resident
from benchmarks.report.figures import Figure, Measured, NotMeasured, at_most, once, times
from collector.samples import Reply, Scrape
from collector.sources.poll import Poller
from collector.sources.snmp import SnmpSource
from collector.targets import Roster
from config.model.access import AuthProtocol, PrivProtocol, SecretRef, SnmpAccess, SnmpUser
from config.model.access import SnmpVersion as Version
from config.model.catalogue import Catalogue
from config.units import GroupId
from handler.daemon import connections
from handler.runtime.slots import Slot, slots_of
from tests.support.collector import a_catalogue, a_poller, an_object, rosters
from tests.support.ports import free_tcp_port, free_udp_port
from tests.support.snmpd import AUTH_PASSWORD, PRIV_PASSWORD, running_snmpd, user_lines
from tests.support.waiting import scaled, stopped, until

OIDS = tuple(f"1.3.6.1.4.1.8072.9999.9999.{number}.0" for number in range(1, 9))
USER = SnmpUser(
    name="ada", auth=(AuthProtocol.SHA256, SecretRef(env="AUTH")), priv=(PrivProtocol.AES, SecretRef(env="PRIV"))
)
SOAK = float(os.environ.get("SNMP_SOAK", "60"))
_OVERRIDES = [f"override .{oid} integer {number}" for number, oid in enumerate(OIDS)]
_PER_PROCESS = 500
_IN_FLIGHT = 256
_PATIENT = 10.0
_INTERVAL = 15.0
_ROUNDS = 7
_EXPORTED = 40
"""Seconds for which Prometheus and its exporter are watched."""

_TO_BARE = 1.1
"""What polling may cost at most, to bare gufo-snmp in the same run."""
_SIDES = {
    "ten": "v2c, ten members a group",
    "one": "v2c, one member a group",
    "v3": "v3 (SHA-256, AES) after first contact, ten members a group",
}

Figures = Iterator[Measured]


def run(part: int = 1) -> Figures:
    """Compare first, then go on for long."""
    connections.take_all_descriptors()  # as the daemon does: each agent has a socket, four where four ways are compared
    some, many = max(1000 // part, 10), max(10_000 // part, 10)
    with tempfile.TemporaryDirectory() as place, _agents(Path(place), some) as port:
        yield from asyncio.run(_compared(port, some))
        yield from _exporter(Path(place), port, some // 5, _EXPORTED / part)
        yield from asyncio.run(_silence(port, some // 10))
    with tempfile.TemporaryDirectory() as place, _agents(Path(place), many) as port:
        yield from asyncio.run(_soak(port, many, SOAK / part, _INTERVAL / part))


# Agents


@contextlib.contextmanager
def _agents(place: Path, count: int) -> Iterator[int]:
    """So many agents, each at an address of its own, all at one port."""
    port, users = free_udp_port(), user_lines(USER.name, AuthProtocol.SHA256, PrivProtocol.AES)
    addresses = [_address(number) for number in range(count)]
    with contextlib.ExitStack() as running:
        for first in range(0, count, _PER_PROCESS):
            home = place / f"agents-{count}-{first}"
            home.mkdir()
            some = addresses[first : first + _PER_PROCESS]
            running.enter_context(running_snmpd(home, addresses=some, port=port, lines=[*_OVERRIDES, *users]))
        yield port


def _address(number: int) -> str:
    return f"127.33.{number // 250}.{number % 250 + 1}"


def _members(count: int) -> Mapping[str, str]:
    return {f"m{number:05}": _address(number) for number in range(count)}


def _asking(access: SnmpAccess, groups: Sequence[str] = ("web",)) -> tuple[Poller, Catalogue]:
    counters = [an_object(oid, id=f"c{place}") for place, oid in enumerate(OIDS)]
    catalogue = a_catalogue(counters, groups=groups, snmp=access, interval=_INTERVAL)
    return a_poller(SnmpSource(), secrets={"AUTH": AUTH_PASSWORD, "PRIV": PRIV_PASSWORD}), catalogue


# Beside the library


async def _compared(port: int, count: int) -> Figures:
    """Bare gufo-snmp, both groupings and v3 in turns, so that a busy minute meets all of them."""
    v2c, v3 = SnmpAccess(port=port), SnmpAccess(port=port, version=Version.V3, user=USER)
    sides = {"ten": _Chain(v2c, count, each=10), "one": _Chain(v2c, count, each=1), "v3": _Chain(v3, count, each=10)}
    bare = [
        SnmpSession(address, port=port, community="public", version=SnmpVersion.v2c)
        for address in _members(count).values()
    ]
    used: dict[str, list[float]] = {"bare": [], **{what: [] for what in sides}}
    aggregated: dict[str, list[float]] = {what: [] for what in sides}
    first = await _cpu(sides["v3"].frames)
    await sides["ten"].frames()
    await sides["one"].frames()
    await _all(bare)
    _settle()
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
        members = list(_members(count).items())
        self.aggregated = 0.0
        """Processor seconds of the last tick that went from scrapes to frames."""
        self._poller, self._catalogue = _asking(access, names)
        self._slots = [
            (Aggregator(self._catalogue, slot.groups), self._rosters(slot, names, members, each))
            for slot in slots_of(self._catalogue, names)
        ]

    async def frames(self) -> None:
        """One tick of every slot, from the socket to the frame of every group."""
        self.aggregated = 0.0
        for aggregator, listed in self._slots:
            scrape = await self._poller.poll(self._catalogue, listed, timeout=_PATIENT)
            _whole(scrape)
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


def _settle() -> None:
    """As the daemon does once it runs: what is there stays there, and is not looked through again."""
    gc.collect()
    gc.freeze()


def _whole(scrape: Scrape) -> None:
    lost = int((scrape.reply != Reply.OK).sum())
    assert lost == 0, f"{lost} of {scrape.reply.size} values were lost: {sorted(set(scrape.details.values()))}"


async def _cpu(work: Callable[[], Awaitable[None]]) -> float:
    began = time.process_time()
    await work()
    return time.process_time() - began


# Beside Prometheus


def _exporter(place: Path, port: int, agents: int, watched: float) -> Figures:
    """Both ask these agents every two seconds, for as long: what does a thousand polls cost each?"""
    if not all(map(shutil.which, ("prometheus", "prometheus-snmp-exporter"))):
        missing = "not installed: apt-get install prometheus prometheus-snmp-exporter"
        yield NotMeasured(job="1,000 polls", by="prometheus-snmp-exporter and its Prometheus", because=missing)
        return
    every = 2.0
    listening, scraping = free_tcp_port(), free_tcp_port()
    (place / "snmp.yml").write_text(_exporter_file())
    (place / "prometheus.yml").write_text(_prometheus_file(port, agents, every, listening))
    exporter = [
        "prometheus-snmp-exporter",
        f"--config.file={place}/snmp.yml",
        f"--web.listen-address=127.0.0.1:{listening}",
    ]
    prometheus = [
        "prometheus",
        f"--config.file={place}/prometheus.yml",
        f"--storage.tsdb.path={place}/tsdb",
        f"--web.listen-address=127.0.0.1:{scraping}",
    ]
    with (
        _running(exporter, place / "exporter.log", listening) as first,
        _running(prometheus, place / "prometheus.log", scraping) as second,
    ):
        time.sleep(3 * every)
        before, began = processor(first) + processor(second), time.monotonic()
        time.sleep(watched)
        used, polls = processor(first) + processor(second) - before, (time.monotonic() - began) / every * agents
    theirs = used / polls * 1000
    ours = asyncio.run(_paced(port, agents, every, max(int(watched / every / 2), 2)))
    job = f"1,000 polls of {agents:,} agents every {every:g} s"
    yield once(job, theirs, "CPU-s", by="prometheus-snmp-exporter and its Prometheus")
    yield once(job, ours, "CPU-s")
    yield once(f"{job}: the exporter and its Prometheus to Trimtab", theirs / ours, "×")


async def _paced(port: int, agents: int, every: float, rounds: int) -> float:
    poller, catalogue = _asking(SnmpAccess(port=port))
    listed = rosters(_members(agents))
    _whole(await poller.poll(catalogue, listed, timeout=_PATIENT))
    _settle()
    began, used = time.monotonic(), time.process_time()
    for number in range(rounds):
        _whole(await poller.poll(catalogue, listed, timeout=_PATIENT))
        await asyncio.sleep(max(began + (number + 1) * every - time.monotonic(), 0.0))
    await poller.close()
    return (time.process_time() - used) / (rounds * agents) * 1000


def _exporter_file() -> str:
    gets = "".join(f"    - {oid}\n" for oid in OIDS)
    metrics = "".join(
        f"    - {{name: c{place}, oid: {oid.removesuffix('.0')}, type: gauge, help: c}}\n"
        for place, oid in enumerate(OIDS)
    )
    return f"m:\n  get:\n{gets}  metrics:\n{metrics}  version: 2\n  auth: {{community: public}}\n"


def _prometheus_file(port: int, agents: int, every: float, listening: int) -> str:
    targets = ", ".join(f"'{_address(number)}:{port}'" for number in range(agents))
    return f"""
global: {{scrape_interval: {every:g}s}}
scrape_configs:
- job_name: snmp
  metrics_path: /snmp
  params: {{module: [m]}}
  static_configs: [{{targets: [{targets}]}}]
  relabel_configs:
  - {{source_labels: [__address__], target_label: __param_target}}
  - {{source_labels: [__param_target], target_label: instance}}
  - {{target_label: __address__, replacement: "127.0.0.1:{listening}"}}
"""


@contextlib.contextmanager
def _running(command: Sequence[str], log: Path, port: int) -> Iterator[int]:
    """Run a program until the block ends; gives its process id once it listens."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    with stopped(process):
        until(lambda: _listens(port), within=20.0, process=process, log=log)
        yield process.pid


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# Silence


async def _silence(port: int, deaf_ones: int) -> Figures:
    """One agent in ten does not answer: a socket is open there, and no program reads it."""
    deadline = scaled(4.0)
    loud = _members(9 * deaf_ones)
    silent = {f"s{number:05}": f"127.34.0.{number + 1}" for number in range(deaf_ones)}
    with contextlib.ExitStack() as deaf:
        for address in silent.values():
            opened = deaf.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            opened.bind((address, port))
        last: dict[str, list[float]] = {"alone": [], "beside": []}
        longest = 0.0
        poller, catalogue = _asking(SnmpAccess(port=port))
        for _ in range(5):
            for what, members in (("alone", loud), ("beside", {**loud, **silent})):
                began = time.monotonic()
                scrape = await poller.poll(catalogue, rosters(members), timeout=deadline)
                longest = max(longest, time.monotonic() - began)
                answered = scrape.replied_at[scrape.reply == Reply.OK]
                assert answered.size == len(loud) * len(OIDS)
                last[what].append(float(answered.max()) - began)
        await poller.close()
    job = f"{len(loud)} agents answer, the last after"
    both = f"{job}, with {len(silent)} silent ones beside them"
    return iter(
        [
            Figure(job=job, unit="ms", samples=tuple(each * 1e3 for each in last["alone"])),
            Figure(job=both, unit="ms", samples=tuple(each * 1e3 for each in last["beside"])),
            once(f"{both}: longest cycle with a deadline of {deadline:g} s", longest, "s"),
        ]
    )


# For minutes


async def _soak(port: int, agents: int, seconds: float, interval: float) -> Figures:
    """Many agents every 15 s; what has grown since the end of the first minute is growth."""
    poller, catalogue = _asking(SnmpAccess(port=port))
    listed = rosters(_members(agents))
    _whole(await poller.poll(catalogue, listed, timeout=_INTERVAL))
    _settle()
    cycles, warm = max(3, int(seconds / interval)), min(4, max(1, int(seconds / interval) // 2))
    late = lost = 0
    longest = 0.0
    settled = (0, 0.0)
    began, used = time.monotonic(), time.process_time()
    for number in range(cycles):
        started = time.monotonic()
        scrape = await poller.poll(catalogue, listed, timeout=_INTERVAL)
        took = time.monotonic() - started
        longest, late = max(longest, took), late + (took > interval)
        lost += int((scrape.reply != Reply.OK).sum())
        if number + 1 == warm:
            settled = _descriptors(), resident()
        await asyncio.sleep(max(began + (number + 1) * interval - time.monotonic(), 0.0))
    cost = (time.process_time() - used) / (cycles * agents) * 1000
    grown = _descriptors() - settled[0], resident() - settled[1]
    await poller.close()
    job = f"{agents:,} agents every {interval:g} s for {cycles * interval:g} s"
    return iter(
        [
            once(f"{job}: 1,000 polls", cost, "CPU-s"),
            once(f"{job}: longest cycle", longest, "s"),
            once(f"{job}: late cycles", float(late), ""),
            once(f"{job}: values that were lost", float(lost), f"of {cycles * 8 * agents:,}"),
            once(f"{job}: descriptors more than after a minute", float(grown[0]), ""),
            once(f"{job}: memory more than after a minute", grown[1], "MiB"),
        ]
    )


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
