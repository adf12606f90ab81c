"""A client that sends requests at a steady rate over kept connections, whether or not answers come.

It runs in a process of its own, so that its processor time is counted apart. A request's time counts from the instant
at which it was due.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from benchmarks.report.figures import Goal, Measured, at_least, once

_LATE = 0.01
_HEAD_AT_MOST = 1 << 24
"""Bytes that a stream holds before a reader takes them: an answer may be a list of a thousand groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """The answers to the requests of one client. Spans are in seconds."""

    answered: int
    """With the expected status."""
    refused: int
    """With another status."""
    late: int
    """Requests that were sent more than 10 ms after they were due."""
    took: float
    """From the first request to the last answer."""
    cpu: float
    p50: float
    p99: float
    longest: float


async def send(port: int, requests: Iterable[bytes], rate: float, *, connections: int, expected: int = 200) -> Sent:
    """Send requests, at least two, at a rate per second over so many connections."""
    took, statuses, late = list[float](), list[int](), 0
    waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=_HEAD_AT_MOST)
        while True:
            due, request = await waiting.get()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
            took.append(time.monotonic() - due)
            statuses.append(int(head[9:12]))
            waiting.task_done()

    tasks = [asyncio.create_task(connection()) for _ in range(connections)]
    began, cpu = time.monotonic(), time.process_time()
    for number, request in enumerate(requests):
        due = began + number / rate
        if (ahead := due - time.monotonic()) > 0:
            await asyncio.sleep(ahead)
        late += time.monotonic() - due > _LATE
        waiting.put_nowait((due, request))
    await waiting.join()
    spent = time.monotonic() - began
    for task in tasks:
        task.cancel()
    percentiles, answered = statistics.quantiles(took, n=100), statuses.count(expected)
    return Sent(
        answered=answered,
        refused=len(statuses) - answered,
        late=late,
        took=spent,
        cpu=time.process_time() - cpu,
        p50=percentiles[49],
        p99=percentiles[98],
        longest=max(took),
    )


def print_sent(sent: Sent) -> None:
    """Print what `sent_by` reads."""
    print(json.dumps(asdict(sent)))


def sent_by(module: str, *arguments: object, within: float, given: object = None) -> Sent:
    """Run a benchmark's module as a client; ``given`` is its standard input, as JSON.

    Raises:
        subprocess.TimeoutExpired: it takes longer than ``within`` seconds.
    """
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return Sent(**json.loads(subprocess.check_output(command, input=json.dumps(given).encode(), timeout=within)))


def figures_of(
    what: str, sent: Sent, spent: float, *, at_rate: float, p99: Goal | None = None, processor: Goal | None = None
) -> Iterator[Measured]:
    """Yield the figures of requests that a daemon answers.

    Args:
        what: the requests and their rate.
        sent: the answers.
        spent: processor seconds of the daemon.
        at_rate: answers a second that are expected.
        p99: the goal of the 99th percentile, in milliseconds.
        processor: the goal of the daemon's processor time for one request, in milliseconds.
    """
    count = max(sent.answered, 1)
    yield once(f"{what}: answered with 200", sent.answered / sent.took, "/s", goal=at_least(at_rate))
    yield once(f"{what}: p50", sent.p50 * 1000, "ms")
    yield once(f"{what}: p99", sent.p99 * 1000, "ms", goal=p99)
    yield once(f"{what}: daemon's processor for each", 1000 * spent / count, "CPU-ms", goal=processor)
    yield once(f"{what}: client's processor for each", 1000 * sent.cpu / count, "CPU-ms", by="client")
    yield once(f"{what}: answered otherwise than 200", sent.refused, "")
