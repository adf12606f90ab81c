"""One connection between the holder and a member: messages, with a socket in hand where the message says so."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections import deque

from handler.balancers.shared_listener.protocol import LONGEST, Hello, Message, ProtocolError, Start, decode, encode

_MOST_IN_HAND = 1
"""Sockets that may have arrived ahead of the line that they belong to."""


class ConnectionLost(Exception):
    """The connection has ended."""


class HolderSocket:
    """A connected unix stream socket, owned: `close` it."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._unread = b""
        self._in_hand: deque[socket.socket] = deque()

    async def receive(self) -> tuple[Message, socket.socket | None]:
        """Return the next message, with the socket that came with it; the caller owns that socket.

        Cancelling loses nothing: bytes leave the connection only after the last wait.

        Raises:
            Lost: the other end has closed, or its process has ended.
            ProtocolError: it sent a message that is not in the protocol, or a line without end.
        """
        while b"\n" not in self._unread[:LONGEST]:
            if len(self._unread) >= LONGEST:
                raise ProtocolError(f"a line of more than {LONGEST} bytes")
            await self._readable()
            self._take_in()
        line, _, self._unread = self._unread.partition(b"\n")
        message = decode(line)
        carries = isinstance(message, Start) or (isinstance(message, Hello) and message.socket)
        if not carries:
            return message, None
        if not self._in_hand:
            raise ProtocolError(f"no socket came with {type(message).__name__}")
        return message, self._in_hand.popleft()

    def send(self, message: Message, carried: socket.socket | None = None) -> None:
        """Send a message without waiting: lines are short, so a full connection means a reader that hangs.

        Raises:
            Lost: the other end is gone, or does not read.
        """
        line = encode(message)
        try:
            fds = [] if carried is None else [carried.fileno()]
            sent = socket.send_fds(self._connection, [line], fds)
        except OSError as problem:
            raise ConnectionLost(str(problem)) from problem
        if sent != len(line):
            raise ConnectionLost("the other end does not read")

    def hang_up(self) -> None:
        """Make a waiting `receive`, at either end, raise `ConnectionLost`."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the connection, and close sockets that no message has claimed."""
        self._connection.close()
        for unclaimed in self._in_hand:
            unclaimed.close()
        self._in_hand.clear()

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._connection, _mark, arrived)
        try:
            await arrived
        finally:
            loop.remove_reader(self._connection)

    def _take_in(self) -> None:
        try:
            received, fds, _, _ = socket.recv_fds(self._connection, LONGEST, _MOST_IN_HAND)
        except BlockingIOError:
            return
        except OSError as problem:
            raise ConnectionLost(str(problem)) from problem
        for fd in fds:
            os.set_inheritable(fd, False)  # a member's own children must not keep the port open
            self._in_hand.append(socket.socket(fileno=fd))
        if not received:
            raise ConnectionLost("the other end has closed")
        if len(self._in_hand) > _MOST_IN_HAND:
            raise ProtocolError("more sockets than messages that carry one")
        self._unread += received


def _mark(arrived: asyncio.Future[None]) -> None:
    if not arrived.done():
        arrived.set_result(None)
