"""A relay before a libvirt daemon, on which calls meet with what may befall them."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from collector.clients.libvirt.messages import Header, MessageType, Procedure, Status, frame, header_of
from collector.clients.libvirt.xdr import maybe, number


@dataclass(frozen=True)
class Mishap:
    """What befalls one call. ``obeyed``: it is carried out all the same."""

    obeyed: bool = False
    answer: bytes | None = None
    """In place of the daemon's: a body; ``None``: the connection is closed."""
    refused: bool = False
    """The answer is an error."""
    hangs: bool = False
    """Nothing is answered, and the connection stays."""


def error(code: int, message: str, *, obeyed: bool = False) -> Mishap:
    body = number(code) + number(0) + maybe(message) + number(2) + number(0) * 4 + number(0) * 2 + number(0)
    return Mishap(answer=body, refused=True, obeyed=obeyed)


LOST = Mishap(obeyed=True)
CLOSED = Mishap()
HANGING = Mishap(hangs=True)


@dataclass
class LibvirtRelay:
    """Everything between drivers and one daemon."""

    daemon: Path
    faults: dict[Procedure, deque[Mishap | None]] = field(default_factory=lambda: defaultdict(deque))
    """What befalls the next calls of a procedure; ``None``: nothing."""
    before: Callable[[Procedure], None] | None = None
    """Runs before a call is passed on."""
    dead: bool = False
    """No connection is served."""
    unheard: int = 0
    """Connections that came while it was dead."""

    def script(self, procedure: Procedure, *faults: Mishap | None) -> None:
        self.faults[procedure].extend(faults)

    @contextlib.contextmanager
    def serving(self, path: Path) -> Iterator[None]:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
            try:
                yield
            finally:
                self.dead = True
                with contextlib.suppress(OSError):
                    listener.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near, socket.socket(socket.AF_UNIX) as far, contextlib.suppress(OSError, EOFError):
            if self.dead:
                self.unheard += 1
                return
            far.connect(str(self.daemon))
            awaited: dict[int, Mishap] = {}
            threading.Thread(target=self._answers, args=(near, far, awaited), daemon=True).start()
            while True:
                header, data = _message(near)
                self._call(near, far, header, data, awaited)

    def _call(
        self, near: socket.socket, far: socket.socket, header: Header, data: bytes, awaited: dict[int, Mishap]
    ) -> None:
        if self.dead:
            raise EOFError
        if header.type == MessageType.CALL:
            procedure = Procedure(header.procedure)
            faults = self.faults[procedure]
            mishap = faults.popleft() if faults else None
            if self.before is not None:
                self.before(procedure)
            if mishap is not None and not mishap.obeyed:
                _befall(near, header, mishap)
                return
            if mishap is not None:
                awaited[header.serial] = mishap
        far.sendall(data)

    def _answers(self, near: socket.socket, far: socket.socket, awaited: dict[int, Mishap]) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                header, data = _message(far)
                mishap = awaited.pop(header.serial, None)
                if mishap is None:
                    near.sendall(data)
                else:
                    _befall(near, header, mishap)
        with contextlib.suppress(OSError):
            near.shutdown(socket.SHUT_RDWR)


def _befall(near: socket.socket, header: Header, mishap: Mishap) -> None:
    if mishap.hangs:
        return
    if mishap.answer is None:
        near.shutdown(socket.SHUT_RDWR)
        raise EOFError
    status = Status.ERROR if mishap.refused else Status.OK
    reply = Header(procedure=header.procedure, serial=header.serial, type=MessageType.REPLY, status=status)
    near.sendall(frame(reply, mishap.answer))


def _message(source: socket.socket) -> tuple[Header, bytes]:
    length = _exactly(source, 4)
    data = _exactly(source, int.from_bytes(length) - 4)
    return header_of(data[:24]), length + data


def _exactly(source: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = source.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data
