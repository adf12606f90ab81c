"""One request at a time to one agent, over a UDP socket of its own, which only that agent can answer."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from errno import ECONNREFUSED
from typing import TypeVar

from collector.samples import Reply
from collector.snmp.engine import Trouble
from config.units import Seconds

_Answer = TypeVar("_Answer")

Hear = Callable[[bytes | Trouble], None]
"""Is given every datagram while there is a question, and why there will be none."""

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
        self._hear: Hear | None = None
        self._give_up: Callable[[], object] | None = None
        self._socket = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setblocking(False)
            self._socket.connect((address, port))
            self._loop.add_reader(self._socket, self._readable)
        except BaseException:
            self._socket.close()
            raise

    def begin(self, request: bytes, hear: Hear) -> None:
        """Send a request, and hand over every datagram that arrives, until `end`.

        Args:
            request: a whole message.
            hear: also called, at once, if it cannot be sent. Must not take long.
        """
        self._hear = hear
        try:
            self._socket.send(request)
        except OSError as error:
            hear(unsent(error))

    def end(self) -> None:
        """Throw away what arrives from now on."""
        self._hear = None

    async def ask(
        self,
        request: bytes,
        understand: Callable[[bytes], _Answer | Trouble | None],
        patience: Seconds,
        silence: Trouble,
    ) -> _Answer | Trouble:
        """Send a request, and wait for its answer.

        Args:
            request: a whole message.
            understand: says what a datagram answers; ``None``: it answers another request, or that cannot be known: it
                is thrown away.
            patience: how long.
            silence: what it means if none is an answer.
        """
        answer: asyncio.Future[_Answer | Trouble] = self._loop.create_future()

        def hear(heard: bytes | Trouble) -> None:
            understood = heard if isinstance(heard, Trouble) else understand(heard)
            if understood is not None:
                settle(understood)

        def settle(understood: _Answer | Trouble) -> None:
            if not answer.done():
                answer.set_result(understood)

        self._give_up = answer.cancel
        self.begin(request, hear)
        timer = self._loop.call_later(patience, settle, silence)
        try:
            return await answer
        finally:
            timer.cancel()
            self.end()  # a circle would keep the socket open until it is collected
            self._give_up = None

    def close(self) -> None:
        """Give back the socket."""
        self._loop.remove_reader(self._socket)
        self._socket.close()
        self.end()
        if self._give_up is not None:
            self._give_up()

    def _readable(self) -> None:
        heard: bytes | Trouble
        try:
            length = self._socket.recv_into(self._view)
            heard = bytes(self._view[:length])
        except BlockingIOError:
            return
        except OSError as error:
            heard = unsent(error)
        if self._hear is not None:
            self._hear(heard)


def unsent(error: OSError) -> Trouble:
    """Say what the system's word for a datagram that did not get there means."""
    if error.errno == ECONNREFUSED:
        return Trouble(reply=Reply.REFUSED, detail="nothing listens at this port")
    return Trouble(reply=Reply.UNREACHABLE, detail=str(error))
