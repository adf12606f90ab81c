"""Delete old history, oldest first, a slice per transaction, so that no other write waits long.

What is packed goes by the block, which lasts a day at most (`handler.store.packing`).

Never deleted: state; members that are not GONE; the last span of a group (the one that a tick may extend, and that
explains a quiet group); the last notice of a group, and those to be sent; the last edit of the file that touched a
group; webhooks; the answer to an alert that is still repeated; by the disk budget also not other answers and steps
under way. A delivery may go by the budget, or a flood would fill the disk: whatever it fired still has its answer.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, Table, and_, delete, func, select, true, union_all
from sqlalchemy.sql import ColumnElement

from config.units import Instant, Seconds
from handler.planning.world import Phase
from handler.store.block_schema import decision_blocks, given_blocks, span_blocks
from handler.store.database import Database, translated
from handler.store.dialects import RowPlace
from handler.store.schema import (
    answers,
    decisions,
    deliveries,
    edits,
    givens,
    groups,
    members,
    notes,
    notices,
    spans,
    steps,
)
from handler.store.upserts import greater

Do = Callable[[Callable[[Connection], int]], int]
"""Runs a function in a transaction of its own."""

_SLICE = 2000
"""Rows deleted per transaction."""
_BLOCKS = 20
"""Blocks of a table deleted per transaction, if the disk budget is used up: each holds up to 288 rows."""
_BLOCK_TABLES = (span_blocks, decision_blocks, given_blocks)
_BUDGETS_LOOK_BACK: Seconds = 3600.0


def prune(do: Do, database: Database, before: Instant, bytes_at_most: int) -> int:
    """Delete by age, then by size, then release the space; return the rows deleted."""
    deleted = 0
    while rows := do(lambda connection: _delete_aged(connection, before)):
        deleted += rows
    while _bytes_used(database) > bytes_at_most and (rows := do(_delete_oldest)):
        deleted += rows
    while do(database.release):
        pass
    return deleted


def _bytes_used(database: Database) -> int:
    """Return the bytes in use. Read beside the writer: PostgreSQL has to add up the rows."""
    with translated(database), database.reading.connect() as connection:
        return database.bytes_used(connection)


def _delete_aged(connection: Connection, before: Instant) -> int:
    gone_at = greater(members.c.intended_at, members.c.gone_at)
    aged = [
        (spans, spans.c.last_at < before, _followed()),
        *((blocks, blocks.c.last_at < before, true()) for blocks in _BLOCK_TABLES),
        (decisions, decisions.c.at < before, true()),
        (givens, givens.c.at < before, true()),
        (steps, steps.c.at < before, true()),
        (notes, notes.c.at < before, true()),
        (edits, edits.c.at < before, _followed_edits()),
        (answers, answers.c.at < before, _not_repeated(before)),
        (deliveries, deliveries.c.last_at < before, true()),
        (notices, notices.c.at < before, _finished_notices()),
        (members, gone_at < before - _BUDGETS_LOOK_BACK, members.c.phase == Phase.GONE),
    ]
    left = _SLICE
    for table, old, free in aged:
        left -= _delete_some(connection, table, and_(old, free), left)
    return _SLICE - left


def _delete_oldest(connection: Connection) -> int:
    """Delete the oldest slice of history."""
    history = (
        (spans, spans.c.last_at, _followed()),
        *((blocks, blocks.c.last_at, true()) for blocks in _BLOCK_TABLES),
        (decisions, decisions.c.at, true()),
        (givens, givens.c.at, true()),
        (steps, steps.c.at, steps.c.result.is_not(None)),
        (notes, notes.c.at, true()),
        (edits, edits.c.at, _followed_edits()),
        (deliveries, deliveries.c.last_at, true()),
        (notices, notices.c.at, _finished_notices()),
    )
    oldest = union_all(
        *(
            select(select(at.label("at")).where(free).order_by(at).limit(_SLICE).subquery().c.at)
            for _, at, free in history
        )
    ).subquery()
    until = select(func.max(select(oldest.c.at).order_by(oldest.c.at).limit(_SLICE).subquery().c.at))
    newest_to_go = connection.execute(until).scalar()
    if newest_to_go is None:
        return 0
    for blocks in _BLOCK_TABLES:
        some = select(blocks.c.last_at).order_by(blocks.c.last_at).limit(1).offset(_BLOCKS - 1)
        newest_block = connection.execute(some).scalar()
        if newest_block is not None:
            newest_to_go = min(newest_to_go, newest_block)
    return sum(_delete_some(connection, table, and_(at <= newest_to_go, free), _SLICE) for table, at, free in history)


def _delete_some(connection: Connection, table: Table, where: ColumnElement[bool], limit: int) -> int:
    chosen = select(RowPlace()).select_from(table).where(where).limit(limit)
    return connection.execute(delete(table).where(RowPlace().in_(chosen))).rowcount


def _followed() -> ColumnElement[bool]:
    """Return the condition for spans that a later one of their group follows, or whose group is deleted."""
    other = spans.alias()
    last = select(func.max(other.c.id)).where(other.c.group == groups.c.id).scalar_subquery()
    return spans.c.id.not_in(select(func.coalesce(last, 0)).select_from(groups))


def _followed_edits() -> ColumnElement[bool]:
    """Return the condition for edits that a later one of the same group follows, or whose group is deleted."""
    last = select(func.max(edits.c.id)).where(edits.c.group.in_(select(groups.c.id))).group_by(edits.c.group)
    return edits.c.id.not_in(last)


def _not_repeated(since: Instant) -> ColumnElement[bool]:
    """Return the condition for answers to requests that no alert has repeated since: it would fire its policy again."""
    firing = select(deliveries.c.decision).where(deliveries.c.at < since, deliveries.c.last_at >= since)
    return answers.c.request.not_in(firing)


def _finished_notices() -> ColumnElement[bool]:
    """Return the condition for finished notices without a group, or with a later one of their kind and group."""
    kept = select(func.max(notices.c.number)).where(notices.c.group.in_(select(groups.c.id)))
    last = kept.group_by(notices.c.group, notices.c.kind)
    return and_(notices.c.next_at.is_(None), notices.c.number.not_in(last))
