"""How quickly `trimtab why GROUP --at T` finds what was decided then, in a month of history."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from config.units import GroupId
from handler.store.sqlite import SqliteStore
from tests.support.store import a_definition, a_tick, an_explanation, at, opened
from trigger.explain.words import say
from trigger.reasons import Reason

GROUPS, DAYS, EVERY = 5, 30, 300
"""A group whose story changes every five minutes is a restless one."""
_ASKED = 200


def run(part: int = 1) -> Iterator[tuple[str, float, str]]:
    """Ask at any instants of the month."""
    names = [f"g{number}" for number in range(GROUPS)]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "bench.sqlite"
        store = opened(path)
        store.declare([a_definition(name) for name in names], at(0))
        days = DAYS / part
        spans = _fill(store, names, days)
        store.close()
        store = opened(path)
        chosen = random.Random(1)  # noqa: S311 the same instants every time
        took = sorted(_ms(store, chosen.choice(names), chosen.uniform(0, days * 86400)) for _ in range(_ASKED))
        store.close()
        yield f"{spans:,} spans of {GROUPS} groups in {days:g} days", path.stat().st_size / 2**20, "MiB"
        yield "  why at any instant, median", statistics.median(took), "ms"
        yield "  slowest of 200", took[-1], "ms"


def _fill(store: SqliteStore, names: list[str], days: float) -> int:
    reasons, count = [Reason.STEADY, Reason.HOLDING, Reason.QUIET, Reason.CATCHING_UP], 0
    for number, second in enumerate(range(0, round(days * 86400), EVERY)):
        reason = reasons[number % len(reasons)]
        explanations = [an_explanation(at(second), group=name, reason=reason, values=(50.0, 20.0)) for name in names]
        store.record([a_tick(explanation) for explanation in explanations])
        count += len(explanations)
    store.flush()
    return count


def _ms(store: SqliteStore, group: str, seconds: float) -> float:
    began = time.perf_counter()
    span = store.span_at(GroupId(group), at(seconds))
    assert span is not None
    assert say(span.first, span.first.at)
    return (time.perf_counter() - began) * 1000
