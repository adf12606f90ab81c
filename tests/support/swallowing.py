"""An endpoint that swallows: it takes every connection, and answers none."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


class Swallower:
    """Keeps every connection, and counts."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.taken: list[socket.socket] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listening.getsockname()[1]}"

    def take(self) -> None:
        while True:
            try:
                self.taken.append(self.listening.accept()[0])
            except OSError:
                return


@contextlib.contextmanager
def swallowing() -> Iterator[Swallower]:
    swallower = Swallower()
    thread = threading.Thread(target=swallower.take, daemon=True)
    thread.start()
    try:
        yield swallower
    finally:
        swallower.listening.shutdown(socket.SHUT_RDWR)
        swallower.listening.close()
        thread.join()
        for taken in swallower.taken:
            taken.close()
