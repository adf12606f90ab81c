"""Start programs and collect ended ones. They are children of this process, of any driver in it."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from config.causes import FailureCause
from config.errors import DriverError, Permanent, Transient
from config.model.catalogue import ProcessRecipe
from config.units import MemberName, Seconds
from handler.orchestrators.process import limits, procfs

# Trimtab's own variables that a member may see. Any other may hold a secret of Trimtab.
_INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR")
# The machine lacks a resource: the recipe is not the cause.
_SHORTAGES = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EIO})
_BEGINNING = str(Path(__file__).with_name("confinement.py"))
_WITHIN: Seconds = 10.0
"""Time for a program to begin on a busy machine."""
_ENDINGS_KEPT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A program that this process started for a member."""

    name: MemberName
    process: procfs.Process
    popen: subprocess.Popen[bytes]


_children: dict[int, Child] = {}
_endings: dict[tuple[MemberName, int, int], int] = {}
"""Exit statuses by name, pid and start time; the newest last."""
_lock = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldChild:
    """A process that waits for `run` before it becomes the member's program; it ends if Trimtab ends first."""

    child: Child
    recipe: ProcessRecipe
    channel: socket.socket
    """Our end of the pair that `handler.orchestrators.process.confinement` waits on."""

    @property
    def process(self) -> procfs.Process:
        """The process as it was when it appeared: the program will run under the same pid and start time."""
        return self.child.process

    def run(self) -> None:
        """Let it become the member's program; it has ended if this raises.

        Raises:
            Permanent: the recipe cannot work: no such command, not executable, limits out of reach.
            Transient: the machine lacks processes, memory or time.
        """
        report = _begun(self.channel)
        if report:
            _given_up(self.child)
            raise _why(self.recipe, report)


@contextmanager
def held(
    name: MemberName, recipe: ProcessRecipe, environment: Mapping[str, str], *, directory: Path, output: int
) -> Iterator[HeldChild]:
    """Start a process in a new session without our descriptors, and end it again if the block raises.

    A program must not run before a listing can find it after a crash. So the block first writes down which process
    it is, and then calls `HeldChild.run`.

    Args:
        name: the member.
        recipe: what to run, and within which limits.
        environment: its variables: the recipe's, with their secrets, and those that identify the member.
        directory: its working directory, unless the recipe names one.
        output: a descriptor for its output.

    Raises:
        Permanent: there is no such directory, or a value cannot be passed to a program.
        Transient: the machine lacks processes, memory, descriptors or room on disk.
    """
    where = Path(recipe.directory) if recipe.directory is not None else directory
    if not where.is_dir():
        raise Permanent(
            f"cannot start a member in {where}: not a directory; create it or correct the recipe's directory"
        )
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            child = _spawned(name, recipe, environment, where=where, output=output, report=theirs.fileno())
        try:
            yield HeldChild(child=child, recipe=recipe, channel=ours)
        except BaseException:
            _given_up(child)
            raise


def reap() -> None:
    """Collect our ended children. Children of other code are left to that code."""
    with _lock:
        for pid, child in [each for each in _children.items() if each[1].popen.poll() is not None]:
            del _children[pid]
            _endings[child.name, pid, child.process.started] = child.popen.returncode
        for key in [*_endings][:-_ENDINGS_KEPT]:
            del _endings[key]


def ended(name: MemberName, process: procfs.Process) -> bool:
    """Return whether this child has been collected; foreign children never are."""
    with _lock:
        return (name, process.pid, process.started) in _endings


def ending(name: MemberName) -> int | None:
    """Exit status of the child of this name that was collected last (negative: the signal); ``None``: not seen."""
    with _lock:
        return next((status for (whose, *_), status in reversed(_endings.items()) if whose == name), None)


def _spawned(
    name: MemberName, recipe: ProcessRecipe, environment: Mapping[str, str], *, where: Path, output: int, report: int
) -> Child:
    begin = (sys.executable, "-I", "-S", _BEGINNING, str(report), limits.spelt(recipe))
    try:
        child = subprocess.Popen(
            (*begin, *recipe.command),
            env={**_inherited(), **environment},
            cwd=where,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=(report,),
        )
    except (OSError, ValueError) as error:
        raise _unstartable(recipe.command[0], error) from error
    return _adopted(name, child)


def _adopted(name: MemberName, child: subprocess.Popen[bytes]) -> Child:
    with _lock:  # no thread reaps meanwhile: a child that has already ended is still visible
        process = procfs.look(child.pid)
        if process is None:
            raise Transient(f"process {child.pid} is not visible in /proc")
        _children[child.pid] = adopted = Child(name=name, process=process, popen=child)
    return adopted


def _begun(channel: socket.socket) -> str:
    """Let a held process go on; its error, or empty: it has become the member's program, or has ended."""
    channel.settimeout(_WITHIN)
    try:
        channel.sendall(b"\n")
        return channel.recv(200).decode()
    except TimeoutError:
        return f" {errno.EAGAIN}"
    except (BrokenPipeError, ConnectionResetError):
        return ""


def _given_up(child: Child) -> None:
    """Forget a child that did not begin: this is not the end of a member."""
    with _lock:
        _children.pop(child.process.pid, None)
        child.popen.kill()
        child.popen.wait()
        _endings.pop((child.name, child.process.pid, child.process.started), None)


def _inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in _INHERITED or name.startswith("LC_")}


def _why(recipe: ProcessRecipe, report: str) -> DriverError:
    what, _, number = report.rpartition(" ")
    if what:
        return limits.refused(recipe, what, int(number))
    return _refused(recipe.command[0], OSError(int(number), os.strerror(int(number))))


def _unstartable(command: str, error: OSError | ValueError) -> DriverError:
    """Return the error if no program at all can be started."""
    if isinstance(error, OSError) and error.filename == sys.executable:
        message = f"{sys.executable} is gone ({error.strerror}): restart Trimtab"
        return Transient(f"cannot start {command!r} now: {message}")
    return _refused(command, error)


def _refused(command: str, error: OSError | ValueError) -> DriverError:
    if isinstance(error, FileNotFoundError):
        message = f"cannot start {command!r}: not found; install it, or give its full path in the recipe"
        return Permanent(message, cause=FailureCause.LAUNCH_CONFIGURATION)
    if isinstance(error, OSError) and error.errno in _SHORTAGES:
        return Transient(f"cannot start {command!r} now: {error.strerror}")
    because = error.strerror if isinstance(error, OSError) else str(error)
    return Permanent(
        f"cannot start {command!r}: {because}; correct the recipe", cause=FailureCause.LAUNCH_CONFIGURATION
    )
