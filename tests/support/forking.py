"""`trimtab` as a shell starts it, but forked from a process that has its modules: they take seconds of processor time.

The arguments, the environment, the folder and the outputs are the test's, the process leads a session of its own, and
its interpreter ends as any other. What starts for a person's sake, from nothing, has tests of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import typer.main

CLOCK = "TRIMTAB_TEST_CLOCK"
"""In the environment of a fork: a file that says by how many seconds the clock of its machine is wrong, at any time."""
AHEAD = struct.Struct("d")
_LONGEST = 2**20
"""Bytes of what a fork is asked for."""
_MODULES = (
    "handler.command",
    "handler.daemon.run",
    "handler.demo.day",
    "handler.demo.place",
    "alembic.command",
    "pydantic.v1",
)
"""What a daemon imports before it listens, with all that these import."""


@dataclass(slots=True)
class Forked:
    """A process that the fork server has started: as `subprocess.Popen`, though no child of ours."""

    pid: int
    _ends: socket.socket = field(repr=False)
    returncode: int | None = None

    def poll(self) -> int | None:
        """Return its exit code, as `subprocess` counts them; ``None``: it runs."""
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; the exit code.

        Raises:
            subprocess.TimeoutExpired: it has not ended in time.
        """
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("trimtab", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def _ended(self, within: float | None) -> int | None:
        if self.returncode is None:
            self._ends.settimeout(within)
            with contextlib.suppress(TimeoutError, BlockingIOError):
                code = self._ends.recv(64)
                self.returncode = int(code) if code else -signal.SIGKILL  # the fork server has ended, and told no code
                self._ends.close()
        return self.returncode


def forked(arguments: Iterable[object], environment: Mapping[str, str], output: IO[bytes]) -> Forked:
    """Start ``trimtab`` with these arguments; all that it writes goes to one file."""
    ours, theirs = socket.socketpair()
    order = {"arguments": [*map(str, arguments)], "environment": dict(environment), "folder": str(Path.cwd())}
    with theirs:
        socket.send_fds(_server(), [json.dumps(order).encode()], [output.fileno(), theirs.fileno()])
    ours.settimeout(None)
    return Forked(pid=int(ours.recv(64)), _ends=ours)


@functools.cache
def _server() -> socket.socket:
    """What asks the server of this process, which ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LONGEST)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


# The server


def _serve(asked: socket.socket) -> None:
    """Fork as often as asked; returns in each fork, never in the server."""
    wakes, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken)
    running: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([asked, wakes], [], [])
        if wakes in ready:
            os.read(wakes, 4096)
            _tell_ends(running)
        if asked not in ready:
            continue
        order, handles, _, _ = socket.recv_fds(asked, _LONGEST, 2)
        if not order:  # the tests are over, perhaps in the middle of one
            for pid in running:
                os.kill(pid, signal.SIGTERM)
            sys.exit()
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for mine in (*running.values(), asked):
                mine.close()
            os.close(wakes)
            os.close(woken)
            _become(json.loads(order), *handles)
            return
        output, ends = handles
        os.close(output)
        running[pid] = socket.socket(fileno=ends)
        running[pid].sendall(str(pid).encode())


def _tell_ends(running: dict[int, socket.socket]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with running.pop(pid) as ends, contextlib.suppress(OSError):  # its test may be over
            ends.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _become(order: dict[str, object], output: int, ends: int) -> None:
    """Be what was asked for: all that a new process would be given."""
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.close(ends)
    os.chdir(str(order["folder"]))
    os.environ.clear()
    os.environ.update(order["environment"])  # type: ignore[call-overload]
    time.tzset()
    if clock := os.environ.pop(CLOCK, ""):
        _go_by(Path(clock))
    sys.argv = ["trimtab", *order["arguments"]]  # type: ignore[misc]


def _go_by(clock: Path) -> None:
    """Have the time of day be what a file says, whenever it is changed; clocks that only count are not set."""
    right = time.time
    with clock.open("rb") as file:
        ahead = mmap.mmap(file.fileno(), AHEAD.size, access=mmap.ACCESS_READ)
    time.time = lambda: right() + AHEAD.unpack_from(ahead)[0]


def _make_once() -> None:
    """Make what is the same in every fork and costs it most: the tree of commands, and the routes of operations."""
    typer.main.get_command = functools.cache(typer.main.get_command)
    typer.main.get_command(sys.modules["handler.command"].app)
    sys.modules["handler.web.operating"].operation_routes()


if __name__ == "__main__":
    for module in _MODULES:
        importlib.import_module(module)
    _make_once()
    gc.collect()
    gc.freeze()
    gc.unfreeze = lambda: None  # a fork that goes through what the server has frozen copies every page of it
    _serve(socket.socket(fileno=int(sys.argv[1])))
    sys.modules["handler.command"].main()
