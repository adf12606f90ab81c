"""The whole daemon as an operator meets it: memory, processor time, lateness and the longest hold of its event loop.

Once with one group of four members and once with 1,000 of them, on a simulated cloud, and a value of each group that is
pushed: nothing fires, so what is measured is the cost of watching.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from benchmarks.beside.machine import processor, resident

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


def run(part: int = 1) -> Iterator[tuple[str, float, str]]:
    """Measure a daemon of one group and one of 1,000, for a minute each, once all members serve."""
    for groups in (1, 1000 // part):
        yield from _measure(groups, watch=60.0 / part)


def _measure(groups: int, watch: float) -> Iterator[tuple[str, float, str]]:
    names = [f"g{number}" for number in range(groups)]
    with tempfile.TemporaryDirectory(prefix="ttb") as place:
        file, log = Path(place) / "model.yaml", Path(place) / "log"
        file.write_text(_HEADER + "".join(map(_group, names)))
        trimtab = str(Path(sys.executable).parent / "trimtab")
        command = [trimtab, "run", str(file), "--state", f"{place}/state", "--port", "0"]
        with log.open("w") as stream, subprocess.Popen(command, stderr=stream) as daemon:
            try:
                port = _port(log)
                pushed = ",".join(names)
                hook = [trimtab, "hook", "new", "bench", "--push", pushed, "--state", f"{place}/state", "--json"]
                token = json.loads(subprocess.check_output(hook))["token"]
                _served(port, groups * MEMBERS)
                _push(port, token, names)
                time.sleep(watch / 10)  # what members cost that have just come is not the idle state
                before, cpu = _metrics(port), processor(daemon.pid)
                time.sleep(watch)
                after, spent = _metrics(port), processor(daemon.pid) - cpu
                what = f"idle daemon, {groups:,} groups of {MEMBERS}"
                yield f"{what}: resident memory", resident(daemon.pid), "MiB"
                yield f"{what}: processor", 100 * spent / watch, "% of a core"
                hold, lag = "trimtab_loop_hold_seconds", "trimtab_evaluation_lag_seconds"
                yield f"{what}: longest hold of the event loop, at most", _most(before, after, hold), "s"
                yield f"{what}: latest tick, at most", _most(before, after, lag), "s"
            finally:
                daemon.send_signal(signal.SIGTERM)
                daemon.wait(60)


def _group(name: str) -> str:
    return f"  {name}: {{profile: web, min: {MEMBERS}, max: 9, freshness: 100, policies: [out, in]}}\n"


def _served(port: int, members: int) -> None:
    """Wait until so many members are in service."""
    serving = 0.0
    for _ in range(600):
        shown = _metrics(port)
        serving = sum(value for key, value in shown.items() if re.match(r"trimtab_group_members\{.*in_service", key))
        if serving == members:
            return
        time.sleep(0.5)
    raise RuntimeError(f"{members} members were to serve, and {serving:.0f} do")


def _push(port: int, token: str, names: list[str]) -> None:
    body = json.dumps([{"group": name, "values": {"ORDERS": 500}} for name in names]).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/push", body, headers)
    urllib.request.urlopen(request, timeout=10).close()


def _port(log: Path) -> int:
    """Wait until the daemon says where it listens."""
    for _ in range(600):
        found = re.search(r"event=listening url=http://127\.0\.0\.1:(\d+)", log.read_text())
        if found:
            return int(found[1])
        time.sleep(0.1)
    raise RuntimeError(f"the daemon did not come up: {log.read_text()[-2000:]}")


def _metrics(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=120) as answer:
        lines = answer.read().decode().splitlines()
    return {key: float(value) for key, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def _most(before: dict[str, float], after: dict[str, float], name: str) -> float:
    """The bound of the highest bucket that was hit between two scrapes."""
    buckets = []
    for key, value in after.items():
        found = re.fullmatch(name + r'_bucket\{le="([^"]+)"\}', key)
        if found:
            buckets.append((float(found[1].replace("+Inf", "inf")), value - before.get(key, 0.0)))
    total = max(count for _, count in buckets)
    return min(bound for bound, count in buckets if count >= total)
