"""The whole daemon as an operator meets it: memory, processor time, lateness and how long its event loop is held.

Once with one group of four members and once with 1,000 of them, on a simulated cloud, and a value of each group that is
pushed: nothing fires, so what is measured is the cost of watching. A third daemon, of 1,000 groups again, has each turn
of its event loop measured, which costs a little of what the others are to show.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Sequence

from benchmarks.beside.machine import processor, resident
from benchmarks.beside.running import RunningDaemon, running
from benchmarks.report.figures import Measured, at_most, once

MEMBERS = 4
_HEADER = """\
counters: {orders: {push: ORDERS, per: group, range: [0, 1000]}}
conditions:
  high: {counter: orders, window: 1m, above: 800}
  low: {counter: orders, window: 5m, aggregate: max, below: 100}
policies:
  out: {when: [high], duration: 2m, add: 2}
  in: {when: [low], duration: 10m, remove: 1}
clouds: {sim: {simulated: {boot: 1s, call: 0s}, budget: {outstanding: 10000, per_hour: 10000}}}
profiles: {web: {cloud: sim}}
groups:
"""
_WATCH = 30.0
"""Seconds before, and as long a watch: an interval of all groups."""
_CORE, _MEMORY = at_most(4.0), at_most(180.0)


def run(part: int = 1) -> Iterator[Measured]:
    """Measure a daemon of one group and one of 1,000 for the same half minute, once all members serve."""
    sizes, watch = sorted({1, max(1000 // part, 1)}), _WATCH / part
    with contextlib.ExitStack() as together:
        daemons = [together.enter_context(_serving(groups)) for groups in sizes]
        watched = together.enter_context(_serving(sizes[-1], watched=True))
        time.sleep(watch)  # what members cost that have just come is not the idle state
        before = [(daemon.metrics(), processor(daemon.pid)) for daemon in daemons]
        watched.begin_turns()
        time.sleep(watch)
        for groups, daemon, (metrics, cpu) in zip(sizes, daemons, before, strict=True):
            yield from _figures(groups, daemon, metrics, processor(daemon.pid) - cpu, watch)
        yield from _turns(sizes[-1], watched.turns())


@contextlib.contextmanager
def _serving(groups: int, *, watched: bool = False) -> Iterator[RunningDaemon]:
    names = [f"g{number}" for number in range(groups)]
    with running(_HEADER + "".join(map(_group, names)), names, watched=watched) as daemon:
        daemon.served(groups * MEMBERS)
        daemon.push(names, 500)
        yield daemon


def _figures(
    groups: int, daemon: RunningDaemon, before: dict[str, float], spent: float, watch: float
) -> Iterator[Measured]:
    after, memory = daemon.metrics(), resident(daemon.pid)
    what, goals = f"idle daemon, {groups:,} groups of {MEMBERS}", groups == 1000
    yield once(f"{what}: resident memory", memory, "MiB", goal=_MEMORY if goals else None)
    yield once(f"{what}: processor", 100 * spent / watch, "% of a core", goal=_CORE if goals else None)
    hold, lag = "trimtab_loop_hold_seconds", "trimtab_evaluation_lag_seconds"
    yield once(f"{what}: longest hold of the event loop, at most", _most(before, after, hold), "s")
    yield once(f"{what}: latest tick, at most", _most(before, after, lag), "s")


def _turns(groups: int, spent: Sequence[float]) -> Iterator[Measured]:
    what, least = f"event loop, {groups:,} groups of {MEMBERS} at rest", sorted(spent)
    yield once(f"{what}: turns", len(least), "")
    for share in (0.5, 0.99, 0.9999):
        goal = at_most(20.0) if share == 0.9999 else None
        found = least[min(int(share * len(least)), len(least) - 1)]
        yield once(f"{what}: processor of a turn, p{100 * share:g}", found, "CPU-ms", goal=goal)


def _group(name: str) -> str:
    return f"  {name}: {{profile: web, min: {MEMBERS}, max: 9, freshness: 100, policies: [out, in]}}\n"


def _most(before: dict[str, float], after: dict[str, float], name: str) -> float:
    """The bound of the highest bucket that was hit between two scrapes."""
    buckets = []
    for key, value in after.items():
        found = re.fullmatch(name + r'_bucket\{le="([^"]+)"\}', key)
        if found:
            buckets.append((float(found[1].replace("+Inf", "inf")), value - before.get(key, 0.0)))
    total = max(count for _, count in buckets)
    return min(bound for bound, count in buckets if count >= total)
