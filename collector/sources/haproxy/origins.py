"""Read HAProxy's statistics from runtime sockets (unix and TCP) and statistics pages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from collector.clients.connecting import connected
from collector.clients.http.client import LARGEST, HttpClient, HttpRequest
from collector.clients.http.failures import HttpFailure, of_server
from collector.samples import Reply
from collector.sources.haproxy.table import StatTable, decode_answer, decode_page
from config.model.access import HaproxyStats
from config.units import Moment, Seconds

Origin = str | HaproxyStats
"""A runtime socket (a path, or ``host:port``), or a page."""

_QUESTION = b"show info;show stat -1 6 -1\n"
"""6: backends (2) and servers (4), of every proxy."""
_LARGEST = 64 * 1024 * 1024
"""Far more than any HAProxy sends, at about 400 bytes a server; a longer answer is not HAProxy's."""
_LONG = 256 * 1024
"""From here on (5 ms) decoding goes to a thread, so that the event loop is not held."""
_CLOSE = {"Connection": "close"}
"""A kept connection leads to one process and ends with it: after a reload, a poll would fail or see the old process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginReading:
    """The result of one origin in one round."""

    table: StatTable | HttpFailure
    at: float
    """Steady seconds."""


class Reader:
    """Asks origins; keeps nothing.

    Args:
        http: for pages.
        patience: seconds that a socket may take to answer.
    """

    def __init__(self, http: HttpClient, patience: Seconds) -> None:
        self._http = http
        self._patience = patience

    async def read(self, origin: Origin, clock: Callable[[], Moment]) -> OriginReading:
        """Ask one origin. Failures are values, and name the origin."""
        table = await (self._page(origin) if isinstance(origin, HaproxyStats) else self._socket(origin))
        if isinstance(table, HttpFailure):
            table = HttpFailure(reply=table.reply, detail=f"{name_of(origin)}: {table.detail}")
        return OriginReading(table=table, at=clock().steady)

    async def _socket(self, socket: str) -> StatTable | HttpFailure:
        try:
            async with asyncio.timeout(self._patience):
                return await _decoded(decode_answer, await _converse(socket))
        except TimeoutError:
            return HttpFailure(reply=Reply.UNREACHABLE, detail=f"no complete answer within {self._patience:g} s")
        except OSError as error:
            return HttpFailure(reply=Reply.UNREACHABLE, detail=error.strerror or str(error))

    async def _page(self, page: HaproxyStats) -> StatTable | HttpFailure:
        url = page.url if page.url.endswith(";csv") else f"{page.url};csv"
        largest = page.access.body_limit or LARGEST
        answer = await self._http.ask(
            HttpRequest(
                url=url,
                access=page.access,
                timeout=page.timeout,
                headers=_CLOSE,
                largest=largest,
                raised_by="body_limit",
            )
        )
        if isinstance(answer, HttpFailure):
            return of_server(answer)
        return await _decoded(decode_page, answer.body.decode(errors="replace"))


def name_of(origin: Origin) -> str:
    """Return an origin's name for messages; never its address, which may hold a password."""
    return f"the page {origin.id}" if isinstance(origin, HaproxyStats) else origin


async def _decoded(decode: Callable[[str], StatTable | HttpFailure], text: str) -> StatTable | HttpFailure:
    return decode(text) if len(text) < _LONG else await asyncio.to_thread(decode, text)


async def _converse(socket: str) -> str:
    """Ask one socket and read until HAProxy closes it.

    Raises:
        OSError: the socket cannot be reached, or its answer is far too long.
    """
    if "/" in socket or ":" not in socket:
        reader, writer = await asyncio.open_unix_connection(socket)
    else:
        host, _, port = socket.rpartition(":")
        reader, writer = await asyncio.open_connection(sock=await connected((host.strip("[]"), int(port))))
    try:
        writer.write(_QUESTION)
        await writer.drain()
        answer = bytearray()
        while chunk := await reader.read(65536):
            answer += chunk
            if len(answer) > _LARGEST:
                raise OSError(f"the answer is longer than {_LARGEST} bytes")
        return answer.decode(errors="replace")
    finally:
        writer.close()
