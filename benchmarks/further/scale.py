"""What a fleet takes as it grows: 1,000, 5,000 and 10,000 groups of two members, in SQLite and in PostgreSQL.

A whole daemon on a simulated cloud. First at rest; then restless: each group's value passes a threshold at every
interval, too shortly for a policy to fire, so that every group's story changes at every tick. The server of PostgreSQL
is as it is delivered, and syncs each commit; its processor time and what it writes are counted apart.

Then 10,000 groups as three shards on three machines: the worker of each machine holds the lease of one, and stands by
for the others. What all three processes and the server take is compared with one daemon on SQLite.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg

from benchmarks.beside.machine import processor, processor_of_all, resident
from benchmarks.beside.running import IN_SERVICE, RunningDaemon, RunningWorker, running, wait_served, working
from benchmarks.report.figures import Measured, at_most, once
from tests.support import postgresql

SIZES = (1_000, 5_000, 10_000)
_MEMBERS = 2
_INTERVAL = 30.0
_SETTLED = 60.0
"""Seconds after all members serve: what has just come is not the fleet at rest."""
_SITES = ("north", "south", "west")
_DURABLE = ("autovacuum=on", "max_connections=150")
_LOW, _HIGH = 500.0, 850.0
_LOADS = {"at rest": (_LOW, _LOW), "restless": (_HIGH, _LOW)}
_MODEL = """\
counters: {orders: {push: ORDERS, per: group, range: [0, 1000]}}
conditions:
  high: {counter: orders, window: 30s, above: 800}
  low: {counter: orders, window: 5m, aggregate: max, below: 100}
policies:
  out: {when: [high], duration: 2m, add: 2}
  in: {when: [low], duration: 10m, remove: 1}
clouds: {sim: {simulated: {boot: 1s, call: 0s}, budget: {outstanding: 20000, per_hour: 100000}}}
profiles: {web: {cloud: sim}}
"""


@dataclass(frozen=True, slots=True)
class _Taken:
    """What was taken until an instant."""

    at: float
    daemon: float
    """Seconds of its processor."""
    server: float
    """Likewise of the database's processes; 0: there is no server."""
    written: float
    """Bytes: the log of PostgreSQL, or what the daemon sent to its disk."""
    transactions: float


