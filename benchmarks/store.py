"""How many durable writes a second the store takes, and what recording costs when nothing changes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from config.units import CloudId
from handler.planning.world import Phase
from handler.ports.stored import StoredTick
from handler.store.sqlite import SqliteStore
from tests.support.store import LOCAL, NOW, WEB, a_definition, a_record, a_state, a_tick, an_explanation, at, opened
from trigger.reasons import Reason

TICKS = 1000
WRITES = 400
BIG = 10_000


def run(part: int = 1) -> Iterable[tuple[str, float, str]]:
    """Measure on the disk of the temporary directory: it sets the rate of durable writes, not the code."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "bench.sqlite"
        store = opened(path)
        store.declare([a_definition("web"), *(a_definition(f"g{n}") for n in range(TICKS))], NOW)
        yield "durable writes, 1 thread", _rate(store, WRITES // part, threads=1), "/s"
        yield "durable writes, 16 threads", _rate(store, WRITES // part, threads=16), "/s"
        yield from _recording(store)
        big = BIG // part
        records = [a_record(n, phase=Phase.IN_SERVICE) for n in range(1, big + 1)]
        yield f"save, {big:,} members at once", _ms(lambda: store.save(records, CloudId("local"))), "ms"
        yield f"members, {big:,}", _ms(lambda: store.members(WEB)), "ms"
        yield "creates, among as many", _ms(lambda: store.creates(WEB, LOCAL, at(7200))), "ms"
        store.close()
        yield "open and close", _ms(lambda: opened(path).close()), "ms"


def _recording(store: SqliteStore) -> Iterable[tuple[str, float, str]]:
    yield f"record, {TICKS:,} first ticks", _ms(lambda: store.record(_ticks(0))), "ms"
    unchanged = [_ticks(turn) for turn in range(1, 8)]
    took = sorted(_ms(partial(store.record, ticks)) for ticks in unchanged)
    yield f"record, {TICKS:,} unchanged ticks, median of {len(took)}", took[len(took) // 2], "ms"
    yield f"flush, {TICKS:,} spans", _ms(store.flush), "ms"
    changed = _ticks(8, reason=Reason.SCALED_OUT)
    yield f"record, {TICKS:,} decisions with their states", _ms(lambda: store.record(changed)), "ms"


def _rate(store: SqliteStore, writes: int, *, threads: int) -> float:
    def write(number: int) -> None:
        store.begin_step(WEB, "create", None, at(number), (a_record(number + 1),), LOCAL)

    with ThreadPoolExecutor(threads) as pool:
        began = time.perf_counter()
        list(pool.map(write, range(writes)))
        return writes / (time.perf_counter() - began)


def _ticks(turn: int, *, reason: Reason = Reason.STEADY) -> list[StoredTick]:
    sizes = (3, 4) if reason is Reason.SCALED_OUT else (3, 3)
    state = a_state(4) if reason is Reason.SCALED_OUT else None
    values = (50.0 + turn, 20.0)
    told = [
        an_explanation(at(30 * turn), group=f"g{n}", reason=reason, sizes=sizes, values=values) for n in range(TICKS)
    ]
    return [a_tick(explanation, state=state) for explanation in told]


def _ms(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000
