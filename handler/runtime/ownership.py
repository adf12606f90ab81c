"""Check the owner of a state directory: refuse what another account could have read, changed or put there.

An account that can read the token can change sizes, and one that can write the store or the mark decides which
machines are deleted. Every refusal names the path, what was expected, and the command that puts it right.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from config.errors import Refused

_SECRET = 0o077
"""No other account may read or write it."""
_OURS = 0o022
"""No other account may write it."""
_FILES: Mapping[str, int] = MappingProxyType(
    {
        "token": _SECRET,
        "member-keys": _SECRET,
        "seal-key": _SECRET,
        "audit.jsonl": _SECRET,
        "installation": _OURS,
        "store.json": _OURS,
        "trimtab.sqlite": _OURS,
        "trimtab.sqlite-wal": _OURS,
        "trimtab.sqlite-shm": _OURS,
        "lock": _OURS,
    }
)
"""File of a state directory → the permissions that it must not have."""
_STRAY = frozenset({"lost+found"})
"""What a file system puts at its top by itself: a volume that is mounted for the state is empty all the same."""
_LARGEST = 64 * 1024


def take_directory(path: Path, *, shards: Collection[str] = ()) -> None:
    """Make a state directory if it is not there, and close it to other accounts, unless it is refused.

    Args:
        path: where it is.
        shards: names of state directories that may be in it.

    Raises:
        Refused: it is a symbolic link or no directory, it belongs to another account, it is open to others and holds
            files of which none is a state directory's, another account could put a directory of its own in its place,
            or a file in it belongs to or is open to others.
    """
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        _refuse_link(path)
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(f"state directory {path}: {error.strerror}; name another one with --state") from error
    try:
        found = os.fstat(handle)
        _refuse_owner(path, found)
        _refuse_other_use(path, found, shards)
        _refuse_unfit(path)
        os.fchmod(handle, 0o700)
    except OSError as error:
        raise Refused(f"state directory {path}: {error.strerror}; name another one with --state") from error
    finally:
        os.close(handle)
    _refuse_unfit(path)  # once more, now that no other account can put a file there


def read_private(path: Path, remedy: str) -> str | None:
    """Read a small text file of a state directory; ``None``: there is none. A symbolic link is not followed.

    Raises:
        Refused: it cannot be read, or it is no text; ends with the ``remedy``.
    """
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(_LARGEST).decode("utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}; {remedy}") from error
    except UnicodeDecodeError:
        raise Refused(f"{path} is not text; {remedy}") from None


def write_private(path: Path, text: str) -> None:
    """Write a small file with mode 0600 atomically, and onto the disk before this returns.

    Raises:
        OSError: it could not be written.
    """
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        rest = text.encode()
        while rest:  # of what a full disk has no room for, it takes a part without an error
            rest = rest[os.write(handle, rest) :]
        os.fsync(handle)
    finally:
        os.close(handle)
    draft.rename(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise Refused(
            f"state directory {path} is a symbolic link to {path.resolve()}, which can be pointed elsewhere: "
            f"name the directory itself with --state {path.resolve()}"
        )


def _refuse_owner(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        owner = _account(found.st_uid)
        raise Refused(
            f"state directory {path} belongs to {owner}, expected {_me()}, the account that runs Trimtab: run it as "
            f"{owner}, give the directory over with chown -R {_me()} {path}, or name another one with --state"
        )


def _refuse_other_use(path: Path, found: os.stat_result, shards: Collection[str]) -> None:
    """Refuse a directory that other accounts use: closing it would take it away from them."""
    if not found.st_mode & _SECRET:
        return
    names = {each.name for each in path.iterdir()} - _STRAY
    if names and names.isdisjoint({*_FILES, *shards}):
        raise Refused(
            f"{path} is not a state directory: it has mode {stat.S_IMODE(found.st_mode):04o} and holds other files, "
            f"such as {min(names)}; name an empty one with --state"
        )


def _refuse_unfit(path: Path) -> None:
    for refusal in (*_open_parents(path), *_unfit_files(path)):
        raise Refused(refusal)


def _open_parents(path: Path) -> Iterator[str]:
    """Return the directory above it that lets every account rename it and put another one in its place."""
    for parent in path.resolve().parents:
        mode = parent.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            yield (
                f"{parent} has mode {stat.S_IMODE(mode):04o}, so every account can put a state directory of its own in "
                f"the place of {path}: chmod o-w {parent}, or name a state directory elsewhere with --state"
            )


def _unfit_files(path: Path) -> Iterator[str]:
    for name, forbidden in _FILES.items():
        file = path / name
        try:
            found = file.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(found.st_mode):
            yield f"{file} is no regular file, expected one: put the file itself there"
        elif found.st_uid != os.geteuid():
            yield f"{file} belongs to {_account(found.st_uid)}, expected {_me()}: chown {_me()} {file}"
        elif found.st_mode & forbidden:
            yield _too_open(file, found.st_mode, forbidden)


def _too_open(file: Path, mode: int, forbidden: int) -> str:
    others = "read or change" if forbidden == _SECRET else "change"
    remedy = f"chmod 600 {file}"
    if file.name == "token":
        remedy += f"; if another account may have read it, rm {file} instead: the next start makes a new one"
    elif file.name == "member-keys":
        remedy += "; if another account may have read it, trimtab hook rotate-members after the start"
    elif file.name == "seal-key":
        remedy += "; if another account may have read it, trimtab seal rotate after the start"
    return f"{file} has mode {stat.S_IMODE(mode):04o}, expected 0600: other accounts can {others} it: {remedy}"


def _me() -> str:
    return _account(os.geteuid())


def _account(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
