"""HAProxy as it answers for one side: on a runtime socket, or on a statistics page."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

from collector.samples import Reply
from collector.sources.haproxy.source import HaproxySource
from config.model.access import Basic, HaproxyStats, HttpAccess, SecretRef
from config.model.balancers import HaproxyBalancer
from config.model.counters import HaproxyField
from config.units import BalancerId, SourceId
from tests.support.faults import (
    NO_TIMES,
    OURS,
    Cells,
    Column,
    Declared,
    Fails,
    Fault,
    Harmless,
    Impossible,
    Side,
    Unrated,
)
from tests.support.faults_http import OVER_HTTP, Answer, Call, Face, blameless, odd

_NEVER_ENDS = 100_000


def _table(side: Side) -> str:
    """Its statistics: a server line for each member, and the backend's own."""
    members = list(side.members)[:1] if side.fault is Fault.HALF else list(side.members)
    cells = {name: odd(side, name, side.value(name)) for name in members}
    lines = [f"web,{name},{cell},0,2," for name, cell in cells.items()]
    return "# pxname,svname,scur,lastchg,type,\n" + "".join(
        f"{line}\n" for line in [*lines, f"web,BACKEND,9,{side.uptime:.0f},1,"]
    )


class _Socket:
    def __init__(self, side: Side, home: Path) -> None:
        self._side = side
        self._path = home / f"{side.group}.sock"
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> Declared:
        await self._listen()
        balancer = HaproxyBalancer(id=BalancerId(self._side.group), socket=str(self._path), backend="web")
        return Declared(HaproxyField(field="scur"), balancer=balancer)

    async def turn(self, fault: Fault | None) -> None:
        await self.close()
        if fault is not Fault.REFUSED:
            await self._listen()

    def tell(self, now: object) -> None:
        """Do nothing: this source sends only answers."""

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._server is not None:
            self._server.close()
            self._path.unlink(missing_ok=True)
            self._server = None
        await asyncio.sleep(0)

    async def _listen(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, str(self._path))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await reader.readline()
            await self._say(reader, writer)
        writer.close()

    async def _say(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        honest, fault = self._honest(), self._side.fault
        if fault is Fault.TIMEOUT:
            await asyncio.sleep(3600.0)
        elif fault is Fault.SLOW:
            await asyncio.sleep(1.0)
        elif fault is Fault.DRIPPING:
            for letter in honest[:-1] + b" " * _NEVER_ENDS:
                if reader.at_eof():
                    return
                writer.write(bytes([letter]))
                await asyncio.sleep(0.9)
        spoilt = {
            Fault.EMPTY: b"",
            Fault.TRUNCATED: honest[:-9],
            Fault.GARBAGE: b"\x00\xff\x17" + bytes(range(256)),
            Fault.AUTH: b"Permission denied\n",
        }
        writer.write(self._side.spoil(honest) if fault is None else spoilt.get(fault, honest))

    def _honest(self) -> bytes:
        return f"Name: HAProxy\nUptime_sec: {self._side.uptime:.0f}\n\n{_table(self._side)}\n".encode()


class _Page:
    def __init__(self, side: Side) -> None:
        self._side = side
        self._face = Face(side, self._answer)

    async def open(self) -> Declared:
        await self._face.open()
        identity = Basic(user="trimtab", password=SecretRef(env="PASSWORD"))
        page = HaproxyStats(
            id=SourceId(f"page-{self._side.group}"),
            url=f"http://127.0.0.1:{self._face.port}/stats",
            backend="web",
            access=HttpAccess(credentials=identity),
        )
        return Declared(HaproxyField(field="scur", server=page.id), server=page)

    async def turn(self, fault: Fault | None) -> None:
        await self._face.turn()

    def tell(self, now: object) -> None:
        """Do nothing: this source sends only answers."""

    async def close(self) -> None:
        await self._face.close()

    def _answer(self, call: Call) -> Answer:
        return Answer(_table(self._side).encode(), kind="text/plain")


_GAUGES: Cells = {
    **blameless(OVER_HTTP),
    Fault.HALF: Fails(Reply.REFUSED, half=True),
    Fault.STALE: NO_TIMES,
    Fault.SOURCE_AHEAD: Harmless("its answers carry no time"),
    Fault.SOURCE_BEHIND: Harmless("its answers carry no time"),
}
_ANOTHER = "what has run for much longer, or shorter, than our clock is another process"
_COUNTS: Cells = {
    Fault.COUNTER_RESET: Unrated("it has begun to count anew since", ends=False),
    Fault.STALE: Unrated("an uptime that stands still is that of an earlier answer", throughout=True),
    Fault.SOURCE_AHEAD: Unrated(_ANOTHER),
    Fault.SOURCE_BEHIND: Unrated(_ANOTHER),
    **OURS,
    Fault.SUSPEND_UNCOUNTED: Unrated(_ANOTHER, ends=False),
}
SOCKET = Column(
    name="haproxy socket",
    kind=HaproxyField,
    made=lambda scenery: HaproxySource(scenery.http),
    counterpart=lambda side, scenery: _Socket(side, scenery.home),
    tells_uptime=True,
    gauges={
        **_GAUGES,
        Fault.AUTH: Fails(Reply.MALFORMED),
        Fault.RATE_LIMITED: Impossible("a runtime socket answers every user who may open it, however often"),
    },
    counts=_COUNTS,
)
PAGE = Column(
    name="haproxy page",
    kind=HaproxyField,
    made=lambda scenery: HaproxySource(scenery.http),
    counterpart=lambda side, scenery: _Page(side),
    tells_uptime=True,
    gauges=_GAUGES,
    counts=_COUNTS,
)
COLUMNS: Sequence[Column] = (SOCKET, PAGE)
