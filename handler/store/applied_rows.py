"""The store's row of the file that a person applied for all daemons over the store."""

from __future__ import annotations

from sqlalchemy import Column, Connection, Table, Text, func, literal, select, update

from handler.ports.declarations import SEALING, AppliedFile
from handler.store.columns import METADATA, NUMBER, SECONDS
from handler.store.rows import named
from handler.store.session import StoreSession
from handler.store.upserts import insert_or_update

applied_files = Table(
    "applied_files",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("revision", NUMBER, nullable=False),
    Column("at", SECONDS, nullable=False),
    Column("by", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("sealed", Text),
)
"""At most one row. ``sealed`` is NULL once the file was withdrawn: its revision is not given out again."""

_NAME = "fleet"
_WRITE = insert_or_update(applied_files)
_IN_FORCE = select(applied_files).where(applied_files.c.name == _NAME, applied_files.c.sealed.is_not(None))
LAST_REVISION = select(func.coalesce(func.max(applied_files.c.revision), literal(0))).where(
    applied_files.c.name == _NAME
)
"""Of the file that was applied last, whether it is in force or withdrawn; 0: none was ever applied."""
_SEALING = func.substr(applied_files.c.sealed, 1, SEALING)
STAMP_IN_FORCE = _IN_FORCE.with_only_columns(applied_files.c.revision, _SEALING)
"""Revision and `AppliedFile.sealing` of the file that is in force; no row: each machine's own is."""


def write_applied(connection: Connection, applied: AppliedFile) -> None:
    """Replace the file that was applied before."""
    row = {column: getattr(applied, column) for column in ("revision", "at", "by", "source", "sealed")}
    _WRITE.write(connection, {"name": _NAME, **row})


def read_applied(connection: Connection) -> AppliedFile | None:
    """Read the file that is in force; ``None``: each machine's own is."""
    row = connection.execute(_IN_FORCE).mappings().first()
    return None if row is None else AppliedFile(**named(row, leaving_out=("name",)))


class AppliedRows(StoreSession):
    """The file that was applied last."""

    def applied_file(self) -> AppliedFile | None:
        """Return the file that all daemons over the store go by; ``None``: each goes by its own."""
        with self._snapshot() as connection:
            return read_applied(connection)

    def last_applied(self) -> int:
        """Return the newest revision that was given out; 0: none was."""
        with self._snapshot() as connection:
            return int(connection.execute(LAST_REVISION).scalar_one())

    def save_applied_file(self, applied: AppliedFile) -> None:
        """Replace the sealed text of the revision that is in force."""
        self._writer.do(lambda connection: write_applied(connection, applied))

    def withdraw_applied_file(self) -> None:
        """Forget the text; the row keeps the revision."""
        self._writer.do(lambda connection: connection.execute(update(applied_files).values(sealed=None)))
