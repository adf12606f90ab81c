"""The part of the SQLite store that remembers edits of the file."""

from __future__ import annotations

from config.document.statement import Statement
from config.units import GroupId
from handler.ports.store import GroupEdit
from handler.store.editing import read_edits, read_statement
from handler.store.session import Session


class EditRows(Session):
    """The file as it was taken last, and what was edited for each group."""

    def statement(self) -> Statement | None:
        """What the file said that was taken last."""
        with self._snapshot() as connection:
            return read_statement(connection)

    def edits(self, group: GroupId, limit: int) -> tuple[GroupEdit, ...]:
        """The newest edits of the file that touched a group, newest first."""
        with self._snapshot() as connection:
            return read_edits(connection, group, limit)
