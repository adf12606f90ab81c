"""Several commands to HAProxy on one connection, each sent after the answer to the one before.

In interactive mode every answer ends with a prompt at the beginning of a line. The next command is sent only after
that, so an answer belongs to the one open command. An empty answer is just a prompt; a connection that ends never
counts as an empty answer.

Source: HAProxy management guide 2.6, section 9.3, ``prompt``; its output is the same up to 3.5.
"""

from __future__ import annotations

import asyncio
import errno
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from collector.clients.connecting import connected
from config.units import Seconds
from handler.balancers.exchange import Address

_PROMPT = b"\n> "


class Conversation:
    """A connection in interactive mode. After an `OSError` it can no longer be used.

    Args:
        connection: non-blocking.
        at_most: bytes of an answer.
    """

    def __init__(self, connection: socket.socket, at_most: int) -> None:
        self._connection = connection
        self._at_most = at_most
        self._broken = False

    async def ask(self, command: bytes) -> bytes:
        r"""Send one command, and read its answer up to the prompt, whose ``\n`` is its last byte.

        Raises:
            OSError: no complete answer: too long (``EMSGSIZE``), cut short, or the previous one failed.
        """
        if self._broken or _has_spoken(self._connection):
            self._broken = True
            raise ConnectionError("the connection is not in order any more")
        self._broken = True  # until the answer is complete, even if the caller no longer waits
        await asyncio.get_running_loop().sock_sendall(self._connection, command)
        answer = await self._answer()
        self._broken = False
        return answer

    async def _answer(self) -> bytes:
        loop, answer = asyncio.get_running_loop(), bytearray()
        while not answer.endswith(_PROMPT):
            piece = await loop.sock_recv(self._connection, 65536)
            if not piece:
                raise ConnectionError("the connection ended before the answer did")
            answer += piece
            if len(answer) > self._at_most:
                raise OSError(errno.EMSGSIZE, f"an answer of more than {self._at_most} bytes")
        return bytes(answer[: 1 - len(_PROMPT)])


def _has_spoken(connection: socket.socket) -> bool:
    """Return whether there is anything to read, the end included. select(2) refuses descriptors above 1,023."""
    waiting = select.poll()
    waiting.register(connection, select.POLLIN)
    return bool(waiting.poll(0))


@contextmanager
def conversation(address: Address, *, within: Seconds, at_most: int) -> Iterator[Callable[[bytes], bytes]]:
    """Begin a conversation; what is yielded is `Conversation.ask`, within the time. Blocks: for worker threads.

    Args:
        address: the runtime socket.
        within: seconds for a command and all of its answer; for the beginning, connecting included, as many.
        at_most: bytes of an answer.

    Raises:
        OSError: the endpoint is not reachable, or has no interactive mode.
    """
    with asyncio.Runner() as runner, ExitStack() as stack:

        async def begin() -> Conversation:
            async with asyncio.timeout(within):
                begun = Conversation(stack.enter_context(await connected(address)), at_most)
                await begun.ask(b"prompt\n")
                return begun

        async def ask(command: bytes) -> bytes:
            async with asyncio.timeout(within):
                return await begun.ask(command)

        begun = runner.run(begin())
        yield lambda command: runner.run(ask(command))
