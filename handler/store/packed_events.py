"""Read decisions and their inputs that are packed in blocks."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, bindparam, select

from config.units import GroupId, Instant
from handler.ports.stored import Event, EventKind
from handler.store.block_schema import decision_blocks, given_blocks
from handler.store.codec import from_text
from handler.store.packing import is_resize
from handler.store.row_blocks import unpack
from trigger.requests import Clamp

_BLOCKS = (
    select(decision_blocks.c.id, decision_blocks.c.last_begun)
    .where(
        decision_blocks.c.group == bindparam("of"),
        decision_blocks.c.first_at < bindparam("end"),
        decision_blocks.c.last_begun >= bindparam("begin"),
    )
    .order_by(decision_blocks.c.last_begun.desc(), decision_blocks.c.id.desc())
)
_RESIZED = (
    select(decision_blocks.c.id, decision_blocks.c.group, decision_blocks.c.resized_at)
    .where(decision_blocks.c.resized_at >= bindparam("since"))
    .order_by(decision_blocks.c.resized_at.desc(), decision_blocks.c.id.desc())
)


class PackedDecision(NamedTuple):
    """A decision as a block has it (`handler.store.packing.DECISION`), and its group."""

    group: GroupId
    id: int
    at: Instant
    name: str
    by: str
    desired_from: int | None
    desired_to: int | None
    clamps: str
    """JSON."""
    message: str

    def event(self) -> Event:
        """Return the line of history."""
        return Event(
            at=self.at,
            group=self.group,
            kind=EventKind.DECISION,
            name=self.name,
            by=self.by,
            desired_from=self.desired_from,
            desired_to=self.desired_to,
            clamps=from_text(self.clamps, tuple[Clamp, ...]),
            message=self.message,
        )


class PackedGiven(NamedTuple):
    """The inputs of a decision as a block has them (`handler.store.packing.GIVEN`), and their group."""

    group: GroupId
    id: int
    at: Instant
    given: str
    """JSON."""


def packed_decisions(
    connection: Connection, group: GroupId, begin: float, end: float, limit: int
) -> list[PackedDecision]:
    """The newest ``limit`` packed decisions of a group in ``begin <= at < end``, newest first, or a few more."""
    found: list[PackedDecision] = []
    for block, newest in connection.execute(_BLOCKS, {"of": group, "begin": begin, "end": end}).all():
        if sum(decision.at > newest for decision in found) >= limit:
            break
        found.extend(each for each in _decisions(connection, group, block) if begin <= each.at < end)
    return sorted(found, key=_place, reverse=True)


def packed_size_changes(
    connection: Connection, since: Instant, limit: int, groups: Collection[GroupId] | None
) -> list[PackedDecision]:
    """The newest ``limit`` packed decisions that changed a desired size, newest first, or a few more."""
    found: list[PackedDecision] = []
    blocks = connection.execute(_RESIZED, {"since": since}).all()
    wanted = None if groups is None else frozenset(groups)
    for block, group, newest in blocks:
        if wanted is not None and group not in wanted:
            continue
        if sum(decision.at > newest for decision in found) >= limit:
            break
        decided = _decisions(connection, group, block)
        found.extend(each for each in decided if each.at >= since and is_resize(each.desired_from, each.desired_to))
    return sorted(found, key=_place, reverse=True)


def all_packed_decisions(connection: Connection) -> Iterator[PackedDecision]:
    """All packed decisions, oldest first."""
    return (PackedDecision(*row) for row in _in_order(connection, decision_blocks))


def all_packed_givens(connection: Connection) -> Iterator[PackedGiven]:
    """All packed inputs of decisions, oldest first."""
    return (PackedGiven(*row) for row in _in_order(connection, given_blocks))


def _place(decision: PackedDecision) -> tuple[float, int]:
    return decision.at, decision.id


def _decisions(connection: Connection, group: GroupId, block: int) -> Iterator[PackedDecision]:
    return (PackedDecision(group, *row) for row in _unpacked(connection, decision_blocks, block))


def _in_order(connection: Connection, blocks: Table) -> Iterator[tuple[Any, ...]]:
    """Yield the group and the values of each row by instant, group and id; those of a day are in memory at once."""
    begun: list[tuple[float, GroupId, int, tuple[Any, ...]]] = []
    wanted = select(blocks.c.id, blocks.c.group, blocks.c.first_at).order_by(blocks.c.first_at)
    for block, group, first_at in connection.execute(wanted).all():
        while begun and begun[0][0] < first_at:
            yield heapq.heappop(begun)[-1]
        for row in _unpacked(connection, blocks, block):
            number, at = row[:2]
            heapq.heappush(begun, (at, group, number, (group, *row)))
    while begun:
        yield heapq.heappop(begun)[-1]


def _unpacked(connection: Connection, blocks: Table, block: int) -> tuple[tuple[Any, ...], ...]:
    return unpack(connection.execute(select(blocks.c.body).where(blocks.c.id == block)).scalar_one())
