"""What a fleet takes as it grows: 1,000, 5,000 and 10,000 groups of two members, in SQLite and in PostgreSQL.

A whole daemon on a simulated cloud. First at rest; then restless: each group's value passes a threshold at every
interval, too shortly for a policy to fire, so that every group's story changes at every tick. The server of PostgreSQL
is as it is delivered, and syncs each commit; its processor time and what it writes are counted apart.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

from benchmarks.beside.machine import processor, processor_of_all, resident
from benchmarks.beside.running import IN_SERVICE, RunningDaemon, running
from benchmarks.report.figures import Measured, once
from tests.support import postgresql

SIZES = (1_000, 5_000, 10_000)
_MEMBERS = 2
_INTERVAL = 30.0
_SETTLED = 60.0
"""Seconds after all members serve: what has just come is not the fleet at rest."""
_DURABLE = ("autovacuum=on",)
_LOW, _HIGH = 500.0, 850.0
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
    """Measure each size on both stores."""
    for groups in sorted({max(size // part, 2) for size in SIZES}):
        yield from _measured(groups, None, part)
        with postgresql.running(*_DURABLE) as server:
            server.create("trimtab")
            yield from _measured(groups, server, part)


def _measured(groups: int, server: postgresql.Server | None, part: int) -> Iterator[Measured]:
    names = [f"g{number}" for number in range(groups)]
    model = (_MODEL if server is None else f"store: {{url: '{_place(server)}'}}\n{_MODEL}") + "groups:\n"
    group = f"{{profile: web, min: {_MEMBERS}, max: 9, interval: {_INTERVAL:g}s, freshness: 100, policies: [out, in]}}"
    with running(model + "".join(f"  {name}: {group}\n" for name in names), names) as daemon:
        began = time.monotonic()
        daemon.served(groups * _MEMBERS, None if server is None else lambda: _in_service(server))
        what = f"{groups:,} groups, {'SQLite' if server is None else 'PostgreSQL'}"
        yield once(f"{what}: until all members serve", time.monotonic() - began, "s")
        daemon.push(names, _LOW)
        time.sleep(_SETTLED / part)
        for how, values in (("at rest", (_LOW, _LOW)), ("restless", (_HIGH, _LOW))):
            before = _taken(daemon, server)
            for value in values:
                daemon.push(names, value)
                time.sleep(_INTERVAL / part)
            yield from _figures(f"{what}, {how}", groups, before, _taken(daemon, server))
        yield once(f"{what}: memory of the daemon", resident(daemon.pid), "MiB")


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


def _taken(daemon: RunningDaemon, server: postgresql.Server | None) -> _Taken:
    at, own = time.monotonic(), processor(daemon.pid)
    if server is None:
        return _Taken(at, own, 0.0, _sent_to_disk(daemon.pid), 0.0)
    (log, transactions) = server.execute(
        "SELECT pg_current_wal_lsn() - '0/0', xact_commit FROM pg_stat_database WHERE datname = 'trimtab'"
    )[0]
    return _Taken(at, own, processor_of_all(server.processes()), float(log), float(transactions))


def _sent_to_disk(pid: int) -> float:
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("write_bytes"))


def _in_service(server: postgresql.Server) -> int:
    with contextlib.suppress(psycopg.errors.UndefinedTable):  # the daemon has not made it yet
        return int(server.execute(IN_SERVICE, server.place("trimtab"))[0][0])
    return 0


def _place(server: postgresql.Server) -> str:
    return server.place("trimtab").url
