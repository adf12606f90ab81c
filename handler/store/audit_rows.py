"""The store's rows of the audit trail: they are only ever added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sqlalchemy import Connection, Select, insert, inspect, select

from config.errors import Refused
from handler.identity.audit import AuditEntry, AuditRow, chained
from handler.store.access_schema import audit
from handler.store.beside import StoreSource, connected
from handler.store.session import StoreSession

_ROW = (audit.c.number, audit.c.line, audit.c.digest)
_LAST = select(*_ROW).order_by(audit.c.number.desc()).limit(1)


def add_rows(connection: Connection, entries: Sequence[AuditEntry], copied: AuditRow | None) -> tuple[AuditRow, ...]:
    """Chain entries to the last row: the store's, or that of the copy if the copy goes further."""
    last = _first(connection, _LAST)
    if copied is not None and (last is None or copied.number > last.number):
        last = copied
    rows = tuple(chained(last, entries))
    values = [
        {"number": row.number, "at": entry.at, "line": row.line, "digest": row.digest}
        for row, entry in zip(rows, entries, strict=True)
    ]
    connection.execute(insert(audit), values)
    return rows


def _first(connection: Connection, wanted: Select[tuple[int, str, str]]) -> AuditRow | None:
    found = connection.execute(wanted).first()
    return None if found is None else AuditRow(found.number, found.line, found.digest)


class AuditRows(StoreSession):
    """The audit trail."""

    def append_audit(self, entries: Sequence[AuditEntry], copied: AuditRow | None) -> tuple[AuditRow, ...]:
        """Add entries to the trail in one transaction, and return their rows."""
        return self._writer.do(lambda connection: add_rows(connection, entries, copied))

    def last_audit(self) -> AuditRow | None:
        """Return the last row; ``None``: there is none."""
        with self._snapshot() as connection:
            return _first(connection, _LAST)

    def audit_after(self, number: int, limit: int) -> tuple[AuditRow, ...]:
        """Return the rows after a number, oldest first."""
        wanted = select(*_ROW).where(audit.c.number > number).order_by(audit.c.number).limit(limit)
        with self._snapshot() as connection:
            return tuple(AuditRow(row.number, row.line, row.digest) for row in connection.execute(wanted))


def read_audit(source: StoreSource) -> Iterator[AuditRow]:
    """Yield the whole trail of a store, oldest first, beside a running daemon or without one.

    Raises:
        Refused: there is no store.
        StoreError: it cannot be read.
    """
    if isinstance(source, Path) and not source.is_file():
        raise Refused(f"there is no store {source}: name the state directory with --state")
    with connected(source) as connection:
        if not inspect(connection).has_table(audit.name):
            return  # an older release's store, which no daemon of this one has opened yet
        for row in connection.execute(select(*_ROW).order_by(audit.c.number)):
            yield AuditRow(row.number, row.line, row.digest)
