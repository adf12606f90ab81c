"""What a scrape of the daemon's metrics costs each of 10,000 groups: after a tick that changed their values, and again.

The slots are those of `benchmarks.decide`, once where nothing fires and once where every group scales out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.beside import slots
from benchmarks.decide import GROUPS, INTERVAL, MEMBERS, all_answer, catalogue_of, cpu_of
from benchmarks.report.figures import Measured, once

_FILLED = 3
"""Ticks until every window is full."""


def run(part: int = 1) -> Iterator[Measured]:
    """Measure a first scrape after a tick, and a second one before the next tick."""
    groups = GROUPS // part
    catalogue = catalogue_of(groups)
    with tempfile.TemporaryDirectory(prefix="ttb") as place, slots.running(catalogue, MEMBERS, Path(place)) as daemon:
        for value, what in ((50.0, "nothing fires"), (95.0, "every group scales out")):
            for _ in range(_FILLED):
                daemon.tick(all_answer(value), INTERVAL)
            daemon.metrics.text()
            daemon.tick(all_answer(value + 1.0), INTERVAL)
            changed, unchanged = cpu_of(daemon.metrics.text), cpu_of(daemon.metrics.text)
            yield once(f"a scrape after a tick, each group, {what}", 1e6 * changed / groups, "CPU-us")
            yield once(f"a scrape before the next tick, each group, {what}", 1e6 * unchanged / groups, "CPU-us")
