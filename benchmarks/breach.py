"""From a breach to the call of the cloud: every group breaches at once, and calls take a second.

The cloud writes down when each call arrives. The processor time is all of the daemon's, from the push until every new
member serves.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.beside.machine import processor, resident
from benchmarks.beside.running import RunningDaemon, running
from benchmarks.report.figures import Measured, at_most, once

_MEMBERS = 1
"""Of each group before the breach: to start four takes four times as long, and is no part of what is measured."""
_CALL = 1.0
_HEADER = """\
counters: {{orders: {{push: ORDERS, per: group, range: [0, 1000]}}}}
conditions: {{high: {{counter: orders, window: {interval:g}s, above: 800}}}}
policies: {{out: {{when: [high], duration: 0s, add: 1, quiet_time: 1h}}}}
clouds: {{sim: {{simulated: {{boot: 1s, call: {call:g}s}}, budget: {{outstanding: 10000, per_hour: 20000}}}}}}
profiles: {{web: {{cloud: sim}}}}
groups:
"""


def run(part: int = 1) -> Iterator[Measured]:
    """Measure 1,000 groups with an interval of ten seconds."""
    interval = 10.0 if part == 1 else 1.0
    names = [f"g{number}" for number in range(max(1000 // part, 2))]
    model = _HEADER.format(interval=interval, call=_CALL) + "".join(_group(name, interval) for name in names)
    with running(model, names) as daemon:
        yield from _measured(daemon, names, interval)


def _measured(daemon: RunningDaemon, names: list[str], interval: float) -> Iterator[Measured]:
    daemon.served(len(names) * _MEMBERS)
    daemon.push(names, 500)
    time.sleep(interval)  # every group decides once at rest
    cpu = processor(daemon.pid)
    daemon.push(names, 900)
    pushed = time.time()
    daemon.served(len(names) * (_MEMBERS + 1))
    spent = processor(daemon.pid) - cpu
    after = sorted(at - pushed for at in _calls(daemon.state / "simulated" / "sim.jsonl"))
    what = f"{len(names):,} groups breach at once, calls of {_CALL:g} s, interval {interval:g} s"
    yield once(f"{what}: to the cloud's call, p50", after[len(after) // 2], "s")
    yield once(f"{what}: to the cloud's call, p99", after[int(0.99 * len(after))], "s", goal=at_most(interval + _CALL))
    yield once(f"{what}: processor a group, from decision to service", 1000 * spent / len(names), "CPU-ms")
    yield once(f"{what}: resident memory", resident(daemon.pid), "MiB")


def _group(name: str, interval: float) -> str:
    return (
        f"  {name}: {{profile: web, min: {_MEMBERS}, max: 9, interval: {interval:g}s, freshness: 1000, warm_up: 0s, "
        "policies: [out]}\n"
    )


def _calls(file: Path) -> Iterator[float]:
    """Yield when the call for each group's next member arrived."""
    first: dict[str, float] = {}
    for line in file.read_text().splitlines():
        written = json.loads(line)
        name = str(written.get("name", ""))
        if name.endswith(f"-{_MEMBERS + 1}"):
            first.setdefault(name, written["turns"][0][0])
    yield from first.values()
