"""Move older rows of history into blocks, a group per transaction, so that no other write waits long.

A row that another one of its group follows never changes again. So rows are read and packed beside the writer, and
only the exchange of rows for their block is a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    Connection,
    Delete,
    Row,
    RowMapping,
    Select,
    Table,
    Text,
    bindparam,
    cast,
    delete,
    func,
    insert,
    select,
)

from config.errors import StoreError
from config.units import GroupId, Seconds
from handler.store.block_schema import decision_blocks, given_blocks, span_blocks
from handler.store.columns import JsonColumn
from handler.store.row_blocks import pack
from handler.store.schema import decisions, every, givens, spans

Snapshot = Callable[[], AbstractContextManager[Connection]]
Do = Callable[[Callable[[Connection], int]], int]
"""Runs a function in a transaction of its own."""

LEAST = 8
"""Rows of a group that are worth a block."""
_ROWS = 288
"""Rows of a block, at most: a day of a group whose story changes every five minutes."""
_LASTS: Seconds = 86400.0
"""How long a block lasts, at most: retention deletes whole blocks, so at most a day late."""
_AT_ONCE = 1000
"""Rows that are read at once."""

_Found = Row[Any]
"""A row to pack: its id as ``place``, and the columns that are packed, documents as their JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedTable:
    """A table of history whose older rows are in blocks, with its statements, built once."""

    blocks: Table
    begins: str
    """The column with the instant from which a row counts."""
    ends: str
    """The column with the instant until which it does."""
    pending: Select[Any]
    """Groups with rows to pack, and the newest row of each, which stays."""
    older: Select[Any]
    """The rows of a group before a row."""
    newest: Select[Any]
    """The newest block of a group."""
    moved: Delete
    replaced: Delete


def _packed(rows: Table, blocks: Table, columns: Sequence[str], *, begins: str, ends: str) -> PackedTable:
    """Args: ``columns``: what a packed row has, in their order in the block."""
    values = [
        cast(rows.c[name], Text).label(name) if isinstance(rows.c[name].type, JsonColumn) else rows.c[name]
        for name in columns
    ]
    return PackedTable(
        blocks=blocks,
        begins=begins,
        ends=ends,
        pending=select(rows.c.group, func.max(rows.c.id)).group_by(rows.c.group).having(func.count() > LEAST),
        older=select(rows.c.id.label("place"), *values)
        .where(rows.c.group == bindparam("of"), rows.c.id < bindparam("last"))
        .order_by(rows.c.id)
        .limit(_AT_ONCE),
        newest=every(blocks).where(blocks.c.group == bindparam("of")).order_by(blocks.c.id.desc()).limit(1),
        moved=delete(rows).where(rows.c.id == bindparam("row")),
        replaced=delete(blocks).where(blocks.c.id == bindparam("row")),
    )


SPAN = ("first_at", "last_at", "ticks", "first", "least", "greatest")
DECISION = ("id", "at", "name", "by", "desired_from", "desired_to", "clamps", "message")
GIVEN = ("id", "at", "given")
PACKED = (
    _packed(spans, span_blocks, SPAN, begins="first_at", ends="last_at"),
    _packed(decisions, decision_blocks, DECISION, begins="at", ends="at"),
    _packed(givens, given_blocks, GIVEN, begins="at", ends="at"),
)


class _Block(NamedTuple):
    """A block to write."""

    onto: int | None
    """The block on disk that it continues."""
    columns: dict[str, object]


def pack_older(snapshot: Snapshot, do: Do) -> int:
    """Move older rows of groups that have `LEAST` of them into blocks; return how many."""
    moved = 0
    for table in PACKED:
        with snapshot() as connection:
            pending = [(group, last) for group, last in connection.execute(table.pending)]
        for group, last in pending:
            while some := _pack_some(table, snapshot, do, group, last):
                moved += some
    return moved


def _pack_some(table: PackedTable, snapshot: Snapshot, do: Do, group: GroupId, last: int) -> int:
    with snapshot() as connection:
        found = connection.execute(table.older, {"of": group, "last": last}).all()
        newest = connection.execute(table.newest, {"of": group}).mappings().first()
    if not found:
        return 0
    try:
        blocks = _blocks(table, group, found, newest)
    except StoreError:  # the newest block is damaged: it stays as it is, and is not continued
        blocks = _blocks(table, group, found, None)

    def exchange(connection: Connection) -> int:
        replaced = [{"row": block.onto} for block in blocks if block.onto is not None]
        if replaced:
            connection.execute(table.replaced, replaced)
        connection.execute(table.moved, [{"row": row.place} for row in found])
        connection.execute(insert(table.blocks), [block.columns for block in blocks])
        return len(found)

    return do(exchange)


def _blocks(table: PackedTable, group: GroupId, rows: Sequence[_Found], newest: RowMapping | None) -> list[_Block]:
    """Divide rows into blocks; the first may continue the newest one on disk."""
    parts: list[tuple[list[_Found], RowMapping | None]] = [([], newest)]
    for row in rows:
        if not _joins(table, row, *parts[-1]):
            parts.append(([], None))
        parts[-1][0].append(row)
    return [_block(table, group, some, onto) for some, onto in parts if some]


def _joins(table: PackedTable, row: _Found, some: Sequence[_Found], onto: RowMapping | None) -> bool:
    """Whether a row joins a block: rows begin in order, unless the clock was set back."""
    count = len(some) + (0 if onto is None else onto["rows"])
    if not count:
        return True
    begins, ends = getattr(row, table.begins), getattr(row, table.ends)
    first_at = getattr(some[0], table.begins) if onto is None else onto["first_at"]
    before = getattr(some[-1], table.begins) if some else begins if onto is None else onto["last_begun"]
    return bool(count < _ROWS and before <= begins and ends - first_at <= _LASTS)


def _block(table: PackedTable, group: GroupId, rows: Sequence[_Found], onto: RowMapping | None) -> _Block:
    last_at = max(getattr(row, table.ends) for row in rows)
    columns: dict[str, object] = {
        "group": group,
        "first_at": getattr(rows[0], table.begins) if onto is None else onto["first_at"],
        "last_begun": getattr(rows[-1], table.begins),
        "last_at": last_at if onto is None else max(last_at, onto["last_at"]),
        "rows": len(rows) + (0 if onto is None else onto["rows"]),
        "body": pack([row[1:] for row in rows], None if onto is None else onto["body"]),
    }
    if table.blocks is decision_blocks:
        columns["resized_at"] = _resized_at(rows, None if onto is None else onto["resized_at"])
    return _Block(None if onto is None else onto["id"], columns)


def _resized_at(decided: Sequence[_Found], before: float | None) -> float | None:
    """Return when the newest change of a desired size was decided, in these decisions or ``before``."""
    resized = [row.at for row in decided if is_resize(row.desired_from, row.desired_to)]
    return max(resized, default=before)


def is_resize(before: int | None, after: int | None) -> bool:
    """Whether a decision changed a desired size: the first one that a group has is no change."""
    return before is not None and after is not None and before != after
