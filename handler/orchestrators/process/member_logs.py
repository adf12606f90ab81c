"""What member processes print: a file each, bounded, and kept for a while after they have gone."""

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
"""Logs of members that have gone."""
_LARGEST = 16 << 20
"""Bytes; what is more goes to another file of that size, which holds what came before."""
_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EIO})


class MemberLogs:
    """The files ``NAME.log``, and ``NAME.log.1`` of those that print much."""

    def __init__(self, directory: Path, largest: int = _LARGEST) -> None:
        self._directory = directory
        self._largest = largest

    def of(self, name: MemberName) -> Path:
        """Where a member prints."""
        return self._directory / f"{name}.log"

    def open(self, name: MemberName) -> int:
        """A descriptor to append to; the caller closes it.

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

    def trim(self, names: Iterable[MemberName]) -> None:
        """Begin those anew that have grown too large.

        Members hold them open and append, so they are copied and emptied. What is printed between the two is lost, and
        on a full disk also what would have been copied. Failing changes nothing for anybody.
        """
        for name in names:
            log = self.of(name)
            with contextlib.suppress(OSError):
                if log.stat().st_size > self._largest:
                    self._begin_anew(log)

    def tidy(self, here: Collection[MemberName]) -> None:
        """Remove those of members that have gone, but for the newest."""
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


def _before(log: Path) -> Path:
    return log.with_name(f"{log.name}.1")
