"""One daemon for each installation on a machine: an abstract unix socket, which the kernel frees with its process.

Members that are processes bear no claim, so two daemons over copies of one state directory would not see each other.
The daemon that holds the socket acts; another daemon reads the holder's claim from it. A daemon that a person has
`adopt` its store asks the holder to release the socket, and the holder does so for a claim above its own.

A socket that belongs to another account is no daemon of ours and is ignored: else any account could stop us.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator

from config.units import Seconds
from handler.planning.launches import Claim

_PATIENCE: Seconds = 2.0
_LONGEST = 64
_ASK, _ADOPT = "claim", "adopt"
_PEER = struct.Struct("3i")


class InstallationLock:
    """The socket of one installation. Any thread may call; the holder answers in a thread of its own."""

    def __init__(self, installation: str, yielded: Callable[[Claim], None] = lambda claim: None) -> None:
        self._name = f"\0trimtab-{installation}"
        self._yielded = yielded
        self._own: Claim | None = None
        self._socket: socket.socket | None = None
        self._turn = threading.Lock()

    def take(self, own: Claim) -> Claim | None:
        """Hold the socket under this claim; ``None``: it is held, else the claim of the daemon that holds it."""
        with self._turn:
            self._own = own
            if self._socket is not None or self._bound():
                return None
        return self._ask(_ASK)

    def demand(self, own: Claim) -> bool:
        """Have the daemon that holds the socket let go, and hold it; whether that worked."""
        if self.take(own) is None:
            return True
        self._ask(f"{_ADOPT} {own.text}")
        return self.take(own) is None

    def release(self) -> None:
        """Let another daemon hold it."""
        with self._turn:
            held, self._socket = self._socket, None
        if held is not None:
            with contextlib.suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in it
            held.close()

    def _bound(self) -> bool:
        if not hasattr(socket, "SO_PEERCRED"):
            return True  # no abstract sockets here
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.bind(self._name)
            listening.listen()
        except OSError:
            listening.close()
            return False
        self._socket = listening
        threading.Thread(target=self._serve, args=(listening,), name="installation-lock", daemon=True).start()
        return True

    def _serve(self, listening: socket.socket) -> None:
        while True:
            try:
                asking, _ = listening.accept()
            except OSError:
                return  # released
            with contextlib.suppress(OSError, UnicodeDecodeError), asking:
                asking.settimeout(_PATIENCE)
                self._answer(asking)

    def _answer(self, asking: socket.socket) -> None:
        own = self._own
        if own is None or _account(asking) != os.getuid():
            return
        word, _, claim = asking.recv(_LONGEST).decode("ascii").partition(" ")
        demanded = Claim.parse(claim) if word == _ADOPT else None
        if demanded is not None and demanded.nonce != own.nonce and demanded.counter > own.counter:
            self._yielded(demanded)
            self.release()
        asking.sendall(own.text.encode("ascii"))

    def _ask(self, question: str) -> Claim | None:
        """What the holder answers; ``None``: it is no daemon of ours, or has gone meanwhile."""
        with contextlib.suppress(OSError, UnicodeDecodeError), self._connected() as holder:
            if _account(holder) != os.getuid():
                return None
            holder.sendall(question.encode("ascii"))
            return Claim.parse(holder.recv(_LONGEST).decode("ascii"))
        return None

    @contextlib.contextmanager
    def _connected(self) -> Iterator[socket.socket]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as holder:
            holder.settimeout(_PATIENCE)
            holder.connect(self._name)
            yield holder


def _account(peer: socket.socket) -> int:
    """The account at the other end of a unix socket."""
    _, account, _ = _PEER.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return int(account)
