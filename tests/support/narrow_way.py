"""A way to a unix socket on which connections are counted, and may end after so many bytes of answers."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Iterator
from pathlib import Path


class NarrowWay:
    """What is said on it is passed on byte by byte as it comes."""

    def __init__(self, path: Path, target: Path) -> None:
        self.path, self._target = path, target
        self.connections = 0
        self.answered = 0
        """Bytes of answers passed on, of the last connection."""
        self.cut_after: int | None = None
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            self.answered = 0
            with near, socket.socket(socket.AF_UNIX) as far:
                far.connect(str(self._target))
                self._pass_on(near, far)

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        while True:
            ready, _, _ = select.select([near, far], [], [], 10.0)
            for side in ready:
                received = side.recv(65536)
                if side is near:
                    if not received:
                        return
                    far.sendall(received)
                    continue
                left = None if self.cut_after is None else self.cut_after - self.answered
                with contextlib.suppress(BrokenPipeError):
                    near.sendall(received if left is None else received[:left])
                self.answered += len(received)
                if not received or (left is not None and len(received) >= left):
                    return


@contextlib.contextmanager
def narrow_way(directory: Path, target: Path) -> Iterator[NarrowWay]:
    way = NarrowWay(directory / "way.sock", target)
    try:
        yield way
    finally:
        way.close()
