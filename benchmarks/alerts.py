"""A flood of alerts on a whole daemon: how many are accepted, how fast, and whether 500 groups still decide on time.

Every alert is another one (its own fingerprint) in a notification of its own, sent by `benchmarks.beside.sending`. A
third fire a policy, a third raise a floor, a third shield. 1,000 a second for 60 seconds.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.beside.machine import processor, resident
from benchmarks.beside.running import metrics_at, port_of
from benchmarks.beside.sending import Sent, figures_of, run_client, send, sent_by
from benchmarks.daemon import _most
from benchmarks.report.figures import Measured, at_most, once

_SECONDS = 60.0
_RATE = 1000.0
_GROUPS, _FEWEST = 500, 20
_CONNECTIONS = 256
"""At 1,000 a second and the 250 ms that an answer may take, so many requests wait for theirs."""
_PATIENCE = 600.0
"""Seconds that a busy machine may take to start, to send and to stop."""
_EFFECTS = ("Fire", "Floor", "Shield")
_MODEL = """\
counters: {busy: {snmp: "TRIMTAB-DEMO::busyPercent.0", range: [0, 100]}}
conditions: {high: {counter: busy, window: 1m, above: 80}}
policies: {out: {when: [high], duration: 2m, add: 1}}
clouds: {local: {process: {}}}
profiles: {web: {cloud: local, command: [sleep, "600"]}}
alerts:
"""


def run(part: int = 1) -> Iterator[Measured]:
    """One daemon of 500 groups without members (mode advise, so that nothing is built), under the flood."""
    groups = max(_GROUPS // part, _FEWEST)
    with tempfile.TemporaryDirectory(prefix="ttb") as place:
        file = Path(place) / "model.yaml"
        file.write_text(_model(groups))
        trimtab = str(Path(sys.executable).parent / "trimtab")
        log = Path(place) / "log"
        command = [trimtab, "run", str(file), "--state", f"{place}/state", "--port", "0"]
        with log.open("w") as stream, subprocess.Popen(command, stderr=stream) as daemon:
            try:
                port = port_of(log)
                made = subprocess.check_output([trimtab, "hook", "new", "bench", "--state", f"{place}/state", "--json"])
                time.sleep(8.0 / part)  # the first passes and ticks are not what is measured
                yield from _flood(daemon.pid, port, json.loads(made)["path"], groups, _SECONDS / part)
            finally:
                daemon.send_signal(signal.SIGTERM)
                daemon.wait(_PATIENCE)


def _flood(pid: int, port: int, path: str, groups: int, seconds: float) -> Iterator[Measured]:
    before, cpu, began = metrics_at(port), processor(pid), time.monotonic()
    sent = sent_by("benchmarks.alerts", port, path, groups, seconds, within=seconds + _PATIENCE)
    after, took = metrics_at(port), time.monotonic() - began
    spent = processor(pid) - cpu
    what = f"{_RATE:.0f} alerts/s for {seconds:g} s, {groups} groups"
    yield from figures_of(what, sent, spent, at_rate=0.99 * _RATE, status=202, p99=at_most(250.0))
    yield once(f"{what}: daemon's processor", 100 * spent / took, "% of a core")
    yield once(f"{what}: resident memory", resident(pid), "MiB")
    lag = _most(before, after, "trimtab_evaluation_lag_seconds")
    yield once(f"{what}: latest tick, at most", lag, "s", goal=at_most(1.0))
    yield once(
        f"{what}: longest hold of the event loop, at most", _most(before, after, "trimtab_loop_hold_seconds"), "s"
    )
    ticks = "trimtab_evaluation_lag_seconds_count"
    yield once(f"{what}: ticks of slots", after[ticks] - before[ticks], "")


def _model(count: int) -> str:
    groups = [f"g{number}" for number in range(count)]
    every_group = f"groups: [{', '.join(groups)}], group_label: group, ttl: 5m"
    lines = [
        f"  fire: {{match: {{alertname: Fire}}, fire: out, {every_group}}}\n",
        f"  floor: {{match: {{alertname: Floor}}, floor: 1, {every_group}}}\n",
        f"  shield: {{match: {{alertname: Shield}}, shield: true, {every_group}}}\n",
        "groups:\n",
    ]
    lines += [
        f"  {group}: {{profile: web, min: 0, max: 9, interval: 10s, mode: advise, policies: [out]}}\n"
        for group in groups
    ]
    return _MODEL + "".join(lines)


# The client, a process of its own


async def _send(port: int, path: str, groups: int, seconds: float) -> Sent:
    requests = (_request(port, path, groups, number) for number in range(round(seconds * _RATE)))
    return await send(port, requests, _RATE, connections=_CONNECTIONS, expected=202)


def _request(port: int, path: str, groups: int, number: int) -> bytes:
    """One alert in a notification, as Alertmanager words it."""
    labels = {"alertname": _EFFECTS[number % 3], "group": f"g{number % groups}", "instance": f"10.0.0.1:{number}"}
    alert = {
        "status": "firing", "labels": labels, "annotations": {"summary": "Too slow for a minute"},
        "startsAt": "2026-01-01T12:00:00.123456789Z", "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus:9090/graph?g0.expr=slow", "fingerprint": f"{number:016x}",
    }  # fmt: skip
    payload = {
        "version": "4", "groupKey": "{}:{}", "truncatedAlerts": 0, "status": "firing", "receiver": "trimtab",
        "groupLabels": labels, "commonLabels": labels, "commonAnnotations": {}, "externalURL": "http://alertmanager:9093",
        "alerts": [alert],
    }  # fmt: skip
    body = json.dumps(payload).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


if __name__ == "__main__":
    run_client(_send(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
