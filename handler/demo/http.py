"""A small HTTP/1.1 server that never drops an accepted connection, and accepts none beyond its capacity.

asyncio's own server accepts up to a hundred connections at a time, and sets the backlog of the socket that it is
given. On a listening socket that is shared with other processes both are wrong. Here one connection is accepted at a
time, only while there is capacity; the others stay in the kernel's queue for the first process with capacity.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

from config.units import Seconds

_HEAD_LIMIT = 16 * 1024
_WITHIN: Seconds = 10.0
_BREATH: Seconds = 0.1
"""The wait after a shortage of descriptors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response, as plain text."""

    status: HTTPStatus = HTTPStatus.OK
    body: str = ""


class MemberHttpServer:
    """Accepts on one listening socket at a time and answers one request on each connection, then closes it."""

    def __init__(self, answer: Callable[[str], Awaitable[Response]], *, room: int | None = None) -> None:
        """Prepare to answer.

        Args:
            answer: path → response; may take long.
            room: the most open connections; ``None``: any number.
        """
        self._answer = answer
        self._room = room
        self._listening: socket.socket | None = None
        self._in_hand: set[asyncio.Task[None]] = set()

    @property
    def active(self) -> int:
        """Open connections."""
        return len(self._in_hand)

    def open(self, listening: socket.socket) -> None:
        """Accept from this socket, which is closed by `close`."""
        self.close()
        listening.setblocking(False)
        self._listening = listening
        self._watch()

    def close(self, *, last_call: bool = False) -> None:
        """Accept no more; open connections go on.

        Args:
            last_call: first accept every connection that has arrived. For a socket of our own: the kernel resets them
                when it is closed. On a shared socket they wait for another process.
        """
        listening = self._listening
        if listening is None:
            return
        asyncio.get_running_loop().remove_reader(listening)
        while last_call and self._accept(listening):
            pass
        listening.close()
        self._listening = None

    async def finished(self, *, within: Seconds) -> bool:
        """Wait until no connection is open; return false if that takes too long."""
        if self._in_hand:
            await asyncio.wait(self._in_hand, timeout=within)
        return not self._in_hand

    def _watch(self) -> None:
        if self._listening is not None and (self._room is None or self.active < self._room):
            asyncio.get_running_loop().add_reader(self._listening, self._welcome, self._listening)

    def _welcome(self, listening: socket.socket) -> None:
        self._accept(listening)
        if self._room is not None and self.active >= self._room:
            asyncio.get_running_loop().remove_reader(listening)

    def _accept(self, listening: socket.socket) -> bool:
        loop = asyncio.get_running_loop()
        try:
            connection, _ = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError:  # out of descriptors: the kernel queues connections until some are free
            loop.remove_reader(listening)
            loop.call_later(_BREATH, self._watch)
            return False
        connection.setblocking(False)
        task = loop.create_task(self._serve(connection))
        self._in_hand.add(task)
        task.add_done_callback(self._done)
        return True

    def _done(self, task: asyncio.Task[None]) -> None:
        self._in_hand.discard(task)
        self._watch()

    async def _serve(self, connection: socket.socket) -> None:
        try:
            async with asyncio.timeout(_WITHIN):
                path = await _requested(connection)
            response = Response(status=HTTPStatus.BAD_REQUEST) if path is None else await self._answer(path)
            async with asyncio.timeout(_WITHIN):
                await asyncio.get_running_loop().sock_sendall(connection, _encoded(response))
        except (OSError, TimeoutError):  # the client went away, or never sent a request
            return
        finally:
            connection.close()


def _encoded(response: Response) -> bytes:
    body = response.body.encode()
    status = response.status
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


async def _requested(connection: socket.socket) -> str | None:
    """Return the path of a GET; ``None`` for anything else."""
    loop = asyncio.get_running_loop()
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _HEAD_LIMIT:
        piece = await loop.sock_recv(connection, _HEAD_LIMIT)
        if not piece:
            raise ConnectionResetError("closed before its request")
        head += piece
    words = head.split(b"\r\n", 1)[0].split(b" ")
    if len(words) != 3 or words[0] != b"GET" or not words[2].startswith(b"HTTP/1."):  # noqa: PLR2004 (RFC 9112, 3)
        return None
    return words[1].partition(b"?")[0].decode("latin-1")
