"""Starting programs and collecting those that ended. Children belong to this process, whichever driver started them."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

from config.causes import Cause
from config.errors import DriverError, Permanent, Transient
from config.model import ProcessRecipe
from handler.orchestrators import procfs

# Variables of our own that a member may see. Any other may hold a secret of Trimtab's.
_INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR")
# The machine is short of something: the recipe is not to blame.
_SHORTAGES = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EIO})

_children: dict[int, subprocess.Popen[bytes]] = {}
_lock = threading.Lock()


def start(recipe: ProcessRecipe, mark: Mapping[str, str], *, directory: Path, log: Path) -> procfs.Process:
    """Start a program in a session of its own with nothing of ours open; ``mark`` wins over the recipe's environment.

    Raises:
        Permanent: the recipe cannot work: no such command, no such directory, not executable.
        Transient: the machine lacks processes, memory, descriptors or room on disk.
    """
    where = Path(recipe.directory) if recipe.directory is not None else directory
    if not where.is_dir():
        raise Permanent(
            f"cannot start a member in {where}: not a directory; create it or correct the recipe's directory"
        )
    output = _open_log(log)
    try:
        child = subprocess.Popen(
            recipe.command,
            env={**_inherited(), **recipe.env, **mark},
            cwd=where,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _refused(recipe.command[0], error) from error
    finally:
        os.close(output)
    return _adopted(child)


def reap() -> None:
    """Collect those of our children that ended. Children that other code started are left to that code."""
    with _lock:
        for pid in [pid for pid, child in _children.items() if child.poll() is not None]:
            del _children[pid]


def _adopted(child: subprocess.Popen[bytes]) -> procfs.Process:
    with _lock:  # nobody reaps meanwhile: a child that has ended already is still there to be looked at
        _children[child.pid] = child
        process = procfs.look(child.pid)
    if process is None:
        raise Transient(f"process {child.pid} cannot be seen in /proc")
    return process


def _open_log(log: Path) -> int:
    try:
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        kind = Transient if error.errno in _SHORTAGES else Permanent
        raise kind(f"cannot write the log {log}: {error.strerror}; make it writable") from error


def _inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in _INHERITED or name.startswith("LC_")}


def _refused(command: str, error: OSError | ValueError) -> DriverError:
    if isinstance(error, FileNotFoundError):
        said = f"cannot start {command!r}: not found; install it, or give its full path in the recipe"
        return Permanent(said, cause=Cause.LAUNCH_CONFIGURATION)
    if isinstance(error, OSError) and error.errno in _SHORTAGES:
        return Transient(f"cannot start {command!r} now: {error.strerror}")
    because = error.strerror if isinstance(error, OSError) else str(error)
    return Permanent(f"cannot start {command!r}: {because}; correct the recipe", cause=Cause.LAUNCH_CONFIGURATION)
