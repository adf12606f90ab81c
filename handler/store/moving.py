"""Copy all rows of a store into an empty one, and compare both. Functions run in their callers' transactions.

Rows are copied as they are stored, whatever they mean: every character of a text is the same on both sides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    Row,
    Select,
    Table,
    TypeDecorator,
    delete,
    func,
    insert,
    inspect,
    select,
)
from sqlalchemy.types import TypeEngine

import handler.store.sql_store  # noqa: F401 - with its parts every table is known
from config.errors import Refused, StoreError
from handler.store.columns import METADATA
from handler.store.revisions import MOVED
from handler.store.schema import HEAD, meta
from handler.store.upserts import insert_or_update

_AT_ONCE = 1000
_SAY_MOVED = insert_or_update(meta)

Tell = Callable[[int, int], None]
"""Is called with how many rows are copied, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedTable:
    """A table that was copied, as read from both sides."""

    rows: int
    digest: str
    """SHA-256 of all rows by primary key, hex."""


def copy_rows(source: Connection, target: Connection, tell: Tell) -> Mapping[str, CopiedTable]:
    """Copy every table, and compare both sides by count and digest.

    Raises:
        Refused: the target holds a store.
        StoreError: the source has a table that this release does not know, or what was written differs.
    """
    _refuse_unknown(source)
    plain = MetaData()
    tables = [_plain(table, plain) for table in METADATA.sorted_tables]
    _clear(target, tables)
    total, copied = sum(_count(source, table) for table in tables), dict[str, CopiedTable]()
    for table in tables:
        _copy(source, target, table)
        before, after = (_content(side, table, target.dialect.name) for side in (source, target))
        if before != after:
            raise StoreError(f"table {table.name} did not arrive whole ({after.rows} rows): nothing was moved")
        copied[table.name] = after
        tell(sum(each.rows for each in copied.values()), total)
    return copied


def mark_moved(source: Connection, to: str) -> None:
    """Have the store refused from now on: it is somewhere else."""
    _SAY_MOVED.write(source, {"name": MOVED, "value": to})


def _copy(source: Connection, target: Connection, table: Table) -> None:
    for rows in _parents_first(source, table):
        values = [dict(zip(table.c.keys(), _portable(row, target.dialect.name), strict=True)) for row in rows]
        target.execute(insert(table), values)
    _go_on_counting(target, table)


def _content(connection: Connection, table: Table, dialect: str) -> CopiedTable:
    digest, count = hashlib.sha256(), 0
    for rows in _slices(connection, table):
        for row in rows:
            digest.update(repr(_portable(row, dialect)).encode())
        count += len(rows)
    return CopiedTable(rows=count, digest=digest.hexdigest())


def _parents_first(source: Connection, table: Table) -> Iterator[Sequence[Row[Any]]]:
    """Yield all rows; in a table that refers to itself, no row before the one that it refers to."""
    keys = [key for key in METADATA.tables[table.name].foreign_keys if key.column.table.name == table.name]
    if not keys:
        yield from _slices(source, table)
        return
    to, of = (table.c.keys().index(column.name) for column in (keys[0].column, keys[0].parent))
    left, known = [row for rows in _slices(source, table) for row in rows], {None}
    while ready := [row for row in left if row[of] in known]:
        yield ready
        known |= {row[to] for row in ready}
        left = [row for row in left if row[to] not in known]


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def _slices(connection: Connection, table: Table) -> Iterator[Sequence[Row[Any]]]:
    wanted: Select[Any] = select(table).order_by(*table.primary_key)
    return connection.execute(wanted, execution_options={"yield_per": _AT_ONCE}).partitions()


def _portable(row: Row[Any], dialect: str) -> tuple[object, ...]:
    """Return the values as the target can hold them: texts of PostgreSQL have no NUL."""
    if dialect != "postgresql":
        return tuple(row)
    return tuple(value.replace("\0", "\ufffd") if isinstance(value, str) else value for value in row)


def _go_on_counting(target: Connection, table: Table) -> None:
    """Have the next id follow the copied ones; SQLite does so by itself."""
    column = table.autoincrement_column
    if target.dialect.name != "postgresql" or column is None:
        return
    last = target.execute(select(func.max(column))).scalar()
    counter = target.execute(select(func.pg_get_serial_sequence(f'"{table.name}"', column.name))).scalar()
    if last is not None and counter is not None:
        target.execute(select(func.setval(counter, last)))


def _plain(table: Table, metadata: MetaData) -> Table:
    """Return the table with the types that the database has, without our conversions."""
    columns = [Column(column.name, _stored(column.type), primary_key=column.primary_key) for column in table.columns]
    return Table(table.name, metadata, *columns)


def _stored(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    return kind.impl_instance if isinstance(kind, TypeDecorator) else kind


def _refuse_unknown(source: Connection) -> None:
    unknown = set(inspect(source).get_table_names()) - METADATA.tables.keys() - {"alembic_version"}
    if unknown:
        named = ", ".join(sorted(unknown))
        raise StoreError(f"the store has tables that this release (schema {HEAD}) does not know: {named}")


def _clear(target: Connection, tables: Sequence[Table]) -> None:
    """Delete what migrations and the first session leave in a new store."""
    owned = target.execute(select(meta.c.value).where(meta.c.name == "installation")).scalar()
    if owned is not None:
        raise Refused(f"the target holds the store of installation {owned}: empty it, or name another one")
    for table in reversed(tables):
        target.execute(delete(table))
