"""The output of member processes: a bounded file each, kept for a while after the member is gone."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path

from config.errors import Permanent, Transient
from config.units import MemberName

_KEPT = 100
"""How many logs of gone members are kept."""
_LARGEST = 16 << 20
"""Bytes; older output moves to a second file of that size."""
_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EIO})


class MemberLogs:
    """The files ``NAME.log``, and ``NAME.log.1`` of members with much output."""

    def __init__(self, directory: Path, largest: int = _LARGEST) -> None:
        self._directory = directory
        self._largest = largest

    def of(self, name: MemberName) -> Path:
        """Return a member's log file."""
        return self._directory / f"{name}.log"

    def open(self, name: MemberName) -> int:
        """Open a member's log to append; the caller closes the descriptor.

        Raises:
            Permanent: the file may not be written.
            Transient: the machine lacks room or descriptors.
        """
        log = self.of(name)
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            kind = Transient if error.errno in _SHORTAGES else Permanent
            raise kind(f"cannot write the log {log}: {error.strerror}; make it writable") from error

    def end_of(self, name: MemberName, most: int) -> bytes | None:
        """Return the last bytes of a member's output, those of before its log began anew included; ``None``: no log.

        Raises:
            Permanent: it cannot be read.
        """
        log = self.of(name)
        try:
            end = _end_of(log, most)
            with contextlib.suppress(FileNotFoundError):
                end = _end_of(_before(log), most - len(end)) + end
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Permanent(f"cannot read the log {log}: {error.strerror}") from error
        return end

    def trim(self, names: Iterable[MemberName]) -> None:
        """Restart logs that have grown too large.

        Members keep them open and append, so each is copied and emptied. Output between the two steps is lost, and on a
        full disk also the copy. A failure affects no member.
        """
        for name in names:
            log = self.of(name)
            with contextlib.suppress(OSError):
                if log.stat().st_size > self._largest:
                    self._begin_anew(log)

    def tidy(self, here: Collection[MemberName]) -> None:
        """Remove logs of gone members, except the newest."""
        with contextlib.suppress(OSError):  # a person may have removed one meanwhile; the next member tidies again
            ages = {path: path.stat().st_mtime for path in self._directory.glob("*.log") if path.stem not in here}
            for path in sorted(ages, key=ages.__getitem__)[:-_KEPT]:
                path.unlink(missing_ok=True)
                _before(path).unlink(missing_ok=True)

    def _begin_anew(self, log: Path) -> None:
        before = _before(log)
        try:
            before.touch(mode=0o600)
            shutil.copyfile(log, before)
        except OSError:
            before.unlink(missing_ok=True)
        os.truncate(log, 0)


def _end_of(path: Path, most: int) -> bytes:
    """Return at most so many bytes of a file's end, which may grow meanwhile."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - most, 0))
        return file.read(most)


def _before(log: Path) -> Path:
    return log.with_name(f"{log.name}.1")
