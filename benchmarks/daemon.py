"""The whole daemon as an operator meets it: memory, processor time, lateness and the longest hold of its event loop."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

_WATCH = 30.0
_HEADER = """\
counters: {busy: {snmp: "TRIMTAB-DEMO::busyPercent.0", range: [0, 100]}}
conditions:
  high: {counter: busy, window: 1m, above: 80}
  low: {counter: busy, window: 5m, aggregate: max, below: 30}
policies:
  out: {when: [high], duration: 2m, add: 2}
  in: {when: [low], duration: 10m, remove: 1}
clouds: {local: {process: {}}}
profiles: {web: {cloud: local, command: [sleep, "600"]}}
groups:
"""


def run() -> Iterator[tuple[str, float, str]]:
    """One daemon without members, then with 1 and 1,000 groups."""
    for groups in (1, 1000):
        yield from _measure(groups)


def _measure(groups: int) -> Iterator[tuple[str, float, str]]:
    lines = [f"  g{n}: {{profile: web, min: 0, max: 9, policies: [out, in]}}\n" for n in range(groups)]
    with tempfile.TemporaryDirectory(prefix="ttb") as place:
        file = Path(place) / "model.yaml"
        file.write_text(_HEADER + "".join(lines))
        trimtab = str(Path(sys.executable).parent / "trimtab")
        command = [trimtab, "run", str(file), "--state", f"{place}/state", "--port", "0"]
        log = Path(place) / "log"
        with log.open("w") as stream, subprocess.Popen(command, stderr=stream) as daemon:
            port = _port(log)
            time.sleep(5.0)  # the first pass over every group is not the idle state
            before, cpu = _metrics(port), _cpu(daemon.pid)
            time.sleep(_WATCH)
            after = _metrics(port)
            yield f"idle daemon, {groups} groups: resident memory", _resident(daemon.pid), "MiB"
            yield f"idle daemon, {groups} groups: processor", 100 * (_cpu(daemon.pid) - cpu) / _WATCH, "% of a core"
            hold, lag = "trimtab_loop_hold_seconds", "trimtab_evaluation_lag_seconds"
            yield (
                f"idle daemon, {groups} groups: longest hold of the event loop, at most",
                _most(before, after, hold),
                "s",
            )
            yield f"idle daemon, {groups} groups: latest tick, at most", _most(before, after, lag), "s"
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(30)


def _port(log: Path) -> int:
    """Wait until the daemon says where it listens."""
    for _ in range(600):
        found = re.search(r"event=listening url=http://127\.0\.0\.1:(\d+)", log.read_text())
        if found:
            return int(found[1])
        time.sleep(0.1)
    raise RuntimeError(f"the daemon did not come up: {log.read_text()[-2000:]}")


def _metrics(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
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


def _resident(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024  # type: ignore[index]


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
