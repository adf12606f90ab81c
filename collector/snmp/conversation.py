"""One request at a time to one agent, over a UDP socket of its own, which only that agent can answer."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from errno import ECONNREFUSED

from collector.samples import Reply
from collector.snmp.engine import Trouble, Varbinds
from config.units import Seconds

Understand = Callable[[bytes], Varbinds | Trouble | None]
"""Says what a datagram answers; ``None``: it answers another request, or that cannot be known: it is thrown away."""

DATAGRAM = 65536
"""Bytes that the greatest one has."""


class Talk:
    """A connected socket; for one event loop. Nothing is sent before the first question.

    Args:
        address: of the agent, numeric.
        port: that it listens at.
        buffer: for a whole datagram; may be shared, since nothing stays in it.

    Raises:
        OSError: there is no way there.
    """

    def __init__(self, address: str, port: int, buffer: bytearray) -> None:
        self._loop = asyncio.get_running_loop()
        self._view = memoryview(buffer)
        self._answer: asyncio.Future[Varbinds | Trouble] | None = None
        self._understand: Understand | None = None
        self._socket = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setblocking(False)
            self._socket.connect((address, port))
            self._loop.add_reader(self._socket, self._readable)
        except BaseException:
            self._socket.close()
            raise

    async def ask(
        self, request: bytes, understand: Understand, patience: Seconds, silence: Trouble
    ) -> Varbinds | Trouble:
        """Send a request, and wait for its answer.

        Args:
            request: a whole message.
            understand: is given every datagram that arrives meanwhile.
            patience: how long.
            silence: what it means if none is an answer.
        """
        answer: asyncio.Future[Varbinds | Trouble] = self._loop.create_future()
        self._answer, self._understand = answer, understand
        try:
            self._socket.send(request)
        except OSError as error:
            return unsent(error)
        timer = self._loop.call_later(patience, self._settle, silence)
        try:
            return await answer
        finally:
            timer.cancel()
            self._answer = self._understand = None  # a circle would keep the socket open until it is collected

    def close(self) -> None:
        """Give back the socket."""
        self._loop.remove_reader(self._socket)
        self._socket.close()
        if self._answer is not None and not self._answer.done():
            self._answer.cancel()

    def _settle(self, answer: Varbinds | Trouble) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    def _readable(self) -> None:
        try:
            length = self._socket.recv_into(self._view)
        except BlockingIOError:
            return
        except OSError as error:
            self._settle(unsent(error))
            return
        if self._understand is None or self._answer is None or self._answer.done():
            return
        understood = self._understand(bytes(self._view[:length]))
        if understood is not None:
            self._settle(understood)


def unsent(error: OSError) -> Trouble:
    """Say what the system's word for a datagram that did not get there means."""
    if error.errno == ECONNREFUSED:
        return Trouble(reply=Reply.REFUSED, said="nothing listens at this port")
    return Trouble(reply=Reply.UNREACHABLE, said=str(error))
