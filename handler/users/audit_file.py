"""The copy of the audit trail beside the store: one row a line, appended and never written anew."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from config.errors import StoreError
from handler.identity.audit import AuditRow, canonical

_AT_ONCE = 1 << 16


class AuditFile:
    """A file of mode 0600. Each line has a row and its digest, as JSON."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def last(self) -> AuditRow | None:
        """Return the last row, after cutting off a line that a crash left unfinished; ``None``: there is none.

        Raises:
            StoreError: the file cannot be read or written, or its last line is no row.
        """
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "r+b") as file:
                whole = _end_of_last_line(file.fileno())
                file.truncate(whole)
                line = _line_before(file.fileno(), whole)
        except OSError as error:
            raise self._unusable(error) from error
        if not line:
            return None
        row = _row(line)
        if row is None:
            raise StoreError(f"{self._path}: its last line is no row of an audit trail: move the file away")
        return row

    def append(self, rows: Sequence[AuditRow]) -> None:
        """Append rows. Raises `StoreError`."""
        text = "".join(f"{_line(row)}\n" for row in rows).encode()
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                while text:
                    text = text[os.write(handle, text) :]
            finally:
                os.close(handle)
        except OSError as error:
            raise self._unusable(error) from error

    def rows(self) -> Iterator[AuditRow | int]:
        """Yield every row in the order of lines; of a line that is none, its number.

        Raises:
            StoreError: the file cannot be read.
        """
        try:
            with self._path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    found = _row(line)
                    yield number if found is None else found
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> StoreError:
        return StoreError(f"audit trail {self._path}: {error.strerror}")


def written(rows: Iterable[AuditRow]) -> Iterator[str]:
    """Yield rows as lines of a copy."""
    return map(_line, rows)


def _line(row: AuditRow) -> str:
    return canonical({"row": dict(row.fields), "digest": row.digest})


def _row(line: bytes) -> AuditRow | None:
    try:
        read = json.loads(line)
        row, digest = read["row"], read["digest"]
        number = row["number"]
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(number, int) or not isinstance(digest, str):
        return None
    return AuditRow(number, canonical(row), digest)


def _end_of_last_line(handle: int) -> int:
    """Return the length of the whole lines."""
    end = os.fstat(handle).st_size
    while end > 0:
        start = max(0, end - _AT_ONCE)
        found = os.pread(handle, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _line_before(handle: int, end: int) -> bytes:
    """Return the whole line that ends there."""
    text = b""
    start = max(0, end - 1)
    while start > 0:
        begin = max(0, start - _AT_ONCE)
        part = os.pread(handle, start - begin, begin)
        found = part.rfind(b"\n")
        if found >= 0:
            return part[found + 1 :] + text
        text, start = part + text, begin
    return text
