"""The declaration on a worker's own machine, held against the one that the workers before it took.

Each machine has a copy of the file. A standby with another copy does not take over by itself: an older copy would let
groups go that are declared, or lower bounds, at a moment at which no person looks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from config.checks.workers import refuse_tied
from config.document.places import ParsedText
from config.document.statement import values_of
from config.errors import DeclarationError, Refused
from config.load import catalogue_of, read

_OWN = frozenset({"listen", "store"})
"""Sections that may differ from machine to machine."""


def declaration_digest(file: ParsedText) -> str:
    """Return a digest of what a file says, whatever its layout; sections about one machine do not count."""
    values = sorted((where, text) for where, text in values_of(file.data).items() if where[0] not in _OWN)
    return hashlib.sha256(json.dumps(values).encode("utf-8", "surrogatepass")).hexdigest()[:32]


class FileInForce:
    """The file that a holder goes by: its digest, made once for each file that is taken."""

    def __init__(self) -> None:
        self.file: Callable[[], ParsedText] | None = None
        """Returns it; ``None``: none has been taken yet."""
        self._known: tuple[ParsedText, str] | None = None

    def digest(self) -> str:
        """Return its digest; empty: none has been taken yet."""
        if self.file is None:
            return ""
        file = self.file()
        if self._known is None or self._known[0] is not file:
            self._known = file, declaration_digest(file)
        return self._known[1]


class OwnFile:
    """One machine's copy. It is read again when it has changed; calls block.

    Args:
        path: where it is.
        accepted: a person wants it to be taken, though it differs.
    """

    def __init__(self, path: Path, *, accepted: bool) -> None:
        self._path = path
        self._accepted = accepted
        self._stamp: tuple[int, int, int] | None = None
        self._digest = ""
        self._refused = ""

    def problem(self, taken: str) -> str:
        """Return why it may not be brought into force; empty: it may.

        Args:
            taken: digest of the file that the last holder took; empty: there was none.
        """
        self._look()
        if self._refused:
            return f"its file is refused: {self._refused}"
        if taken and self._digest != taken and not self._accepted:
            return (
                f"its {self._path} differs from the file in force: copy that one here, or restart this worker with "
                "--accept-file, so that it takes over with its own"
            )
        return ""

    def _look(self) -> None:
        try:
            found = self._path.stat()
            stamp = found.st_mtime_ns, found.st_size, found.st_ino
            if stamp == self._stamp:
                return
            parsed = read(self._path)
            refuse_tied(catalogue_of(parsed))
            self._stamp, self._digest, self._refused = stamp, declaration_digest(parsed), ""
        except (DeclarationError, Refused, OSError) as error:
            self._stamp, self._refused = None, str(error).partition("\n")[0]
