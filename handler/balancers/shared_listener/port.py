"""The listening socket that a holder owns: opened, or taken back from a member that kept a copy."""

from __future__ import annotations

import errno
import logging
import socket
from dataclasses import dataclass

BACKLOG = 1024
"""Connections that may wait in the kernel until a member accepts them."""

_log = logging.getLogger("holder")


@dataclass(slots=True, kw_only=True)
class ListeningPort:
    """The listening socket, once there is one."""

    address: str
    """``HOST:PORT`` as declared."""
    listening: socket.socket | None = None
    problem: str = ""
    """Why there is no socket."""

    def bind(self) -> None:
        """Try to open the port ourselves, unless we have it."""
        if self.listening is not None:
            return
        try:
            opened = _opened(self.address)
        except OSError as problem:
            self.problem = _explained(self.address, problem)
            return
        self.listening, self.problem = opened, ""
        _log.info("listening address=%s how=opened", self.address)

    def adopt(self, offered: socket.socket) -> bool:
        """Use a member's copy if we have none; return whether it is a socket of this port at all."""
        try:
            ours = (
                offered.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
                and offered.getsockname()[:2] == _resolve(self.address)[1][:2]
            )
        except OSError:
            ours = False
        if not ours or self.listening is not None:
            offered.close()
            return ours
        self.listening, self.problem = offered, ""
        _log.info("listening address=%s how=adopted", self.address)
        return True


def _resolve(address: str) -> tuple[socket.AddressFamily, tuple[object, ...]]:
    host, _, port = address.rpartition(":")
    found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return found[0][0], found[0][4]


def _opened(address: str) -> socket.socket:
    family, where = _resolve(address)
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(where)
        opened.listen(BACKLOG)
    except OSError:
        opened.close()
        raise
    opened.setblocking(False)
    return opened


def _explained(address: str, problem: OSError) -> str:
    if problem.errno == errno.EADDRINUSE:
        return f"{address} is in use by another program: stop it, or declare another port for this listener"
    why = problem.strerror or str(problem)
    return f"{address} cannot be opened ({why}): declare an address of this machine and a port that this user may open"
