"""Several commands to HAProxy on one connection, each answered before the next is given.

In interactive mode every answer ends with a prompt at the beginning of a line. A new command is given only after that,
so an answer belongs to the one command that was open. An empty answer is a prompt too, and nothing but a prompt: a
connection that ends is never taken for one.

Source: HAProxy management guide 2.6, section 9.3, ``prompt``; what it sends is the same up to 3.5.
"""

from __future__ import annotations

import errno
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from config.units import Seconds
from handler.balancers.exchange import Address

_PROMPT = b"\n> "


class Conversation:
    """A connection in interactive mode. After an `OSError` nothing more can be said on it."""

    def __init__(self, connection: socket.socket, at_most: int) -> None:
        self._connection = connection
        self._at_most = at_most
        self._broken = False

    def ask(self, command: bytes) -> bytes:
        r"""Give one command, and read its answer up to the prompt, whose ``\n`` is its last byte.

        Raises:
            OSError: no whole answer: not in time, too long (``EMSGSIZE``), cut, or the last one was none.
        """
        if self._broken or select.select([self._connection], [], [], 0)[0]:
            self._broken = True
            raise ConnectionError("the connection is not in order any more")
        try:
            self._connection.sendall(command)
            return self._answer()
        except OSError:
            self._broken = True
            raise

    def _answer(self) -> bytes:
        answer = bytearray()
        while not answer.endswith(_PROMPT):
            piece = self._connection.recv(65536)
            if not piece:
                raise ConnectionError("the connection ended before the answer did")
            answer += piece
            if len(answer) > self._at_most:
                raise OSError(errno.EMSGSIZE, f"an answer of more than {self._at_most} bytes")
        return bytes(answer[: 1 - len(_PROMPT)])


@contextmanager
def conversation(address: Address, *, within: Seconds, at_most: int) -> Iterator[Callable[[bytes], bytes]]:
    """Begin a conversation; what is yielded is `Conversation.ask`.

    Args:
        address: the runtime socket.
        within: seconds without a byte after which nobody is there.
        at_most: bytes of an answer.

    Raises:
        OSError: nobody is there, or whoever is knows no interactive mode.
    """
    with _connected(address, within) as connection:
        begun = Conversation(connection, at_most)
        begun.ask(b"prompt\n")
        yield begun.ask


@contextmanager
def _connected(address: Address, within: Seconds) -> Iterator[socket.socket]:
    if isinstance(address, Path):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(within)
        with connection:
            connection.connect(str(address))
            yield connection
    else:
        with socket.create_connection(address, timeout=within) as connection:
            yield connection
