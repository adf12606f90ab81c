"""A client that sends requests at a steady rate over kept connections, whether or not answers come.

It runs in a process of its own, so that its processor time is counted apart, and takes little of it, since it shares
the machine with the daemon. A request's time counts from the instant at which it was due.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import asdict, dataclass

import uvloop

from benchmarks.report.figures import Goal, Measured, at_least, at_most, once

_LATE = 0.01
_END = b"\r\n\r\n"


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


class _Connection(asyncio.Protocol):
    """A kept connection, with one request at a time."""

    def __init__(self, answered: Callable[[_Connection, float, int], None], lost: Callable[[], None]) -> None:
        self._answered = answered
        self._lost = lost
        self._due = 0.0
        self._read = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def ask(self, due: float, request: bytes) -> None:
        self._due = due
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, end, body = self._read.partition(_END)
        if not end or len(body) < int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]):
            return
        self._read = b""
        self._answered(self, self._due, int(head[9:12]))

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost()


class _Sender:
    """Gives each request to a connection that is free, or to the next that will be."""

    def __init__(self) -> None:
        self._free: deque[_Connection] = deque()
        """The one that is free for longest comes first: a connection that idles is closed by the daemon."""
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._open = 0
        self._is_last = False
        self._over = asyncio.get_running_loop().create_future()
        self.took: list[float] = []
        self.statuses: list[int] = []

    async def connect(self, port: int, count: int) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(count):
            _, made = await loop.create_connection(lambda: _Connection(self._answered, self._lost), "127.0.0.1", port)
            self._free.append(made)

    def put(self, due: float, request: bytes) -> None:
        self._open += 1
        if self._free:
            self._free.popleft().ask(due, request)
        else:
            self._waiting.append((due, request))

    async def all_answered(self) -> None:
        """Wait for the last answer. Raises `ConnectionError` if the daemon closes a connection."""
        self._is_last = True
        if self._open:
            await self._over

    def _answered(self, connection: _Connection, due: float, status: int) -> None:
        self.took.append(time.monotonic() - due)
        self.statuses.append(status)
        self._open -= 1
        if self._waiting:
            connection.ask(*self._waiting.popleft())
        else:
            self._free.append(connection)
        if not self._open and self._is_last and not self._over.done():
            self._over.set_result(None)

    def _lost(self) -> None:
        if not self._over.done():
            self._over.set_exception(ConnectionError("the daemon closed a connection"))


async def send(port: int, requests: Iterable[bytes], rate: float, *, connections: int, expected: int = 200) -> Sent:
    """Send requests, at least two, at a rate per second over so many connections."""
    sender, late = _Sender(), 0
    await sender.connect(port, connections)
    began, cpu = time.monotonic(), time.process_time()
    for number, request in enumerate(requests):
        due = began + number / rate
        if (ahead := due - time.monotonic()) > 0:
            await asyncio.sleep(ahead)
        late += time.monotonic() - due > _LATE
        sender.put(due, request)
    await sender.all_answered()
    spent = time.monotonic() - began
    percentiles, answered = statistics.quantiles(sender.took, n=100), sender.statuses.count(expected)
    return Sent(
        answered=answered,
        refused=len(sender.statuses) - answered,
        late=late,
        took=spent,
        cpu=time.process_time() - cpu,
        p50=percentiles[49],
        p99=percentiles[98],
        longest=max(sender.took),
    )


def run_client(sending: Coroutine[None, None, Sent]) -> None:
    """Send as a process of its own, and print what `sent_by` reads."""
    print(json.dumps(asdict(uvloop.run(sending))))


def sent_by(module: str, *arguments: object, within: float, given: object = None) -> Sent:
    """Run a benchmark's module as a client; ``given`` is its standard input, as JSON.

    Raises:
        subprocess.TimeoutExpired: it takes longer than ``within`` seconds.
    """
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return Sent(**json.loads(subprocess.check_output(command, input=json.dumps(given).encode(), timeout=within)))


def figures_of(  # noqa: PLR0913  # goals
    what: str,
    sent: Sent,
    spent: float,
    *,
    at_rate: float,
    status: int = 200,
    p99: Goal | None = None,
    processor: Goal | None = None,
) -> Iterator[Measured]:
    """Yield the figures of requests that a daemon answers.

    Args:
        what: the requests and their rate.
        sent: the answers.
        spent: processor seconds of the daemon.
        at_rate: answers a second that are expected.
        status: what they are to be answered with.
        p99: the goal of the 99th percentile, in milliseconds.
        processor: the goal of the daemon's processor time for one request, in milliseconds.
    """
    count = max(sent.answered, 1)
    yield once(f"{what}: answered with {status}", sent.answered / sent.took, "/s", goal=at_least(at_rate))
    yield once(f"{what}: p50", sent.p50 * 1000, "ms")
    yield once(f"{what}: p99", sent.p99 * 1000, "ms", goal=p99)
    yield once(f"{what}: longest", sent.longest * 1000, "ms")
    yield once(f"{what}: daemon's processor for each", 1000 * spent / count, "CPU-ms", goal=processor)
    yield once(f"{what}: client's processor for each", 1000 * sent.cpu / count, "CPU-ms", by="client")
    yield once(f"{what}: answered otherwise than {status}", sent.refused, "", goal=at_most(0))
    yield once(f"{what}: sent late by more than 10 ms", sent.late, "")
