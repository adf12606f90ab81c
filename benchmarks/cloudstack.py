"""CloudStack's query API: 500 signed ``listAutoScaleVmGroups id=…`` a second with 1,000 groups, and 20 of all of them.

The client is a process of its own that sends at a steady rate over kept connections, whether or not answers come; its
processor time is counted apart. A request's time counts from the instant at which it was due.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from benchmarks.beside.machine import processor
from benchmarks.beside.running import RunningDaemon, running
from benchmarks.report.figures import Measured, at_least, at_most, once

_GROUPS = 1_000
_CONNECTIONS = 16
_ONE = ("listAutoScaleVmGroups id=…", 500.0, 20.0)
"""What is asked, how often in a second, and for how many seconds."""
_ALL = ("listAutoScaleVmGroups, unpaged", 20.0, 10.0)
_MODEL = """\
counters: {orders: {push: ORDERS, per: group, range: [0, 1000]}}
conditions:
  high: {counter: orders, window: 1m, above: 800}
  low: {counter: orders, window: 1m, below: 100}
policies:
  out: {when: [high], duration: 2m, add: 1}
  in: {when: [low], duration: 2m, remove: 1}
clouds: {sim: {simulated: {boot: 1s, call: 0s}, budget: {outstanding: 10000, per_hour: 10000}}}
profiles: {web: {cloud: sim}}
cloudstack_api: {}
groups:
"""


def run(part: int = 1) -> Iterator[Measured]:
    """Measure one daemon of 1,000 groups with a member each."""
    groups = max(_GROUPS // part, 10)
    names = [f"g{number}" for number in range(groups)]
    lines = "".join(f"  {name}: {{profile: web, min: 1, max: 9, policies: [out, in]}}\n" for name in names)
    with running(_MODEL + lines, names) as daemon:
        daemon.served(groups)
        pair = _pair(daemon)
        ids = _ids(daemon.port, pair)
        assert len(ids) == groups
        for what, rate, seconds in (_ONE, _ALL):
            wanted = [_path({"id": each}, pair) for each in ids] if what is _ONE[0] else [_path({}, pair)]
            yield from _read(daemon, f"{what}, {groups:,} groups, {rate:,.0f}/s", rate, seconds / part, wanted)


def _pair(daemon: RunningDaemon) -> tuple[str, str]:
    """Make a user and return its key pair."""
    trimtab, state = str(Path(sys.executable).parent / "trimtab"), ["--state", str(daemon.state)]
    subprocess.check_output([trimtab, "user", "init", "root", "--anonymous", "metrics", *state])
    made = json.loads(subprocess.check_output([trimtab, "user", "key", "new", "root", "bench", "--json", *state]))
    return made["api_key"], made["secret_key"]


def _path(given: Mapping[str, str], pair: tuple[str, str]) -> str:
    """Return the signed address of a list."""
    sent = {
        "command": "listAutoScaleVmGroups", "listall": "true", "pagesize": "-1", "response": "json", "apiKey": pair[0],
        **given,
    }  # fmt: skip
    text = "&".join(f"{name}={quote(value, safe='*')}" for name, value in sorted(sent.items()))
    digest = hmac.new(pair[1].encode(), text.lower().encode(), hashlib.sha1).digest()
    return f"/client/api?{text}&signature={quote(base64.b64encode(digest), safe='')}"


def _ids(port: int, pair: tuple[str, str]) -> list[str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{_path({}, pair)}") as answer:
        return [group["id"] for group in json.load(answer)["listautoscalevmgroupsresponse"]["autoscalevmgroup"]]


def _read(daemon: RunningDaemon, what: str, rate: float, seconds: float, paths: list[str]) -> Iterator[Measured]:
    client = [sys.executable, "-m", "benchmarks.cloudstack", str(daemon.port), str(rate), str(seconds)]
    cpu = processor(daemon.pid)
    found = json.loads(subprocess.check_output(client, input=json.dumps(paths).encode(), timeout=seconds + 120))
    spent = processor(daemon.pid) - cpu
    count = found["answered"]
    yield once(f"{what}: answered with 200", count / found["took"], "/s", goal=at_least(0.95 * rate))
    yield once(f"{what}: p50", found["p50"] * 1000, "ms")
    yield once(f"{what}: p99", found["p99"] * 1000, "ms", goal=at_most(50.0) if rate > _ALL[1] else None)
    yield once(f"{what}: daemon's processor for each", 1000 * spent / max(count, 1), "CPU-ms")
    yield once(f"{what}: client's processor for each", 1000 * found["cpu"] / max(count, 1), "CPU-ms", by="client")
    yield once(f"{what}: answered otherwise than 200", found["refused"], "")


# The client, a process of its own


async def _ask(port: int, rate: float, seconds: float, paths: list[str]) -> dict[str, float]:
    took, statuses = list[float](), list[int]()
    waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
    requests = [f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode() for path in paths]

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
        while True:
            due, request = await waiting.get()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]))
            took.append(time.monotonic() - due)
            statuses.append(int(head[9:12]))
            waiting.task_done()

    connections = [asyncio.create_task(connection()) for _ in range(_CONNECTIONS)]
    began, cpu = time.monotonic(), time.process_time()
    for number in range(max(round(seconds * rate), 2)):
        due = began + number / rate
        if (ahead := due - time.monotonic()) > 0:
            await asyncio.sleep(ahead)
        waiting.put_nowait((due, requests[number % len(requests)]))
    await waiting.join()
    spent = time.monotonic() - began
    for task in connections:
        task.cancel()
    percentiles, answered = statistics.quantiles(took, n=100), statuses.count(200)
    return {
        "answered": answered, "refused": len(statuses) - answered, "took": spent, "cpu": time.process_time() - cpu,
        "p50": percentiles[49], "p99": percentiles[98],
    }  # fmt: skip


if __name__ == "__main__":
    _, _port, _rate, _seconds = sys.argv
    print(json.dumps(asyncio.run(_ask(int(_port), float(_rate), float(_seconds), json.load(sys.stdin)))))
