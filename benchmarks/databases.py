"""What the store costs each group on PostgreSQL and on SQLite: the same ticks and writes on both, in one run."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.beside import slots
from benchmarks.beside.machine import processor_of_all
from benchmarks.decide import catalogue_of
from benchmarks.report.figures import Measured, at_most, once
from collector.samples import Floats, Layout
from handler.runtime.store_place import database_of
from handler.store.postgresql import PostgresqlStore
from handler.store.sql_store import SqlStore
from handler.store.sqlite import SqliteStore
from tests.support.postgresql import Server, running
from tests.support.store import LOCAL, NOW, WEB, a_definition, a_record, at

GROUPS, TICKS, WRITES = 1000, 40, 400
STORY = 10
"""Ticks of 30 s between two changes of a group's story."""
_DURABLE = ("autovacuum=on",)
"""A server as it is delivered, which syncs each commit to the disk."""


def run(part: int = 1) -> Iterator[Measured]:
    """Measure processor time of the daemon's process and of the server's, and the rate of durable writes."""
    groups, ticks = max(GROUPS // part, 5), max(TICKS // part, 2 * STORY)
    with tempfile.TemporaryDirectory() as place, running(*_DURABLE) as server:
        in_file, _ = _ticks(
            Path(place), SqliteStore.open(Path(place) / "store.sqlite", installation="k3f9ab"), groups, ticks, None
        )
        own, servers = _ticks(Path(place), _on_server(server, "ticks"), groups, ticks, server)
        job = f"a tick of {groups:,} groups with 4 conditions whose story changes every 5 min"
        yield once(f"{job}, SQLite, each group", in_file, "CPU-us")
        yield once(f"{job}, PostgreSQL, each group", own, "CPU-us")
        yield once("  and in the server", servers, "CPU-us")
        yield once("  all of it, of what it costs on SQLite", (own + servers) / in_file, "×", goal=at_most(1.3))
        for name, store in (
            ("SQLite", SqliteStore.open(Path(place) / "writes.sqlite", installation="k3f9ab")),
            ("PostgreSQL", _on_server(server, "writes")),
        ):
            store.declare([a_definition("web")], NOW)
            for threads in (1, 16):
                yield once(f"durable writes, {threads} threads, {name}", _rate(store, WRITES // part, threads), "/s")
            store.close()


def _on_server(server: Server, database: str) -> SqlStore:
    return PostgresqlStore.open(database_of(server.create(database)), installation="k3f9ab")


def _ticks(place: Path, store: SqlStore, groups: int, ticks: int, server: Server | None) -> tuple[float, float]:
    """Return the processor time of a group's tick in this process and in the server, in microseconds."""
    draw = np.random.default_rng(7)
    with slots.running(catalogue_of(groups), 4, place, store) as daemon:
        began, spent = 0.0 if server is None else processor_of_all(server.processes()), 0.0
        for tick in range(ticks):
            high = tick // STORY % 2 == 1
            spent += daemon.tick(lambda layout, high=high: _answers(layout, draw, high=high), 30.0)  # type: ignore[misc]
        served = 0.0 if server is None else processor_of_all(server.processes()) - began
    return 1e6 * spent / (groups * ticks), 1e6 * served / (groups * ticks)


def _answers(layout: Layout, draw: np.random.Generator, *, high: bool) -> Floats:
    raised = np.array([high and series.counter == "cpu" for series in layout.series])
    values: Floats = np.where(raised, 85.0, 50.0) + draw.normal(0.0, 1.5, len(layout.series))
    return values


def _rate(store: SqlStore, writes: int, threads: int) -> float:
    def write(number: int) -> None:
        store.begin_step(WEB, "create", None, at(number), (a_record(number + 1),), LOCAL)

    with ThreadPoolExecutor(threads) as pool:
        began = time.perf_counter()
        list(pool.map(write, range(max(writes, 4))))
        return max(writes, 4) / (time.perf_counter() - began)
