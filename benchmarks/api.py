"""Reading groups over the API with tokens: 2,000 authenticated ``GET /api/v1/groups/{id}`` a second on one daemon.

The client is a process of its own that sends at a steady rate over kept connections, whether or not answers come; its
processor time is told apart. A request's time counts from the instant at which it was due. Four tokens take turns,
since one has a limit of its own.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.beside.machine import processor
from benchmarks.beside.running import RunningDaemon, running
from benchmarks.report.figures import Measured, at_least, at_most, once

_RATE = 2000.0
_SECONDS = 20.0
_GROUPS = 100
_MEMBERS = 4
_TOKENS = 4
_CONNECTIONS = 32
_MODEL = """\
counters: {orders: {push: ORDERS, per: group, range: [0, 1000]}}
conditions: {high: {counter: orders, window: 1m, above: 800}}
policies: {out: {when: [high], duration: 2m, add: 2}}
clouds: {sim: {simulated: {boot: 1s, call: 0s}, budget: {outstanding: 10000, per_hour: 10000}}}
profiles: {web: {cloud: sim}}
groups:
"""


def run(part: int = 1) -> Iterator[Measured]:
    """Measure one daemon of 100 groups of four members."""
    names = [f"g{number}" for number in range(_GROUPS)]
    groups = "".join(f"  {name}: {{profile: web, min: {_MEMBERS}, max: 9, policies: [out]}}\n" for name in names)
    with running(_MODEL + groups, names) as daemon:
        daemon.served(_GROUPS * _MEMBERS)
        tokens = _tokens(daemon)
        yield from _read(daemon, tokens, _RATE / min(part, 10), _SECONDS / part)


def _tokens(daemon: RunningDaemon) -> list[str]:
    """Make users and return a token of each."""
    trimtab, state = str(Path(sys.executable).parent / "trimtab"), ["--state", str(daemon.state)]
    subprocess.check_output([trimtab, "user", "init", "root", "--anonymous", "metrics", *state])
    tokens = []
    for number in range(_TOKENS):
        subprocess.check_output([trimtab, "user", "add", f"reader{number}", "--role", "viewer", *state])
        told = subprocess.check_output([trimtab, "token", "new", f"reader{number}", "bench", "--json", *state])
        tokens.append(json.loads(told)["token"])
    return tokens


def _read(daemon: RunningDaemon, tokens: list[str], rate: float, seconds: float) -> Iterator[Measured]:
    client = [sys.executable, "-m", "benchmarks.api", str(daemon.port), str(rate), str(seconds), *tokens]
    cpu = processor(daemon.pid)
    told = json.loads(subprocess.check_output(client, timeout=seconds + 120))
    spent = processor(daemon.pid) - cpu
    what, count = f"authenticated GET /api/v1/groups/{{id}}, {rate:,.0f}/s", told["answered"]
    yield once(f"{what}: answered with 200", count / told["took"], "/s", goal=at_least(0.98 * rate))
    yield once(f"{what}: p50", told["p50"] * 1000, "ms")
    yield once(f"{what}: p99", told["p99"] * 1000, "ms", goal=at_most(20.0))
    yield once(f"{what}: daemon's processor for each", 1000 * spent / count, "CPU-ms", goal=at_most(0.5))
    yield once(f"{what}: client's processor for each", 1000 * told["cpu"] / count, "CPU-ms", by="client")
    yield once(f"{what}: answered otherwise than 200", told["refused"], "")


# The client, a process of its own


async def _ask(port: int, rate: float, seconds: float, tokens: list[str]) -> dict[str, float]:
    took, statuses = list[float](), list[int]()
    waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
    requests = [_request(port, number, tokens) for number in range(_GROUPS)]

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
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
    for number in range(round(seconds * rate)):
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


def _request(port: int, number: int, tokens: list[str]) -> bytes:
    token = tokens[number % len(tokens)]
    head = f"GET /api/v1/groups/g{number} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
    return head.encode()


if __name__ == "__main__":
    _, _port, _rate, _seconds, *_given = sys.argv
    print(json.dumps(asyncio.run(_ask(int(_port), float(_rate), float(_seconds), _given))))
