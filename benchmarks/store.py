"""How many durable writes a second the store takes, what recording costs, and how much disk a day of history takes."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.beside import slots
from benchmarks.decide import catalogue_of
from benchmarks.report.figures import Measured, at_least, once
from collector.samples import Floats, Layout
from config.units import CloudId
from handler.planning.world import Phase
from handler.ports.stored import StoredTick
from handler.store.sqlite import SqliteStore
from tests.support.store import LOCAL, NOW, WEB, a_definition, a_record, a_state, a_tick, an_explanation, at, opened
from trigger.reasons import Reason

TICKS = 1000
WRITES = 400
BIG = 10_000


RESTLESS, HOURS = 6, 24
"""A block of history is full after a day: until then more of its last page is empty."""
STORY = 10
"""Ticks of 30 s between two changes of a group's story."""
_FEWEST = 6
"""Hours after which the used pages have grown, where only a part is run."""
_BUDGET = 2**30
_MANY = 1000
_DAY = 288 * _MANY
"""Stories of 1,000 restless groups in a day."""


def run(part: int = 1) -> Iterator[Measured]:
    """Measure on the disk of the temporary directory: it sets the rate of durable writes, not the code."""
    yield from (once(*figure) for figure in _writes(part))
    hours = max(HOURS // part, _FEWEST)
    yield from _history(hours, refused=False)
    yield from _history(hours, refused=True)


def _history(hours: int, *, refused: bool) -> Iterator[Measured]:
    """Let groups of four conditions change their story every five minutes, and prune once an hour, as the daemon does.

    A story changes because a condition becomes TRUE; if ``refused``, so does the other one of its policy, and each
    second story begins with a decision that refuses growth.
    """
    what = "a policy that is refused comes and goes" if refused else "a condition comes and goes"
    draw = np.random.default_rng(7)
    catalogue = catalogue_of(RESTLESS)
    with tempfile.TemporaryDirectory() as place, slots.running(catalogue, 4, Path(place)) as daemon:
        spent, begun = 0.0, 0.0
        for hour in range(hours + 1):
            for tick in range(12 * STORY):
                high = tick // STORY % 2 == 1
                daemon.tick(partial(_answers, draw=draw, high=high, both=refused), 30.0)
            began = time.process_time()
            daemon.store.prune(before=at(-1e9), bytes_at_most=_BUDGET)
            spent += time.process_time() - began
            if hour == 0:
                begun, spent = _bytes(Path(place)), 0.0  # the tables and the first hour, until it joins others
        each = (_bytes(Path(place)) - begun) / (12 * RESTLESS * hours)
    job = f"history of groups with 4 conditions whose story changes every 5 min: {what}"
    yield once(f"{job}, each story", each, "bytes")
    yield once("  packing, each story", 1e6 * spent / (12 * RESTLESS * hours), "CPU-us")
    yield once("  days of 1,000 such groups in 1 GiB", _BUDGET / (each * _DAY), "days", goal=at_least(30))


def _answers(layout: Layout, *, draw: np.random.Generator, high: bool, both: bool) -> Floats:
    """Answer 85 for counters that are high now, and 50 for the others, no two alike."""
    raised = np.array([high and (both or series.counter == "cpu") for series in layout.series])
    values: Floats = np.where(raised, 85.0, 50.0) + draw.normal(0.0, 1.5, len(layout.series))
    return values


def _bytes(place: Path) -> float:
    """Bytes of the pages that the store uses."""
    with contextlib.closing(sqlite3.connect(place / "store.sqlite")) as connection:
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
    return float((pages - free) * size)


def _writes(part: int) -> Iterable[tuple[str, float, str]]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "bench.sqlite"
        store = opened(path)
        store.declare([a_definition("web"), *(a_definition(f"g{n}") for n in range(TICKS // part))], NOW)
        yield "durable writes, 1 thread", _rate(store, WRITES // part, threads=1), "/s"
        yield "durable writes, 16 threads", _rate(store, WRITES // part, threads=16), "/s"
        yield from _recording(store, TICKS // part)
        big = BIG // part
        records = [a_record(n, phase=Phase.IN_SERVICE) for n in range(1, big + 1)]
        yield f"save, {big:,} members at once", _ms(lambda: store.save(records, CloudId("local"))), "ms"
        yield f"members, {big:,}", _ms(lambda: store.members(WEB)), "ms"
        yield "creates, among as many", _ms(lambda: store.creates(WEB, LOCAL, at(7200))), "ms"
        store.close()
        yield "open and close", _ms(lambda: opened(path).close()), "ms"


def _recording(store: SqliteStore, count: int) -> Iterable[tuple[str, float, str]]:
    yield f"record, {count:,} first ticks", _ms(lambda: store.record(_ticks(count, 0))), "ms"
    unchanged = [_ticks(count, turn) for turn in range(1, 8)]
    took = sorted(_ms(partial(store.record, ticks)) for ticks in unchanged)
    yield f"record, {count:,} unchanged ticks, median of {len(took)}", took[len(took) // 2], "ms"
    yield f"flush, {count:,} spans", _ms(store.flush), "ms"
    changed = _ticks(count, 8, reason=Reason.SCALED_OUT)
    yield f"record, {count:,} decisions with their states", _ms(lambda: store.record(changed)), "ms"


def _rate(store: SqliteStore, writes: int, *, threads: int) -> float:
    def write(number: int) -> None:
        store.begin_step(WEB, "create", None, at(number), (a_record(number + 1),), LOCAL)

    with ThreadPoolExecutor(threads) as pool:
        began = time.perf_counter()
        list(pool.map(write, range(writes)))
        return writes / (time.perf_counter() - began)


def _ticks(count: int, turn: int, *, reason: Reason = Reason.STEADY) -> list[StoredTick]:
    sizes = (3, 4) if reason is Reason.SCALED_OUT else (3, 3)
    state = a_state(4) if reason is Reason.SCALED_OUT else None
    values = (50.0 + turn, 20.0)
    explanations = [
        an_explanation(at(30 * turn), group=f"g{n}", reason=reason, sizes=sizes, values=values) for n in range(count)
    ]
    return [a_tick(explanation, state=state) for explanation in explanations]


def _ms(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000
