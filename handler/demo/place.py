"""The two ports and the state directory of one demo, so that demos run side by side without a clash."""

from __future__ import annotations

import errno
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from config.errors import Refused

HOST = "127.0.0.1"
CONSOLE = 8460
"""The console's default port."""
_LOAD_ABOVE = 20
_HIGHEST = 65535
_STATE = ".trimtab"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoPlace:
    """Ports and directory that no other demo on this machine may use."""

    state: Path
    console: int
    """TCP port of console and API; 0 takes any free port."""
    load: int
    """TCP port that receives the load."""


def place_of(*, console: int, load: int | None, state: Path | None) -> DemoPlace:
    """Return a demo's place from the options; an option left out follows from the console's port.

    Raises:
        Refused: both ports are the same.

    >>> place_of(console=8460, load=None, state=None)
    DemoPlace(state=PosixPath('.trimtab'), console=8460, load=8480)
    >>> place_of(console=8461, load=None, state=None)
    DemoPlace(state=PosixPath('.trimtab-8461'), console=8461, load=8481)
    """
    chosen = load_port_beside(console) if load is None else load
    if chosen == console:
        raise Refused(f"console and load cannot share port {console}: choose another one with {_REMEDY['load']}")
    return DemoPlace(state=_state(console) if state is None else state, console=console, load=chosen)


def load_port_beside(console: int) -> int:
    """Return the port of the load of a demo whose console has this port.

    >>> [load_port_beside(port) for port in (8460, 8461, 0, 65530)]
    [8480, 8481, 8480, 65510]
    """
    above = (console or CONSOLE) + _LOAD_ABOVE
    return above if above <= _HIGHEST else console - _LOAD_ABOVE


def _state(console: int) -> Path:
    return Path(_STATE if console in {0, CONSOLE} else f"{_STATE}-{console}")


_REMEDY = {
    "console": "--port (make run PORT=…)",
    "load": "--load-port (make run LOAD_PORT=…)",
}


def require_free(port: int, what: str) -> None:
    """Return if a program may listen on the port; ``what`` is ``console`` or ``load``.

    Raises:
        Refused: another program listens there, or this account may not use the port.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((HOST, port))
            trial.listen()
        except OSError as error:
            raise Refused(_cannot(port, what, error)) from error


def _cannot(port: int, what: str, error: OSError) -> str:
    taken = "another program listens there (another demo?)"
    why = taken if error.errno == errno.EADDRINUSE else os.strerror(error.errno or 0)
    return f"the demo's {what} cannot use {HOST}:{port}: {why}; choose another port with {_REMEDY[what]}"
