"""Bring a file into force for every daemon over the store: checked whole, stored with its revision, followed by all."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from config.bounds import MOST_BYTES
from config.document.places import read_places
from config.errors import DeclarationError, Problem, Refused
from handler import logs
from handler.engine.applied_text import resealed, sealed_for, write_copy
from handler.engine.assembly import Reloaded, reloaded
from handler.engine.declared import Declaration, taken_again
from handler.engine.engine import Engine
from handler.engine.file_text import FileText
from handler.ports.declarations import AppliedFile
from handler.runtime.definitions import definitions, edited_by


class AppliedFiles:
    """Files that persons apply, one at a time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def apply(self, text: str, source: str, *, by: str, dry_run: bool = False) -> Reloaded:
        """Have every daemon over the store go by this text: all or nothing.

        The sealed text and the groups that it declares are written in one transaction, which is fenced like any other:
        a worker that takes over goes by the text before, or by this one.

        Args:
            text: of the whole file; its sections ``listen`` and ``store`` count for no machine.
            source: what the file is called where it is applied; problems name it.
            by: history and the audit trail keep the name.
            dry_run: only say what would change.

        Raises:
            Refused: nothing can be sealed, or this machine's copy cannot be written.
            StoreError: the store cannot be written, and what was in force stays so.
        """
        if len(text.encode()) > MOST_BYTES:
            raise Refused(f"{source} is longer than {MOST_BYTES // 1024 // 1024} MiB: divide it between two daemons")
        engine = self._engine
        async with engine.changing:
            before, now = engine.declared(), engine.parts.clock().wall
            try:
                after = await asyncio.to_thread(self._checked, text, before)
                if dry_run:
                    found = await asyncio.to_thread(edited_by, by, after.catalogue, engine.parts.store, self._copy)
                    return reloaded(before.catalogue, after.catalogue, found.edits)
                revision, sealed = await self._sealed(text, before)
                applied = AppliedFile(revision=revision, at=now, by=by, source=source, sealed=sealed)
                async with self._copied(text, before):
                    edits = await engine.take(replace(after, applied=applied), by=by)
            except DeclarationError as error:
                engine.reports.metrics.refused()
                return Reloaded(problems=self._named(error, source), added=(), changed=(), orphaned=(), edits=())
            await engine.ingest.hooks.reload()
        logs.say("file_applied", revision=applied.revision, source=source, by=by)
        return reloaded(before.catalogue, after.catalogue, edits, applied.revision)

    async def reseal(self) -> None:
        """Seal the text that is in force, if one was applied, under the newest key. The caller holds ``changing``.

        Raises:
            Refused: the key that it is sealed under is not known.
            StoreError: it cannot be read or written.
        """
        store, seal = self._engine.parts.store, self._engine.credentials.seal
        applied = await asyncio.to_thread(store.applied_file)
        if applied is not None:
            await asyncio.to_thread(store.save_applied_file, resealed(applied, seal))

    @property
    def _copy(self) -> Path:
        return self._engine.parts.applied_copy

    def _checked(self, text: str, before: Declaration) -> Declaration:
        """Judge the text as the file that would be in force. It blocks. Raises `DeclarationError`."""
        after = taken_again(read_places(text.removeprefix("\ufeff"), str(self._copy)), before)
        self._engine.parts.refuse_applied(after.catalogue)
        definitions(after.catalogue, self._engine.parts.store, self._copy)
        return after

    async def _sealed(self, text: str, before: Declaration) -> tuple[int, str]:
        """Return the next revision, and the text sealed for it. Raises as `apply`."""
        seal, store = self._engine.credentials.seal, self._engine.parts.store
        holds_secrets = before.applied is not None or bool(self._engine.credentials.key_pairs.pairs())
        await asyncio.to_thread(partial(seal.prepare, holds_secrets=holds_secrets))
        revision = await asyncio.to_thread(store.last_applied) + 1
        return revision, sealed_for(seal, revision, text)

    @contextlib.asynccontextmanager
    async def _copied(self, text: str, before: Declaration) -> AsyncIterator[None]:
        """Have the text in this machine's copy while the block brings it into force; if that fails, the one before."""
        there = None if before.applied is None else await asyncio.to_thread(FileText.of, self._copy)
        await asyncio.to_thread(write_copy, self._copy, text)
        try:
            yield
        except BaseException:
            if there is not None:
                await asyncio.to_thread(write_copy, self._copy, there.text)
            raise

    def _named(self, error: DeclarationError, source: str) -> tuple[Problem, ...]:
        """Return problems at the places of the file that the person has."""
        copy = str(self._copy)
        return tuple(replace(each, file=source) if each.file == copy else each for each in error.problems)
