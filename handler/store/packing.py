"""Move ended spans into blocks (`handler.store.span_blocks`), a group per transaction: no other write waits long.

A span that another one of its group follows never changes again. So rows are read and packed beside the writer, and
only the exchange of rows for their block is a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from sqlalchemy import Connection, Text, bindparam, cast, delete, func, insert, select

from config.units import GroupId, Seconds
from handler.store.schema import every, span_blocks, spans
from handler.store.span_blocks import SpanRow, pack

Snapshot = Callable[[], AbstractContextManager[Connection]]
Do = Callable[[Callable[[Connection], int]], int]
"""Runs a function in a transaction of its own."""

LEAST = 8
"""Ended spans of a group that are worth a block."""
_SPANS = 288
"""Spans of a block, at most: a day of a group whose story changes every five minutes."""
_LASTS: Seconds = 86400.0
"""How long a block lasts, at most: retention deletes whole blocks, so at most a day late."""
_ROWS = 1000
"""Rows that are read at once."""

_TEXTS = tuple(cast(spans.c[name], Text) for name in ("first", "least", "greatest"))
_ENDED = (
    select(spans.c.id, spans.c.first_at, spans.c.last_at, spans.c.ticks, *_TEXTS)
    .where(spans.c.group == bindparam("of"), spans.c.id < bindparam("last"))
    .order_by(spans.c.id)
    .limit(_ROWS)
)
_PENDING = select(spans.c.group, func.max(spans.c.id)).group_by(spans.c.group).having(func.count() > LEAST)
_NEWEST = every(span_blocks).where(span_blocks.c.group == bindparam("of")).order_by(span_blocks.c.id.desc()).limit(1)
_MOVED = delete(spans).where(spans.c.id == bindparam("row"))
_REPLACED = delete(span_blocks).where(span_blocks.c.id == bindparam("row"))


class _Block(NamedTuple):
    """A block to write."""

    rows: Sequence[SpanRow]
    onto: int | None
    """The block on disk that it continues."""
    columns: dict[str, object]


class _Newest(NamedTuple):
    """The newest block of a group, which more spans may join."""

    id: int
    first_at: float
    last_begun: float
    last_at: float
    spans: int
    body: bytes


def pack_ended(snapshot: Snapshot, do: Do) -> int:
    """Move ended spans of groups that have `LEAST` of them into blocks; return how many."""
    with snapshot() as connection:
        pending = [(group, last) for group, last in connection.execute(_PENDING)]
    packed = 0
    for group, last in pending:
        while moved := _pack_some(snapshot, do, group, last):
            packed += moved
    return packed


def _pack_some(snapshot: Snapshot, do: Do, group: GroupId, last: int) -> int:
    with snapshot() as connection:
        found = connection.execute(_ENDED, {"of": group, "last": last}).all()
        newest = connection.execute(_NEWEST, {"of": group}).mappings().first()
    if not found:
        return 0
    known = None if newest is None else _Newest(*(newest[name] for name in _Newest._fields))
    blocks = _blocks(group, [SpanRow(*row[1:]) for row in found], known)

    def exchange(connection: Connection) -> int:
        replaced = [{"row": block.onto} for block in blocks if block.onto is not None]
        if replaced:
            connection.execute(_REPLACED, replaced)
        connection.execute(_MOVED, [{"row": row.id} for row in found])
        connection.execute(insert(span_blocks), [block.columns for block in blocks])
        return len(found)

    return do(exchange)


def _blocks(group: GroupId, rows: Sequence[SpanRow], newest: _Newest | None) -> list[_Block]:
    """Divide rows into blocks; the first may continue the newest one on disk."""
    parts: list[tuple[list[SpanRow], _Newest | None]] = [([], newest)]
    for row in rows:
        if not _joins(row, *parts[-1]):
            parts.append(([], None))
        parts[-1][0].append(row)
    return [_block(group, some, onto) for some, onto in parts if some]


def _joins(row: SpanRow, some: Sequence[SpanRow], onto: _Newest | None) -> bool:
    """Whether a span joins a block: spans begin in order, unless the clock was set back."""
    count = len(some) + (0 if onto is None else onto.spans)
    if not count:
        return True
    first_at = some[0].first_at if onto is None else onto.first_at
    before = some[-1].first_at if some else row.first_at if onto is None else onto.last_begun
    return count < _SPANS and before <= row.first_at and row.last_at - first_at <= _LASTS


def _block(group: GroupId, rows: Sequence[SpanRow], onto: _Newest | None) -> _Block:
    last_at = max(row.last_at for row in rows)
    columns: dict[str, object] = {
        "group": group,
        "first_at": rows[0].first_at if onto is None else onto.first_at,
        "last_begun": rows[-1].first_at,
        "last_at": last_at if onto is None else max(last_at, onto.last_at),
        "spans": len(rows) + (0 if onto is None else onto.spans),
        "body": pack(rows, None if onto is None else onto.body),
    }
    return _Block(rows, None if onto is None else onto.id, columns)
