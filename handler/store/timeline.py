"""The complete history in the order of time: sizes, operations, and members that came into service and left.

Reads the file itself, beside a running daemon or without one, and changes nothing in it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    Text,
    cast,
    func,
    inspect,
    literal,
    null,
    select,
    text,
    union_all,
)

from config.errors import Refused
from config.units import GroupId, Instant, MemberName
from handler.store.beside import StoreSource, connected
from handler.store.packed_events import PackedDecision, PackedGiven, all_packed_decisions, all_packed_givens
from handler.store.schema import HEAD, decisions, givens, members, notes, steps

_AT_ONCE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEvent:
    """One line of the history of all groups."""

    at: Instant
    group: GroupId
    kind: str
    """``decision``, ``note``, ``step``, ``member`` (an instant in a member's record), or ``given``."""
    name: str
    """Reason, operation, step; for a member: intended, made, in_service, leaving, gone."""
    by: str
    """Cause and the person or program; for a member that leaves: the reason."""
    member: MemberName | None
    desired_from: int | None
    desired_to: int | None
    result: str | None
    message: str
    given: str | None = None
    """The inputs of a decision, as JSON (`trigger.explain.recorded_inputs`)."""


def read_timeline(source: StoreSource) -> Iterator[TimelineEvent]:
    """Yield all events, oldest first, with those of a day at most in memory.

    Raises:
        Refused: there is no store, or another release wrote it.
        StoreError: it cannot be read.
    """
    if isinstance(source, Path) and not source.exists():
        raise Refused(f"there is no store at {source}: name the state directory with --state")
    with connected(source) as connection:
        _require_head(connection, str(source) if isinstance(source, Path) else source.name)
        rows = connection.execute(_EVERYTHING, execution_options={"yield_per": _AT_ONCE}).mappings()
        packed = map(_decided, all_packed_decisions(connection)), map(_given_to, all_packed_givens(connection))
        yield from heapq.merge(*packed, (TimelineEvent(**row) for row in rows), key=_place)


def _require_head(connection: Connection, name: str) -> None:
    known = inspect(connection).has_table("alembic_version")
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar() if known else None
    if found != HEAD:
        raise Refused(f"store {name} is of another release (revision {found}, not {HEAD}): export with that one")


def _place(event: TimelineEvent) -> tuple[Instant, GroupId, str]:
    return event.at, event.group, event.kind


def _decided(decision: PackedDecision) -> TimelineEvent:
    return TimelineEvent(
        at=decision.at,
        group=decision.group,
        kind="decision",
        name=decision.name,
        by=decision.by,
        member=None,
        desired_from=decision.desired_from,
        desired_to=decision.desired_to,
        result=None,
        message=decision.message,
    )


def _given_to(packed: PackedGiven) -> TimelineEvent:
    return TimelineEvent(
        at=packed.at,
        group=packed.group,
        kind="given",
        name="",
        by="",
        member=None,
        desired_from=None,
        desired_to=None,
        result=None,
        message="",
        given=packed.given,
    )


def _lines(table: Table, kind: str) -> Select[Any]:
    columns = table.c
    return select(
        columns.at.label("at"),
        columns.group.label("group"),
        literal(kind).label("kind"),
        columns.name.label("name"),
        (columns.by if "by" in columns else literal("")).label("by"),
        (columns.member if "member" in columns else null()).label("member"),
        (columns.desired_from if "desired_from" in columns else null()).label("desired_from"),
        (columns.desired_to if "desired_to" in columns else null()).label("desired_to"),
        (cast(columns.result, Text) if "result" in columns else null()).label("result"),
        columns.message.label("message"),
        null().label("given"),
        columns.id.label("place"),
    )


def _lived(name: str, at: ColumnElement[Any], by: ColumnElement[Any]) -> Select[Any]:
    return select(
        at.label("at"),
        members.c.group.label("group"),
        literal("member").label("kind"),
        literal(name).label("name"),
        by.label("by"),
        members.c.name.label("member"),
        null().label("desired_from"),
        null().label("desired_to"),
        null().label("result"),
        literal("").label("message"),
        null().label("given"),
        members.c.sequence.label("place"),
    ).where(at.is_not(None))


def _given() -> Select[Any]:
    columns = givens.c
    return select(
        columns.at.label("at"),
        columns.group.label("group"),
        literal("given").label("kind"),
        literal("").label("name"),
        literal("").label("by"),
        null().label("member"),
        null().label("desired_from"),
        null().label("desired_to"),
        null().label("result"),
        literal("").label("message"),
        cast(columns.given, Text).label("given"),
        columns.id.label("place"),
    )


_NO_ACTOR = literal("")
_LIVES = (
    _lived("intended", members.c.intended_at, _NO_ACTOR),
    _lived("made", members.c.made_at, _NO_ACTOR),
    _lived("in_service", members.c.in_service_at, _NO_ACTOR),
    _lived("leaving", members.c.leaving_at, func.coalesce(cast(members.c.leaving, Text), "")),
    _lived("gone", members.c.gone_at, _NO_ACTOR),
)
_ALL = union_all(
    _lines(decisions, "decision"), _lines(notes, "note"), _lines(steps, "step"), _given(), *_LIVES
).subquery()
_EVERYTHING = select(*(column for column in _ALL.c if column.key != "place")).order_by(
    _ALL.c.at, _ALL.c.group, _ALL.c.kind, _ALL.c.place
)
