"""Stands between a driver and its balancer, and does to one request what befalls requests on their way."""

from __future__ import annotations

import contextlib
import enum
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

from handler.balancers.exchange import Address
from tests.support.waiting import PATIENT

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_HTTP = re.compile(rb"(?:GET|POST|PUT|DELETE|HTTP/1)[ .]")


class Trouble(enum.Enum):
    """What befalls one request."""

    CUT = "cut"
    """The connection ends before the server has heard it."""
    LOST = "lost"
    """It is obeyed, and the answer is lost."""
    HALF = "half"
    """It is obeyed, and half of the answer comes."""
    NONSENSE = "nonsense"
    """Something else answers, in its own words."""
    UNAVAILABLE = "unavailable"
    """A proxy on the way answers that no server is there: 503, for so long."""
    SILENT = "silent"
    """It is obeyed, and nothing comes."""


_INSTEAD = {
    Trouble.NONSENSE: b'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\n["what?"]',
    Trouble.UNAVAILABLE: b"HTTP/1.1 503 Busy\r\nConnection: close\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy",
}


class Relay:
    """Counts requests, and lets one of them befall something."""

    def __init__(self, address: Address, target: Address) -> None:
        self.address, self._target = address, target
        self._trouble: tuple[Trouble, int] | None = None
        self.dead = False
        """No request is answered."""
        self.heard = 0
        self._listening = _listening(address)
        if not isinstance(address, Path):
            self.address = self._listening.getsockname()[:2]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def arm(self, trouble: Trouble, request: int) -> None:
        """Let it befall the request of this number from now on, the first being 1."""
        self._trouble, self.heard = (trouble, request), 0

    def disarm(self) -> bool:
        """Let no fault happen any more; whether one has happened."""
        befallen = self._trouble is not None and self.heard >= self._trouble[1]
        self._trouble = None
        return befallen

    def close(self) -> None:
        self._ended.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _serve(self) -> None:
        while not self._ended.is_set():
            try:
                conversation, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._converse, args=(conversation,), daemon=True).start()

    def _converse(self, client: socket.socket) -> None:
        client.settimeout(PATIENT)
        with client, _connected(self._target) as balancer, contextlib.suppress(OSError):
            while request := _whole(client):
                self.heard += 1
                if self.dead:
                    return
                trouble = self._trouble[0] if self._trouble is not None and self.heard == self._trouble[1] else None
                if trouble is not None:
                    self._befall(trouble, request, client, balancer)
                    return
                balancer.sendall(request)
                client.sendall(_whole(balancer, until_closed=True))
                if not _HTTP.match(request):
                    return

    def _befall(self, trouble: Trouble, request: bytes, client: socket.socket, balancer: socket.socket) -> None:
        if trouble in _INSTEAD:
            http = bool(_HTTP.match(request))
            client.sendall(_INSTEAD[trouble] if http else b"what?\n")
        elif trouble is not Trouble.CUT:
            balancer.sendall(request)
            answer = _whole(balancer, until_closed=True)
            if trouble is Trouble.HALF:
                client.sendall(answer[: len(answer) // 2])
            if trouble is Trouble.SILENT:
                client.recv(1)


@contextlib.contextmanager
def relayed(directory: Path, target: Address) -> Iterator[Relay]:
    """A relay on the way to a balancer, on a socket of the same kind."""
    relay = Relay(directory / "relay.sock" if isinstance(target, Path) else ("127.0.0.1", 0), target)
    try:
        yield relay
    finally:
        relay.close()


def _listening(address: Address) -> socket.socket:
    if isinstance(address, Path):
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(address))
        listening.listen()
        return listening
    return socket.create_server(address)


def _connected(address: Address) -> socket.socket:
    if not isinstance(address, Path):
        return socket.create_connection(address, timeout=PATIENT)
    conversation = socket.socket(socket.AF_UNIX)
    conversation.settimeout(PATIENT)
    conversation.connect(str(address))
    return conversation


def _whole(side: socket.socket, *, until_closed: bool = False) -> bytes:
    """One request or answer: of HTTP as long as it says, else a line, or all until the other side closes."""
    received = b""
    while piece := side.recv(65536):
        received += piece
        if _HTTP.match(received):
            head, mark, body = received.partition(b"\r\n\r\n")
            length = _LENGTH.search(head)
            if mark and len(body) >= (int(length[1]) if length else 0):
                return received
        elif not until_closed and received.endswith(b"\n"):
            return received
    return received
