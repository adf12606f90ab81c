"""A file that was applied for all daemons over the store, on this machine: whether it can be read, and its copy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from config.checks.workers import bar_of, refuse_unfit
from config.document.places import read_places
from config.errors import DeclarationError, Refused, StoreError
from config.load import catalogue_of
from config.model.catalogue import Catalogue
from config.units import WorkerName
from handler import logs
from handler.daemon.wiring import secret_reader
from handler.engine.applied_text import opened, write_copy
from handler.ports.declarations import AppliedFile, AppliedStore
from handler.runtime.directory import StateDirectory
from handler.sealing.key_sources import OwnKeyFile, ReferredKey
from handler.sealing.seal import Seal


def own_seal(own: Catalogue, directory: StateDirectory) -> Seal:
    """Return the seal whose key is where this machine's own file says. It blocks while a vault is asked."""
    if own.seal is None:
        seal = Seal(OwnKeyFile(directory.seal_key))
    else:
        secrets = secret_reader()
        secrets.use(own)
        seal = Seal(ReferredKey(own.seal, secrets))
    seal.load()
    return seal


def brought_here(
    store: AppliedStore, own: Catalogue, directory: StateDirectory, *, accepts_own: bool
) -> AppliedFile | None:
    """Return the file that was applied, its text in this machine's copy; ``None``: this machine's own is in force.

    Args:
        store: of this daemon, which may write it.
        own: this machine's own file.
        directory: where the copy is.
        accepts_own: a person wants this machine's own file to be in force instead, on every machine.

    Raises:
        Refused: the key is not here, or the copy cannot be written.
        StoreError: the store cannot be read or written, or the text was altered.
    """
    applied = store.applied_file()
    if applied is None:
        return None
    if accepts_own:
        store.withdraw_applied_file()
        logs.warn("applied_file_withdrawn", revision=applied.revision, by="--accept-file")
        return None
    write_copy(directory.applied, opened(applied, own_seal(own, directory)))
    logs.say("applied_file_in_force", revision=applied.revision, source=applied.source, by=applied.by)
    return applied


KeyStamp: TypeAlias = tuple[int, int, int] | None
"""What changes with a file that holds a key; ``None``: there is no such file."""


class AppliedProblems:
    """Why a standby could not go on with the applied file. What is known is not looked at again while nothing changes.

    What may change is the revision, the key that it is sealed under, and the file that holds the keys of this machine.
    A key in a vault is read again only when the text is sealed anew.

    Args:
        read: returns the file that is in force; it blocks.
        own: this machine's own file.
        directory: where the key of the seal is, unless the file refers to another.
        worker: the one of this machine, which takes over only with a file whose entries it reaches.
    """

    def __init__(
        self, read: Callable[[], AppliedFile | None], own: Catalogue, directory: StateDirectory, worker: WorkerName
    ) -> None:
        self._read, self._own, self._directory, self._worker = read, own, directory, worker
        self._known: tuple[tuple[int, str, KeyStamp], str] | None = None
        """What was found to be in order, and why this worker is none of those that reach all of it."""

    def problem(self, revision: int, sealing: str) -> str:
        """Return why this machine could not go on with this revision, sealed so; empty: it could. It blocks."""
        key = self._key_stamp()
        if self._known is not None and self._known[0] == (revision, sealing, key):
            return self._known[1]
        try:
            applied = self._read()
            if applied is None:
                return ""
            self._known = (applied.revision, applied.sealing, key), self._bar(applied)
        except (DeclarationError, Refused, StoreError) as error:
            return f"it cannot go on with the file that was applied: {str(error).partition(chr(10))[0]}"
        return self._known[1]

    def _key_stamp(self) -> KeyStamp:
        ref = self._own.seal
        file = self._directory.seal_key if ref is None else None if ref.file is None else Path(ref.file)
        try:
            found = None if file is None else file.stat()
        except OSError:
            return None
        return None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)

    def _bar(self, applied: AppliedFile) -> str:
        text = opened(applied, own_seal(self._own, self._directory))
        catalogue = catalogue_of(read_places(text.removeprefix("\ufeff"), f"revision {applied.revision}"))
        refuse_unfit(catalogue, self._own.seal, of_workers=True)
        return bar_of(catalogue, self._worker)
