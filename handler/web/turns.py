"""Turns for reading over TCP: pages and lists cost time, and many readers at once would take it from the rest.

Only few are made at once, in the order of the requests. Health checks are answered without a turn, and so are requests
that have the token or come over the unix socket.
"""

from __future__ import annotations

import asyncio

from config.units import Seconds
from handler.web.gate import BEARER, READING, App, Message, Receive, Scope, Send
from handler.web.problems import ProblemType, send_problem

_AT_ONCE = 4
_WAITING_AT_MOST = 256
_WITHIN: Seconds = 10.0
_OUT_OF_TURN = frozenset({"/healthz", "/readyz"})


class RequestTurns:
    """ASGI middleware. A turn lasts until the response begins, so a client that does not read holds nothing up."""

    def __init__(
        self, app: App, *, at_once: int = _AT_ONCE, waiting_at_most: int = _WAITING_AT_MOST, within: Seconds = _WITHIN
    ) -> None:
        self._app = app
        self._free = asyncio.Semaphore(at_once)
        self._waiting = 0
        self._waiting_at_most = waiting_at_most
        self._within = within

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on at once or in its turn, or answer 503."""
        if scope[BEARER] or scope["path"] in _OUT_OF_TURN or scope["method"] not in READING:
            await self._app(scope, receive, send)
        elif await self._turn_comes():
            await self._in_turn(scope, receive, send)
        else:
            await send_problem(send, ProblemType.BUSY, "too many requests at once: try again, or use the unix socket")

    async def _turn_comes(self) -> bool:
        if self._waiting >= self._waiting_at_most:
            return False
        self._waiting += 1
        try:
            async with asyncio.timeout(self._within):
                return await self._free.acquire()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1

    async def _in_turn(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if not begun:
                begun = True
                self._free.release()
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            if not begun:
                self._free.release()
