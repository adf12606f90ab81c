"""Servers over HTTP that answer for one side, honestly or as its fault says; and the columns that ask them directly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from email.utils import formatdate
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from collector.samples import Reply
from collector.sources.http.source import HttpSource
from config.model.access import BearerToken, HttpAccess, SecretRef
from config.model.counters import HttpValue, JsonPick, MemberAddress, MetricPick
from tests.support.faults import (
    NO_TIMES,
    OURS,
    SECRET,
    Cells,
    Column,
    Declared,
    Fails,
    Fault,
    Harmless,
    Overstated,
    Side,
    Unrated,
)
from tests.support.ports import free_tcp_port

ACCESS = HttpAccess(credentials=BearerToken(token=SecretRef(env="TOKEN")))


class Call(NamedTuple):
    """One request."""

    path: str
    query: dict[str, str]
    form: dict[str, str]
    body: bytes
    member: str
    """Whose address was asked."""


class Answer(NamedTuple):
    """One honest answer."""

    body: bytes
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    status: str = "200 OK"


class Face:
    """Listens on the address of every member, at one port, and spoils what it has to say.

    Args:
        side: whose fault shows.
        answer: what is said where the fault is none of HTTP's.
    """

    def __init__(self, side: Side, answer: Callable[[Call], Answer]) -> None:
        self.side = side
        self.answer = answer
        self.port = free_tcp_port()  # it is listened on again and again: no connection may take it meanwhile
        self.connections: set[asyncio.Transport] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        for name, address in self.side.members.items():
            half = self.side.fault is Fault.HALF and name != next(iter(self.side.members))
            if self.side.fault is Fault.REFUSED or half:
                continue
            self._servers.append(await loop.create_server(lambda: _Conversation(self), address, self.port))

    async def turn(self) -> None:
        """Listen, or do not, as is now due; conversations from before are over."""
        await self.close()
        await self.open()

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        for transport in list(self.connections):
            transport.abort()
        for server in self._servers:
            server.close()
        self._servers.clear()
        await asyncio.sleep(0)

    def member(self, address: str) -> str:
        return next(name for name, place in self.side.members.items() if place == address)


class _Conversation(asyncio.Protocol):
    """One connection."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._heard = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._face.connections.add(transport)
        self._member = self._face.member(transport.get_extra_info("sockname")[0])

    def connection_lost(self, exc: Exception | None) -> None:
        self._face.connections.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._heard += data
        head, mark, body = self._heard.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        sizes = [int(line[15:]) for line in lines if line.lower().startswith("content-length:")]
        if not mark or len(body) < sum(sizes):
            return
        self._heard = b""
        place = urlsplit(lines[0].split(" ")[1])
        form = dict(parse_qsl(body.decode("latin-1")))
        self._say(Call(place.path, dict(parse_qsl(place.query)), form, body, self._member))

    def _say(self, call: Call) -> None:
        answer, fault = self._face.answer(call), self._face.side.fault
        answer = answer._replace(body=self._face.side.spoil(answer.body))
        honest = _response(answer)
        match fault:
            case Fault.TIMEOUT:
                pass
            case Fault.SLOW:
                asyncio.get_running_loop().call_later(1.0, self._transport.write, honest)
            case Fault.DRIPPING:
                self._drip(honest[:-1] + b" " * 100_000)
            case Fault.TRUNCATED | Fault.GARBAGE:
                self._transport.write(honest[:-10] if fault is Fault.TRUNCATED else _GARBAGE)
                self._transport.close()
            case _:
                response = _response(_INSTEAD.get(fault, lambda answer: answer)(answer))
                self._transport.write(self._face.side.wire(response))

    def _drip(self, response: bytes) -> None:
        async def drip() -> None:
            for place in range(len(response)):
                if self._transport.is_closing():
                    return
                self._transport.write(response[place : place + 1])
                await asyncio.sleep(2.0)

        task = asyncio.ensure_future(drip())
        self._face.tasks.add(task)
        task.add_done_callback(self._face.tasks.discard)


_ECHO = json.dumps({"message": f"not with {SECRET}", "errorcode": 0}).encode()


_GARBAGE = b"\x00\xff\x17" + SECRET.encode() + bytes(range(256))
_INSTEAD: Mapping[Fault | None, Callable[[Answer], Answer]] = {
    Fault.EMPTY: lambda answer: answer._replace(body=b""),
    Fault.AUTH: lambda _: Answer(_ECHO, status="401 Unauthorized"),
    Fault.RATE_LIMITED: lambda _: Answer(_ECHO, status="429 Slow Down", headers=(("Retry-After", "20"),)),
}


def _response(answer: Answer) -> bytes:
    length = len(answer.body)
    lines = [f"HTTP/1.1 {answer.status}", f"Content-Type: {answer.kind}", f"Content-Length: {length}"]
    lines += [f"{name}: {value}" for name, value in answer.headers]
    return "\r\n".join([*lines, "", ""]).encode() + answer.body


def odd(side: Side, name: str, honest: object) -> object:
    """What stands in a number's place."""
    match side.fault:
        case Fault.NOT_FINITE:
            return "NaN" if name.endswith("1") else "-Infinity"
        case Fault.WRONG_TYPE:
            return "plenty" if name.endswith("1") else "12 apples"
        case _:
            return honest


