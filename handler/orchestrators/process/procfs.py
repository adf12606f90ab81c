"""Processes as the kernel shows them under ``/proc``, identified by more than their number.

A pid is reused; pid and start time together are not. Every function returns ``None`` or an empty tuple for "gone", and
raises `OSError` if it could not look: the two never mix.

Source: proc(5), ``/proc/PID/stat``; pidfd_open(2).
"""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from config.units import Instant

_TICKS = os.sysconf("SC_CLK_TCK")
_STATE, _SESSION, _STARTED = 0, 3, 19  # fields of stat counted from the one after the command's ")"
_DEAD = frozenset("ZXx")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process, distinct from every later one with the same pid."""

    pid: int
    session: int
    started: int
    """Clock ticks since boot."""
    state: str
    """The kernel's letter: R, S, D, T, Z, ..."""

    @property
    def alive(self) -> bool:
        """Return whether it is neither a zombie nor ending."""
        return self.state not in _DEAD

    @property
    def leads(self) -> bool:
        """Return whether it began its session."""
        return self.pid == self.session

    @property
    def created_at(self) -> Instant:
        """Return when it began, to about a second: the kernel rounds the time of boot."""
        return Instant(_booted_at() + self.started / _TICKS)


def parse_stat(pid: int, stat: bytes) -> Process:
    """Read ``/proc/PID/stat``. The command may hold spaces and parentheses: the last ``)`` ends it.

    >>> parse_stat(7, b"7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0").started
    4242
    """
    fields = stat[stat.rindex(b")") + 2 :].split(maxsplit=_STARTED + 1)
    return Process(pid=pid, session=int(fields[_SESSION]), started=int(fields[_STARTED]), state=fields[_STATE].decode())


def look(pid: int) -> Process | None:
    """Return the process that has this pid now; ``None``: there is none."""
    try:
        return parse_stat(pid, _read(f"/proc/{pid}/stat"))
    except (FileNotFoundError, ProcessLookupError):
        return None


def pids() -> Iterator[int]:
    """Yield every pid."""
    with os.scandir("/proc") as entries:
        yield from [int(entry.name) for entry in entries if entry.name.isdigit()]


def leaders(*, besides: Collection[int]) -> Iterator[int]:
    """Yield the session leaders of our user. Costs a call or two for each process: no file is opened."""
    for pid in pids():
        if pid not in besides and _session(pid) == pid and _ours(pid):
            yield pid


def census() -> Mapping[int, tuple[int, ...]]:
    """Return every pid, by session."""
    sessions: dict[int, list[int]] = {}
    for pid in pids():
        session = _session(pid)
        if session is not None:
            sessions.setdefault(session, []).append(pid)
    return {session: tuple(members) for session, members in sessions.items()}


def session(leader: Process, counted: Mapping[int, tuple[int, ...]]) -> tuple[Process, ...]:
    """Return the living processes of the leader's session, also after the leader itself is gone.

    The kernel does not reuse a session's number while the session exists. So a leader's pid with another start time
    proves that the whole session is gone.
    """
    now = look(leader.pid)
    if now is not None and now.started != leader.started:
        return ()
    seen = (look(pid) for pid in counted.get(leader.pid, ()))
    return tuple(process for process in seen if process is not None and process.alive)


def environment(pid: int, beginning: str = "") -> dict[str, str]:
    """Return the environment that a process started with; empty: it is gone, dying, or hides it.

    Only names with that ``beginning``: there are many processes, and few of their variables matter.
    """
    try:
        block = _read(f"/proc/{pid}/environ")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return {}
    first = os.fsencode(beginning)
    if first not in block:  # most processes of a machine are no members
        return {}
    pairs = (entry.partition(b"=") for entry in block.split(b"\0") if entry.startswith(first))
    return {os.fsdecode(name): os.fsdecode(value) for name, equals, value in pairs if equals}


def send(process: Process, number: signal.Signals) -> None:
    """Signal exactly this process; if it is gone already, that is success. A later process with its pid is never hit.

    Raises:
        PermissionError: it belongs to another user.
    """
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        now = look(process.pid)  # after opening, so that the comparison is with the handle's process
        if now is not None and now.started == process.started:
            signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return
    finally:
        os.close(handle)


@functools.cache
def boot() -> str:
    """Return an id that changes with every boot: start times count from it."""
    return _read("/proc/sys/kernel/random/boot_id").decode().strip()


@functools.cache
def _booted_at() -> int:
    for line in _read("/proc/stat").splitlines():
        if line.startswith(b"btime "):
            return int(line.split()[1])
    raise OSError("/proc/stat has no btime")


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def _ours(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.geteuid()  # noqa: PTH116 (as below)
    except (FileNotFoundError, ProcessLookupError):
        return False


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 (building a Path costs more than reading; thousands a listing)
        return file.readall()
