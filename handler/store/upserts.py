"""Statements for rows that may exist: insert-or-update and insert-or-ignore, for SQLite and for PostgreSQL.

Both databases have ``ON CONFLICT``; SQLAlchemy offers it in the dialects' own ``insert``. No other module imports a
dialect. Statements are built once for each dialect: putting one together takes about as long as running it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, CursorResult, Executable, Table, case, func
from sqlalchemy.dialects import postgresql, sqlite

_Insert = sqlite.Insert | postgresql.Insert
_INSERTS: Final[Mapping[str, Callable[[Table], _Insert]]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


class Upsert:
    """One statement, as each database has it; the connection's dialect chooses."""

    def __init__(self, table: Table, completed: Callable[[_Insert], Executable]) -> None:
        self._statements = {dialect: completed(insert(table)) for dialect, insert in _INSERTS.items()}

    def write(
        self, connection: Connection, rows: Mapping[str, object] | Sequence[Mapping[str, object]]
    ) -> CursorResult[Any]:
        """Write one row or several, by column key."""
        return connection.execute(self._statements[connection.dialect.name], rows)


def insert_or_ignore(table: Table) -> Upsert:
    """Insert rows; a row that exists, by any unique key, stays as it is."""
    return Upsert(table, lambda insert: insert.on_conflict_do_nothing())


def insert_or_update(
    table: Table,
    only: Collection[str] | None = None,
    *,
    rising: Collection[str] = (),
) -> Upsert:
    """Insert rows, and update the rows whose primary key exists.

    Args:
        table: the table of the rows.
        only: the columns that an update changes; ``None``: all but the primary key.
        rising: columns that an update never lowers (`greater`).
    """
    key = list(table.primary_key)
    changed = [column for column in table.c if (column not in key if only is None else column.key in only)]

    def completed(insert: _Insert) -> Executable:
        new = insert.excluded
        values: dict[Column[Any], ColumnElement[Any]] = {
            column: greater(column, new[column.key]) if column.key in rising else new[column.key] for column in changed
        }
        return insert.on_conflict_do_update(index_elements=key, set_=values)

    return Upsert(table, completed)


def greater(before: ColumnElement[Any], new: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return the greater of two values; where one of them is null, the other.

    SQLite has ``max``, PostgreSQL ``greatest``, and they differ about null.
    """
    return case((before > new, before), else_=func.coalesce(new, before))
