"""The holder of one listening socket.

    python -m handler.balancers.shared_listener.holder --control PATH --listen HOST:PORT

It takes no part in the traffic. Members accept from copies of its socket (`handler.balancers.shared_listener.member`),
so it may be ended and started again: members go on, come back, and give the new holder the socket of the old one.

The command returns once the control socket answers; the holder itself goes on as a daemon. It ignores INT and HUP; TERM
ends it and frees nothing that members hold; the driver's ``end`` dismisses all members and frees the port. It writes
``PATH`` with the suffix ``.log``, and holds a lock on ``PATH`` with the suffix ``.lock``: never two holders for one
listener. Exit codes: 0 it runs, 1 it cannot, 3 another one runs already.

Standard library only: it starts quickly, and outlives the version of Trimtab that started it.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import logging
import logging.handlers
import os
import resource
import signal
import socket
import sys
from pathlib import Path

from handler.balancers.shared_listener.port import BACKLOG, ListeningPort
from handler.balancers.shared_listener.registrations import ListenerRegistrations

SETTLE = 2.0
"""Seconds that a holder which replaces another waits for members to come back before it answers for them."""

_PAUSE = 0.5
"""Seconds before an operation that the system refused is tried again."""

_log = logging.getLogger("holder")


def main() -> int:
    """Start a holder; returns in the process that was called, never in the daemon."""
    parser = argparse.ArgumentParser(prog="python -m handler.balancers.shared_listener.holder", description=__doc__)
    parser.add_argument("--control", type=Path, required=True, help="path of the control socket")
    parser.add_argument("--listen", required=True, metavar="HOST:PORT", help="address that members serve")
    asked = parser.parse_args()
    control: Path = asked.control
    os.umask(0o177)
    lock = os.open(control.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 3
    _log_beside(control)
    replaces = control.exists()
    gate = _open_control(control)
    if os.fork():
        os._exit(0)  # the control socket answers: the caller may go on
    _detach()
    asyncio.run(_hold(gate, asked.listen, control, replaces=replaces))
    return 0


def _log_beside(control: Path) -> None:
    handler = logging.handlers.RotatingFileHandler(control.with_suffix(".log"), maxBytes=1_000_000, backupCount=1)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO, handlers=[handler])


def _open_control(control: Path) -> socket.socket:
    control.unlink(missing_ok=True)  # we hold the lock, so no other holder answers there
    gate = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    gate.bind(str(control))
    gate.listen(BACKLOG)
    gate.setblocking(False)
    return gate


def _detach() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # one descriptor a member; the usual soft limit is 1,024


def _started() -> str:
    """Return when this process started, in clock ticks since boot: field 22 of ``stat`` in proc(5)."""
    return Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]


async def _hold(gate: socket.socket, address: str, control: Path, *, replaces: bool) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, ended.set)

    def finish() -> None:
        control.unlink(missing_ok=True)
        ended.set()

    name = f"{os.getpid()}-{_started()}"
    attendance = ListenerRegistrations(
        holder=name, port=ListeningPort(address=address), finish=finish, settling=replaces
    )
    _log.info("started holder=%s replaces=%s", name, replaces)
    tasks = {asyncio.create_task(_open_port(attendance)), asyncio.create_task(_receive(gate, attendance))}
    await ended.wait()
    for task in tasks:
        task.cancel()
    _log.info("ended holder=%s", name)


async def _open_port(attendance: ListenerRegistrations) -> None:
    """Open the port, or get it from a member; keep trying while another program has it."""
    attendance.port.bind()
    if attendance.settling:
        await asyncio.sleep(SETTLE)
        attendance.settling = False
    while attendance.port.listening is None:
        await asyncio.sleep(_PAUSE)
        attendance.port.bind()


async def _receive(gate: socket.socket, attendance: ListenerRegistrations) -> None:
    """Serve every connection."""
    attended: set[asyncio.Task[None]] = set()
    while True:
        try:
            connection, _ = await asyncio.get_running_loop().sock_accept(gate)
        except OSError as problem:
            _log.warning("cannot accept: %s", problem)
            await asyncio.sleep(_PAUSE)
            continue
        task = asyncio.create_task(attendance.attend(connection))
        attended.add(task)
        task.add_done_callback(attended.discard)


if __name__ == "__main__":
    sys.exit(main())