class _Endpoints:
    """Every member answers for itself."""

    def __init__(self, side: Side, *, metrics: bool) -> None:
        self._face = Face(side, self._metrics if metrics else self._json)
        self._side = side
        self._pick = MetricPick(name="load_total" if side.rising else "load") if metrics else JsonPick(path="$.load")
        self._path = "/metrics" if metrics else "/load.json"
        self._stale: dict[str, tuple[float, float]] = {}

    async def open(self) -> Declared:
        await self._face.open()
        at = MemberAddress(port=self._face.port, path=self._path)
        return Declared(HttpValue(at=at, pick=self._pick, access=ACCESS))

    async def turn(self, fault: Fault | None) -> None:
        side = self._side
        self._stale = {}
        if fault is Fault.STALE:
            taken = side.clock - 200.0
            self._stale = {name: (side.value(name), taken) for name in side.members}
        await self._face.turn()

    def tell(self, now: object) -> None:
        """Do nothing: this source sends only answers."""

    async def close(self) -> None:
        await self._face.close()

    def _json(self, call: Call) -> Answer:
        value = odd(self._side, call.member, self._side.value(call.member))
        return Answer(json.dumps({"host": call.member, "load": value}).encode())

    def _metrics(self, call: Call) -> Answer:
        side = self._side
        value, taken = self._stale.get(call.member, (side.value(call.member), side.clock - 2.0))
        written = odd(side, call.member, value)
        if side.rising:
            born = side.clock - side.uptime
            text = f"# TYPE load counter\nload_total {written} {taken}\nload_created {born} {taken}\n# EOF\n"
        else:
            text = f"# TYPE load gauge\nload {written} {taken}\n# EOF\n"
        date = formatdate(side.clock, usegmt=True)
        kind = "application/openmetrics-text; version=1.0.0"
        return Answer(text.encode(), kind, (("Date", date),))


OVER_HTTP: Cells = {
    Fault.REFUSED: Fails(Reply.REFUSED),
    Fault.TIMEOUT: Fails(Reply.TIMEOUT),
    Fault.SLOW: Harmless("it answers within the time that the source allows"),
    Fault.DRIPPING: Fails(Reply.TIMEOUT),
    Fault.EMPTY: Fails(Reply.MALFORMED),
    Fault.NOT_FINITE: Fails(Reply.MALFORMED),
    Fault.WRONG_TYPE: Fails(Reply.MALFORMED),
    Fault.TRUNCATED: Fails(Reply.MALFORMED),
    Fault.GARBAGE: Fails(Reply.MALFORMED),
    Fault.AUTH: Fails(Reply.AUTH),
    Fault.RATE_LIMITED: Fails(Reply.RATE_LIMITED),
    Fault.HALF: Fails(Reply.REFUSED, half=True),
    Fault.COUNTER_RESET: Harmless("a gauge is no count"),
    **OURS,
}
"""What a server that answers for one member comes to; of one that answers for many no member is to blame."""


def blameless(cells: Cells) -> Cells:
    """The same for a server that answers for many: no member of ours has refused, or kept silent."""
    return cells | {fault: Fails(Reply.UNREACHABLE) for fault in (Fault.REFUSED, Fault.TIMEOUT, Fault.DRIPPING)}


JSON = Column(
    name="http JSON",
    kind=HttpValue,
    made=lambda scenery: HttpSource(scenery.http),
    counterpart=lambda side, scenery: _Endpoints(side, metrics=False),
    gauges={
        **OVER_HTTP,
        Fault.STALE: NO_TIMES,
        Fault.SOURCE_AHEAD: Harmless("its answers carry no time"),
        Fault.SOURCE_BEHIND: Harmless("its answers carry no time"),
    },
    counts={
        Fault.COUNTER_RESET: Unrated("the count goes back", ends=False),
        Fault.STALE: NO_TIMES,
        Fault.SOURCE_AHEAD: Harmless("its answers carry no time"),
        Fault.SOURCE_BEHIND: Harmless("its answers carry no time"),
        **OURS,
        Fault.SUSPEND_UNCOUNTED: Overstated("no uptime contradicts a clock that stood still"),
    },
)
METRICS = Column(
    name="http OpenMetrics",
    kind=HttpValue,
    made=lambda scenery: HttpSource(scenery.http),
    counterpart=lambda side, scenery: _Endpoints(side, metrics=True),
    tells_uptime=True,
    gauges={
        **OVER_HTTP,
        Fault.EMPTY: Fails(Reply.INCOMPLETE),
        Fault.STALE: Fails(Reply.STALE),
        Fault.SOURCE_AHEAD: Harmless("the answer says what time it is over there"),
        Fault.SOURCE_BEHIND: Harmless("the answer says what time it is over there"),
    },
    counts={
        Fault.COUNTER_RESET: Unrated("it has begun to count anew since", ends=False),
        Fault.STALE: Fails(Reply.STALE),
        Fault.SOURCE_AHEAD: Unrated("what has a clock that jumps may be another process"),
        Fault.SOURCE_BEHIND: Unrated("what has a clock that jumps may be another process"),
        **OURS,
        Fault.SUSPEND_UNCOUNTED: Unrated("it has counted for much longer than our clock has run", ends=False),
    },
)
COLUMNS: Sequence[Column] = (JSON, METRICS)