def run(part: int = 1) -> Iterator[Measured]:
    """Measure each size on both stores, and the largest as three shards."""
    alone: dict[str, float] = {}
    for groups in sorted({max(size // part, 2) for size in SIZES}):
        yield from _measured(groups, None, part, alone)
        with postgresql.running(*_DURABLE) as server:
            server.create("trimtab")
            yield from _measured(groups, server, part, {})
    with postgresql.running(*_DURABLE) as server:
        yield from _shared(max(SIZES[-1] // part, 6) // len(_SITES), server, part, alone)


def _measured(groups: int, server: postgresql.Server | None, part: int, each: dict[str, float]) -> Iterator[Measured]:
    """Measure one daemon; ``each`` is given what a group takes in an interval, in processor microseconds."""
    names = [f"g{number}" for number in range(groups)]
    with running(_file(names, None if server is None else _place(server)), names) as daemon:
        began = time.monotonic()
        daemon.served(groups * _MEMBERS, None if server is None else lambda: _in_service(server))
        what = f"{groups:,} groups, {'SQLite' if server is None else 'PostgreSQL'}"
        yield once(f"{what}: until all members serve", time.monotonic() - began, "s")
        daemon.push(names, _LOW)
        time.sleep(_SETTLED / part)
        for how, values in _LOADS.items():
            before = _taken([daemon.pid], daemon.pid, server)
            for value in values:
                daemon.push(names, value)
                time.sleep(_INTERVAL / part)
            after = _taken([daemon.pid], daemon.pid, server)
            each[how] = _each(groups, before, after)
            yield from _figures(f"{what}, {how}", groups, before, after)
        yield once(f"{what}: memory of the daemon", resident(daemon.pid), "MiB")


def _shared(groups: int, server: postgresql.Server, part: int, alone: Mapping[str, float]) -> Iterator[Measured]:
    """Measure three shards of so many groups each, and a worker of all three on each machine; each holds one."""
    names = {site: [f"{site}{number}" for number in range(groups)] for site in _SITES}
    with contextlib.ExitStack() as stack:
        workers = dict(_workers(server, stack))
        held = _grown(workers, server, names)
        time.sleep(_SETTLED / part)
        daemons = [worker.pid for worker in workers.values()]
        total = groups * len(_SITES)
        what = f"{total:,} groups, three shards on three machines"
        for how, values in _LOADS.items():
            before = _taken(daemons, None, server)
            for value in values:
                for site, holder in held.items():
                    holder.push(names[site], value)
                time.sleep(_INTERVAL / part)
            after = _taken(daemons, None, server)
            yield from _figures(f"{what}, {how}", total, before, after)
            ratio = _each(total, before, after) / alone[how]
            yield once(f"{what}, {how}: of one daemon on SQLite", ratio, "×", goal=at_most(1.3))
        yield once(f"{what}: memory of a machine", sum(map(resident, daemons)) / len(_SITES), "MiB")


def _workers(server: postgresql.Server, stack: contextlib.ExitStack) -> Iterator[tuple[str, RunningWorker]]:
    """Start a worker on each machine, without groups; each with the shard that it is to hold.

    The simulated cloud of a shard lies on one machine, so its groups come once the right worker has the lease.
    """
    for site in _SITES:
        server.create(site)
    empty = {site: _file([], server.place(site).url) for site in _SITES}
    for site in _SITES:
        yield site, stack.enter_context(working(empty, f"{site}-box", prefers=site))


def _grown(
    workers: Mapping[str, RunningWorker], server: postgresql.Server, names: Mapping[str, Sequence[str]]
) -> Mapping[str, RunningDaemon]:
    """Have each worker take its shard and then its groups, and wait until all members serve."""
    for site, worker in workers.items():
        worker.acting(site)
    models = {site: _file(names[site], server.place(site).url) for site in _SITES}
    for worker in workers.values():
        worker.declare(models)
    held = {}
    for site, worker in workers.items():
        worker.reload()
        wait_served(len(names[site]) * _MEMBERS, partial(_in_service, server, site))
        held[site] = worker.holder(site, names[site])
        held[site].push(names[site], _LOW)
    return held


def _file(names: Sequence[str], url: str | None) -> str:
    store = "" if url is None else f"store: {{url: '{url}'}}\n"
    group = f"{{profile: web, min: {_MEMBERS}, max: 9, interval: {_INTERVAL:g}s, freshness: 100, policies: [out, in]}}"
    return f"{store}{_MODEL}groups:{'' if names else ' {}'}\n" + "".join(f"  {name}: {group}\n" for name in names)


def _each(groups: int, before: _Taken, after: _Taken) -> float:
    """Return the processor time of a group and interval, of all processes together, in microseconds."""
    spent = after.daemon - before.daemon + after.server - before.server
    return 1e6 * spent / (groups * (after.at - before.at) / _INTERVAL)


def _figures(what: str, groups: int, before: _Taken, after: _Taken) -> Iterator[Measured]:
    took = after.at - before.at
    ticks = groups * took / _INTERVAL
    own, servers = after.daemon - before.daemon, after.server - before.server
    yield once(f"{what}: daemon's processor, each group and interval", 1e6 * own / ticks, "CPU-us")
    if after.server:
        yield once(f"{what}: database's processor, each group and interval", 1e6 * servers / ticks, "CPU-us")
        yield once(f"{what}: transactions", (after.transactions - before.transactions) / took, "/s")
    yield once(f"{what}: all of it, of a core", 100 * (own + servers) / took, "%")
    yield once(f"{what}: written", (after.written - before.written) / took / 1024, "KiB/s")


def _taken(daemons: Sequence[int], writer: int | None, server: postgresql.Server | None) -> _Taken:
    """Take what daemons and a server have used. ``writer`` is the daemon that has a store of its own."""
    at, own = time.monotonic(), sum(map(processor, daemons))
    if server is None:
        return _Taken(at, own, 0.0, 0.0 if writer is None else _sent_to_disk(writer), 0.0)
    (log, transactions) = server.execute("SELECT pg_current_wal_lsn() - '0/0', sum(xact_commit) FROM pg_stat_database")[
        0
    ]
    return _Taken(at, own, processor_of_all(server.processes()), float(log), float(transactions))


def _sent_to_disk(pid: int) -> float:
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("write_bytes"))


def _in_service(server: postgresql.Server, database: str = "trimtab") -> int:
    with contextlib.suppress(psycopg.errors.UndefinedTable):  # the daemon has not made it yet
        return int(server.execute(IN_SERVICE, server.place(database))[0][0])
    return 0


def _place(server: postgresql.Server) -> str:
    return server.place("trimtab").url
