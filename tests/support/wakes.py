"""Sessions that hear notifications of other workers, without a database."""

from __future__ import annotations

import socket
from collections import deque

from config.errors import StoreError


class NoSession:
    """None can be opened."""

    def connect(self) -> int:
        raise StoreError("the database cannot be reached")

    def read(self) -> frozenset[str]:
        return frozenset()

    def close(self) -> None:
        """It has nothing open."""


class FakeSession:
    """What a test notifies, as a database would; also after the session was lost."""

    def __init__(self) -> None:
        self.connects = 0
        self._ends: tuple[socket.socket, socket.socket] | None = None
        self._notified: deque[str] = deque()

    def connect(self) -> int:
        self.connects += 1
        self._ends = socket.socketpair()
        return self._ends[0].fileno()

    def read(self) -> frozenset[str]:
        assert self._ends is not None
        if not self._ends[0].recv(64):
            raise StoreError("the session is lost")
        found = frozenset(self._notified)
        self._notified.clear()
        return found

    def close(self) -> None:
        for end in self._ends or ():
            end.close()
        self._ends = None

    def notify(self, what: str) -> None:
        assert self._ends is not None
        self._notified.append(what)
        self._ends[1].send(b"x")

    def lose(self) -> None:
        """End the session at the server."""
        assert self._ends is not None
        self._ends[1].close()
