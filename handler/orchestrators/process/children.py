"""Start programs and collect ended ones. They are children of this process, of any driver in it."""

from __future__ import annotations

import errno
import os
import select
import subprocess
import sys
import threading
from collections.abc import Mapping
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


def start(
    name: MemberName, recipe: ProcessRecipe, mark: Mapping[str, str], *, directory: Path, output: int
) -> procfs.Process:
    """Start a program in a new session without our descriptors; ``mark`` overrides the recipe's environment.

    Args:
        name: the member.
        recipe: what to run, and within which limits.
        mark: variables that the recipe must not set.
        directory: its working directory, unless the recipe names one.
        output: a descriptor for its output.

    Raises:
        Permanent: the recipe cannot work: no such command, no such directory, not executable, limits out of reach.
        Transient: the machine lacks processes, memory, descriptors or room on disk.
    """
    where = Path(recipe.directory) if recipe.directory is not None else directory
    if not where.is_dir():
        raise Permanent(
            f"cannot start a member in {where}: not a directory; create it or correct the recipe's directory"
        )
    reading, report = os.pipe()
    try:
        child = _spawned(name, recipe, mark, where=where, output=output, report=report)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(report)
    try:
        said = _heard(reading)
    finally:
        os.close(reading)
    if said:
        _given_up(child)
        raise _why(recipe, said)
    return child.process


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
    name: MemberName, recipe: ProcessRecipe, mark: Mapping[str, str], *, where: Path, output: int, report: int
) -> Child:
    begin = (sys.executable, "-I", "-S", _BEGINNING, str(report), limits.spelt(recipe))
    try:
        child = subprocess.Popen(
            (*begin, *recipe.command),
            env={**_inherited(), **recipe.env, **mark},
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


def _heard(reading: int) -> str:
    """Return a starting program's error; empty: it has become the member's program, or has ended."""
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    if not poll.poll(_WITHIN * 1000):
        return f" {errno.EAGAIN}"
    return os.read(reading, 200).decode()


def _given_up(child: Child) -> None:
    """Forget a child that did not begin: this is not the end of a member."""
    with _lock:
        _children.pop(child.process.pid, None)
        child.popen.kill()
        child.popen.wait()
        _endings.pop((child.name, child.process.pid, child.process.started), None)


def _inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in _INHERITED or name.startswith("LC_")}


def _why(recipe: ProcessRecipe, said: str) -> DriverError:
    what, _, number = said.rpartition(" ")
    if what:
        return limits.refused(recipe, what, int(number))
    return _refused(recipe.command[0], OSError(int(number), os.strerror(int(number))))


def _unstartable(command: str, error: OSError | ValueError) -> DriverError:
    """Return the error if no program at all can be started."""
    if isinstance(error, OSError) and error.filename == sys.executable:
        said = f"{sys.executable} is gone ({error.strerror}): restart Trimtab"
        return Transient(f"cannot start {command!r} now: {said}")
    return _refused(command, error)


def _refused(command: str, error: OSError | ValueError) -> DriverError:
    if isinstance(error, FileNotFoundError):
        said = f"cannot start {command!r}: not found; install it, or give its full path in the recipe"
        return Permanent(said, cause=FailureCause.LAUNCH_CONFIGURATION)
    if isinstance(error, OSError) and error.errno in _SHORTAGES:
        return Transient(f"cannot start {command!r} now: {error.strerror}")
    because = error.strerror if isinstance(error, OSError) else str(error)
    return Permanent(
        f"cannot start {command!r}: {because}; correct the recipe", cause=FailureCause.LAUNCH_CONFIGURATION
    )
