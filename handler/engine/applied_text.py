"""The text of an applied file: sealed for the store, and copied to the state directory of each machine.

The store never holds it in clear, since commands, environments and addresses in it may hold secrets. The copy is a file
like a machine's own (0600), so that whatever reads one, or points at its lines, reads the other.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from config.errors import Refused
from handler.ports.declarations import AppliedFile
from handler.runtime.ownership import write_private
from handler.sealing.boxes import RowName
from handler.sealing.seal import Seal


def sealed_for(seal: Seal, revision: int, text: str) -> str:
    """Encrypt the text of one revision. Raises `Refused`: there is no key."""
    return seal.seal(text, _row(revision))


def opened(applied: AppliedFile, seal: Seal) -> str:
    """Decrypt the text.

    Raises:
        Refused: this machine lacks the key.
        StoreError: it was altered.
    """
    if not seal.opens(applied.sealed):
        why = "" if seal.trouble is None else f" ({seal.trouble})"
        raise Refused(
            f"revision {applied.revision} of the declaration is sealed under a key that {seal.where} does not hold"
            f"{why}: copy that file from a machine that has it; if the key is lost, restart with --accept-file, and "
            "this machine's own file is in force again"
        )
    return seal.open(applied.sealed, _row(applied.revision))


def resealed(applied: AppliedFile, seal: Seal) -> AppliedFile:
    """Return the same revision, its text under the newest key. Raises as `opened`."""
    return replace(applied, sealed=sealed_for(seal, applied.revision, opened(applied, seal)))


def write_copy(copy: Path, text: str) -> None:
    """Replace this machine's copy of the text, whole or not at all.

    Raises:
        Refused: it cannot be written.
    """
    try:
        write_private(copy, text)
    except OSError as error:
        raise Refused(f"{copy} cannot be written: {error.strerror}") from error


def _row(revision: int) -> RowName:
    return "applied_files", "fleet", str(revision)
