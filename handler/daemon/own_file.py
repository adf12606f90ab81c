"""The declaration on a worker's own machine, held against the one that the workers before it took.

Each machine has a copy of the file. A standby with another copy does not take over by itself: an older copy would let
groups go that are declared, or lower bounds, at a moment at which no person looks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from config.checks.workers import bar_of, refuse_tied
from config.document.places import ParsedText
from config.errors import DeclarationError, Refused
from config.load import catalogue_of, read
from config.units import WorkerName
from handler.engine.file_digest import declaration_digest
from handler.leasing.workers import Looked


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


@dataclass
class Acceptance:
    """Whether a person wants this machine's own file to be in force, though others go by another one (--accept-file).

    It holds for one start: once this machine's file is in force, what is applied or taken later counts.
    """

    pending: bool


class OwnFile:
    """One machine's copy. It is read again when it has changed; calls block.

    Args:
        path: where it is.
        worker: the one of this machine, which takes over only with a file whose entries it reaches.
        applied: returns why this machine could not go on with a revision that was applied for all, sealed so; empty: it
            could.
        acceptance: this machine's file is to be taken, though it differs or another was applied.
    """

    def __init__(
        self, path: Path, worker: WorkerName, applied: Callable[[int, str], str], acceptance: Acceptance
    ) -> None:
        self._path = path
        self._worker = worker
        self._applied = applied
        self._acceptance = acceptance
        self._stamp: tuple[int, int, int] | None = None
        self._digest = ""
        self._refused = ""
        self._bar = ""

    def problem(self, seen: Looked) -> str:
        """Return why this machine could not go on with the file in force, by the lease as it was read; empty: it could.

        Once a file was applied for all workers, this machine's own does not count.
        """
        if seen.applied and not self._acceptance.pending:
            return self._applied(seen.applied, seen.sealing)
        self._look()
        if self._refused:
            return f"its file is refused: {self._refused}"
        if seen.declaration and self._digest != seen.declaration and not self._acceptance.pending:
            return (
                f"its {self._path} differs from the file in force: copy that one here, or restart this worker with "
                "--accept-file, so that it takes over with its own"
            )
        return self._bar

    def _look(self) -> None:
        try:
            found = self._path.stat()
            stamp = found.st_mtime_ns, found.st_size, found.st_ino
            if stamp == self._stamp:
                return
            parsed = read(self._path)
            catalogue = catalogue_of(parsed)
            refuse_tied(catalogue)
            self._bar = bar_of(catalogue, self._worker)
            self._stamp, self._digest, self._refused = stamp, declaration_digest(parsed), ""
        except (DeclarationError, Refused, OSError) as error:
            self._stamp, self._refused = None, str(error).partition("\n")[0]
