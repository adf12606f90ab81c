"""The audit trail of a running daemon: in the store first, then in the copy beside it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from config.errors import StoreError
from config.units import Instant
from handler import logs
from handler.identity.actors import AT_START
from handler.identity.audit import AuditEntry, AuditResult, AuditRow, entry_by
from handler.ports.identity import AuditStore
from handler.users.audit_file import AuditFile
from handler.users.trail_pages import Line, TrailPage, trail_page

_AT_ONCE = 500

_Waiting = tuple[AuditEntry, asyncio.Future[AuditRow]]


class AuditTrail:
    """Entries that wait at the same time share one transaction and one write of the copy.

    An entry counts once the store has it; the copy is completed from the store at the next start, if need be.
    """

    def __init__(self, store: AuditStore, copy: Path | None) -> None:
        self._store = store
        self._copy = None if copy is None else AuditFile(copy)
        self._last: AuditRow | None = None
        """The last row: of the store, or of the copy if that goes further."""
        self._copied = 0
        """The number of the last row of the copy."""
        self._is_behind = True
        """The end of the copy is not known: it has not been read yet, or a write failed."""
        self._queue: asyncio.Queue[_Waiting] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Complete the copy, and take entries.

        Raises:
            StoreError: the store or the copy cannot be read or written.
        """
        await asyncio.to_thread(self._complete_copy)
        self._task = asyncio.create_task(self._serve(), name="audit")

    async def stop(self) -> None:
        """Write the entries that wait, and take no more."""
        if self._task is None:
            return
        await self._queue.join()
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def began(self, at: Instant, outcome: str) -> None:
        """Write that the daemon has started, and what was edited in the file since the last time."""
        await self.write(entry_by(AT_START, at, "start", AuditResult.DONE, outcome=outcome))

    async def write(self, entry: AuditEntry) -> AuditRow:
        """Write an entry, and return its row once it is durable.

        Raises:
            StoreError: it could not be written.
        """
        if self._task is None or self._task.done():
            raise StoreError("the audit trail is closed: the daemon is starting or stopping")
        done: asyncio.Future[AuditRow] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((entry, done))
        return await done

    def post(self, entry: AuditEntry) -> None:
        """Have an entry written soon, without waiting for it."""
        self._queue.put_nowait((entry, asyncio.get_running_loop().create_future()))

    async def after(self, number: int, limit: int) -> Sequence[AuditRow]:
        """Return the rows after a number, oldest first. Raises `StoreError`."""
        return await asyncio.to_thread(self._store.audit_after, number, limit)

    async def page(self, before: int | None, limit: int, fits: Callable[[Line], bool]) -> TrailPage:
        """Return requests with their results, the newest first, as `trail_page`. Raises `StoreError`."""
        return await asyncio.to_thread(trail_page, self._store, before, limit, fits)

    async def _serve(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < _AT_ONCE and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            await self._write_all(batch)
            for _ in batch:
                self._queue.task_done()

    async def _write_all(self, batch: Sequence[_Waiting]) -> None:
        """Write a batch, and wake its callers with their rows or the error."""
        try:
            rows = await asyncio.to_thread(self._append, [entry for entry, _ in batch])
        except Exception as error:  # noqa: BLE001  # whatever it is, no caller may wait for ever
            logs.warn("audit_unwritten", rows=len(batch), error=str(error))
            for done in (done for _, done in batch if not done.done()):
                done.set_exception(error)
                done.exception()  # seen: nothing waits for an entry that was posted
            return
        for (_, done), row in zip(batch, rows, strict=True):
            if not done.done():
                done.set_result(row)

    def _append(self, entries: Sequence[AuditEntry]) -> Sequence[AuditRow]:
        rows = self._store.append_audit(entries, self._last)
        self._last = rows[-1]
        try:
            self._complete_copy()
        except StoreError as error:  # the rows are durable in the store, and the next ones bring them to the copy
            self._is_behind = True
            logs.warn("audit_copy_unwritten", error=str(error))
        return rows

    def _complete_copy(self) -> None:
        """Bring the rows to the copy that it lacks."""
        if self._copy is None:
            return
        if self._is_behind:
            self._look_at_copy(self._copy)
        while rows := self._store.audit_after(self._copied, _AT_ONCE):
            self._copy.append(rows)
            self._copied = rows[-1].number
            self._last = rows[-1]

    def _look_at_copy(self, copy: AuditFile) -> None:
        last, kept = copy.last(), self._store.last_audit()
        self._copied, self._is_behind = 0 if last is None else last.number, False
        if last is not None and (kept is None or kept.number < last.number):
            self._last = last
            logs.warn("audit_rows_missing", last=last.number, remedy="trimtab audit verify")
