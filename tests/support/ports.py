"""Ports of the loopback for programs that tests start."""

from __future__ import annotations

import itertools
import os
import socket

_FIRST, _EACH = 10_000, 1_400
"""Below the ports that the kernel gives to connections (from 32768 on Linux), so that no connection takes one between
being found and being bound; each worker of pytest-xdist has a range of its own (up to 16 of them)."""

_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 16
_NEXT = itertools.count(os.getpid())


def free_tcp_port() -> int:
    """Return a TCP port that no program listens on, and that no other test of this run is given."""
    return _free(socket.SOCK_STREAM)


def free_udp_port() -> int:
    """Return a UDP port that no program has bound, and that no other test of this run is given."""
    return _free(socket.SOCK_DGRAM)


def _free(kind: socket.SocketKind) -> int:
    for _ in range(_EACH):
        port = _FIRST + _WORKER * _EACH + next(_NEXT) % _EACH
        with socket.socket(socket.AF_INET, kind) as probe:
            if kind is socket.SOCK_STREAM:  # connections that have just ended hold no port, for servers neither
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"all {_EACH} ports of worker {_WORKER} are taken")
