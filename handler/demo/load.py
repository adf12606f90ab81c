"""Load that follows a short day, as a program and as a library.

    python -m handler.demo.load --target 127.0.0.1:8080 --day 150s --low 25 --high 150

Open loop: requests are sent when they are due, however long the answers take, as from independent people. Each has a
connection of its own. A request without a complete answer 200 within 10 s has failed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import resource
import socket
import sys
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from config.units import Seconds, format_span, parse_span

Profile = Callable[[Seconds], float]
"""Seconds since the start → requests per second."""

TIMEOUT: Seconds = 10.0
_RESOLUTION: Seconds = 0.02
_PIECE = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A low plateau, a rise, a high plateau, a fall, and a longer low plateau in which a fleet can shrink again."""

    length: Seconds
    low: float
    """Requests per second."""
    high: float

    def __call__(self, at: Seconds) -> float:
        """Return the rate at this time of the day.

        >>> day = Day(length=100.0, low=10.0, high=50.0)
        >>> [round(day(at), 3) for at in (0, 10, 20, 30, 60, 67.5, 75, 100)]
        [10.0, 10.0, 30.0, 50.0, 50.0, 30.0, 10.0, 10.0]
        """
        share = at / self.length
        rising, falling = (share - 0.10) / 0.20, (0.75 - share) / 0.15
        return self.low + (self.high - self.low) * min(max(min(rising, falling), 0.0), 1.0)


@dataclass(slots=True, kw_only=True)
class LoadTally:
    """The outcomes of the requests; may be read at any time."""

    sent: int = 0
    ok: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """``refused``, ``reset``, ``timeout``, ``cut short``, ``status 503``, ... → how many."""
    _latencies: array[float] = field(default_factory=lambda: array("f"))

    @property
    def failed(self) -> int:
        """Requests without a complete answer 200 in time."""
        return self.failures.total()

    @property
    def in_flight(self) -> int:
        """Requests sent and not yet answered."""
        return self.sent - self.ok - self.failed

    def succeed(self, latency: Seconds) -> None:
        """Note an answer."""
        self.ok += 1
        self._latencies.append(latency)

    def fail(self, why: str) -> None:
        """Note a failure."""
        self.failures[why] += 1

    def latency(self, percent: float) -> Seconds | None:
        """Return the latency that this share of the answers did not exceed; ``None`` before the first answer."""
        ordered = sorted(self._latencies)
        return ordered[min(int(len(ordered) * percent / 100), len(ordered) - 1)] if ordered else None


async def drive(
    target: tuple[str, int],
    profile: Profile,
    until: Seconds,
    tally: LoadTally,
    *,
    limit: int = 1_000_000,
    seed: int = 1,
) -> None:
    """Send requests as the profile says for ``until`` seconds, but no more than ``limit``; wait for the last answer.

    Arrivals are a Poisson process, equal for equal seeds.
    """
    draw, loop = random.Random(seed), asyncio.get_running_loop()
    began, at, expected = loop.time(), 0.0, 0.0
    arrives = draw.expovariate(1.0)
    async with asyncio.TaskGroup() as requests:
        while at < until and tally.sent < limit:
            await asyncio.sleep(_RESOLUTION)
            now = min(loop.time() - began, until)
            expected += profile((at + now) / 2) * (now - at)
            at = now
            while arrives <= expected and tally.sent < limit:
                arrives += draw.expovariate(1.0)
                tally.sent += 1
                requests.create_task(_request(target, tally))


async def _request(target: tuple[str, int], tally: LoadTally) -> None:
    began = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(TIMEOUT):
            why = _fault(await _exchange(target))
    except TimeoutError:
        why = "timeout"
    except ConnectionRefusedError:
        why = "refused"
    except ConnectionError:
        why = "reset"
    except OSError as error:
        why = error.strerror or type(error).__name__
    if why is None:
        tally.succeed(asyncio.get_running_loop().time() - began)
    else:
        tally.fail(why)


async def _exchange(target: tuple[str, int]) -> bytes:
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
        connection.setblocking(False)
        await loop.sock_connect(connection, target)
        await loop.sock_sendall(connection, b"GET / HTTP/1.1\r\nHost: demo\r\nConnection: close\r\n\r\n")
        answer = b""
        while piece := await loop.sock_recv(connection, _PIECE):
            answer += piece
        return answer


def _fault(answer: bytes) -> str | None:
    head, end, body = answer.partition(b"\r\n\r\n")
    status, *fields = head.split(b"\r\n")
    words = status.split(b" ", 2)
    lengths = [
        value for name, _, value in (field.partition(b":") for field in fields) if name.lower() == b"content-length"
    ]
    if not end or (lengths and lengths[0].strip() != b"%d" % len(body)):
        return "cut short"
    return None if words[1:2] == [b"200"] else f"status {words[1].decode('latin-1') if len(words) > 1 else '?'}"


async def _report(tally: LoadTally, profile: Profile, every: Seconds, *, as_json: bool) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    while True:
        await asyncio.sleep(every)
        at = loop.time() - began
        if as_json:
            _say(_json(at, profile(at), tally))
        else:
            _say(f"{at:6.1f}s  {profile(at):6.1f}/s  sent {tally.sent}  ok {tally.ok}  failed {tally.failed}")


def _json(at: Seconds, rate: float, tally: LoadTally) -> str:
    report = {"at": at, "rate": rate, "sent": tally.sent, "ok": tally.ok, "failed": tally.failed}
    return json.dumps({**report, "failures": dict(tally.failures), "p95": tally.latency(95)})


def _summary(tally: LoadTally) -> str:
    spans = (f"p{percent} {format_span(tally.latency(percent) or 0.0)}" for percent in (50, 95, 99))
    causes = ", ".join(f"{why} {count}" for why, count in tally.failures.most_common())
    return f"{tally.ok} ok, {tally.failed} failed{f' ({causes})' if causes else ''}; " + ", ".join(spans)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m handler.demo.load", description="Load that follows a short day.")
    parser.add_argument("--target", required=True, type=_address, metavar="HOST:PORT")
    parser.add_argument("--day", type=parse_span, default=150.0, metavar="SPAN", help="the day's length")
    parser.add_argument("--low", type=float, default=25.0, help="requests per second at night")
    parser.add_argument("--high", type=float, default=150.0, help="requests per second at noon")
    parser.add_argument("--limit", type=int, default=1_000_000, help="the most requests")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--report", type=parse_span, default=10.0, metavar="SPAN", help="time between two lines of report"
    )
    parser.add_argument("--json", action="store_true", help="report in JSON, one object a line")
    return parser.parse_args()


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host or "127.0.0.1", int(port)


async def _main(options: argparse.Namespace) -> LoadTally:
    tally, day = LoadTally(), Day(length=options.day, low=options.low, high=options.high)
    if options.json:
        _say(_json(0.0, day(0.0), tally))
    reporting = asyncio.create_task(_report(tally, day, options.report, as_json=options.json))
    await drive(options.target, day, options.day, tally, limit=options.limit, seed=options.seed)
    reporting.cancel()
    if options.json:
        _say(_json(options.day, 0.0, tally))
    return tally


def allow_many_connections() -> None:
    """Raise the soft limit of descriptors to the hard one: a stalled target holds rate × timeout connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> None:
    """Run as a program; exit 1 if any request failed."""
    allow_many_connections()
    options = _parsed()
    with contextlib.suppress(KeyboardInterrupt):
        tally = asyncio.run(_main(options))
        if not options.json:
            _say(_summary(tally))
        sys.exit(1 if tally.failed else 0)


if __name__ == "__main__":
    main()
