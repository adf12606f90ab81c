"""Read history: decisions, steps and notes merged; the answers to requests."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, Table, and_, bindparam, literal_column, select, union_all

from config.units import GroupId, Instant, MemberName
from handler.ports.stored import EVERY_KIND, Event, EventKind, StoredAnswer
from handler.store.dialects import JsonItem, JsonRows
from handler.store.packed_events import packed_decisions, packed_size_changes
from handler.store.rows import named
from handler.store.schema import answers, decisions, every, notes, steps

_TABLES = {EventKind.STEP: steps, EventKind.DECISION: decisions, EventKind.NOTE: notes}


def _answers_asked() -> Select[Any]:
    given = JsonRows(bindparam("asked")).table_valued("value")
    group, request = (JsonItem(given.c.value, literal_column(index)) for index in ("0", "1"))
    return every(answers).select_from(given.join(answers, and_(answers.c.group == group, answers.c.request == request)))


_ANSWERS = _answers_asked()
"""Built once: every batch of alerts uses it."""


def read_events(
    connection: Connection,
    group: GroupId,
    *,
    before: Instant | None,
    limit: int,
    kinds: Collection[EventKind] = EVERY_KIND,
) -> tuple[Event, ...]:
    """The newest ``limit`` events of these kinds before an instant, newest first.

    Events of one instant stay together, so there may be a few more: a caller that continues before the last one's
    instant misses none.
    """
    tables = [table for kind, table in _TABLES.items() if kind in kinds]
    if limit < 1 or not tables:
        return ()
    end = math.inf if before is None else before
    instants = union_all(
        *(select(table.c.at).where(table.c.group == group, table.c.at < end) for table in tables)
    ).subquery()
    nth = select(instants.c.at).order_by(instants.c.at.desc()).limit(1).offset(limit - 1)
    floor = connection.execute(nth).scalar()
    events: list[Event] = []
    for table in tables:
        wanted = every(table).where(table.c.group == group, table.c.at < end)
        if floor is not None:
            wanted = wanted.where(table.c.at >= floor)
        rows = connection.execute(wanted.order_by(table.c.at.desc(), table.c.id.desc())).mappings()
        events.extend(_event(table, row) for row in rows)
        if table is decisions:
            packed = packed_decisions(connection, group, -math.inf if floor is None else floor, end, limit)
            events.extend(decision.event() for decision in packed)
    events.sort(key=lambda event: -event.at)
    return tuple(event for event in events if len(events) <= limit or event.at >= events[limit - 1].at)


def read_member_events(
    connection: Connection, group: GroupId, member: MemberName, *, since: Instant, limit: int
) -> tuple[Event, ...]:
    """The newest ``limit`` steps of a member, and notes whose text names it, from an instant on, newest first.

    With the member's first instant, only the group's rows since then are looked through.
    """
    own = every(steps).where(steps.c.group == group, steps.c.at >= since, steps.c.member == member)
    naming = every(notes).where(
        notes.c.group == group, notes.c.at >= since, notes.c.message.contains(member, autoescape=True)
    )
    newest = own.order_by(steps.c.at.desc(), steps.c.id.desc()).limit(limit)
    events = [_event(steps, row) for row in connection.execute(newest).mappings()]
    noted = connection.execute(naming.order_by(notes.c.at.desc(), notes.c.id.desc())).mappings()
    events.extend(islice((_event(notes, row) for row in noted if names(row["message"], member)), limit))
    events.sort(key=lambda event: -event.at)
    return tuple(events[:limit])


def names(text: str, member: MemberName) -> bool:
    """Tell whether a text names a member, and not only one whose name contains this one's.

    >>> member = MemberName("web-k3f9ab-1")
    >>> names("web-k3f9ab-1, to be replaced", member), names("web-k3f9ab-12", member), names("a-web-k3f9ab-1", member)
    (True, False, False)
    """
    return re.search(rf"(?<![\w-]){re.escape(member)}(?![\w-])", text) is not None


def read_size_changes(
    connection: Connection, since: Instant, limit: int, groups: Collection[GroupId] | None
) -> tuple[Event, ...]:
    """The newest decisions that changed a desired size, newest first; ``None``: those of all groups."""
    moved = decisions.c.desired_from != decisions.c.desired_to
    wanted = (
        every(decisions).where(decisions.c.at >= since, moved).order_by(decisions.c.at.desc(), decisions.c.id.desc())
    )
    if groups is not None:
        wanted = wanted.where(decisions.c.group.in_(groups))
    events = [_event(decisions, row) for row in connection.execute(wanted.limit(limit)).mappings()]
    events.extend(decision.event() for decision in packed_size_changes(connection, since, limit, groups))
    return tuple(sorted(events, key=lambda event: -event.at)[:limit])


def read_answer(connection: Connection, group: GroupId, request: str) -> StoredAnswer | None:
    """The first answer to a request id."""
    wanted = every(answers).where(answers.c.group == group, answers.c.request == request)
    row = connection.execute(wanted).mappings().first()
    return None if row is None else StoredAnswer(**named(row, leaving_out=("group",)))


def read_answers(
    connection: Connection, asked: Collection[tuple[GroupId, str]]
) -> Mapping[tuple[GroupId, str], StoredAnswer]:
    """The first answers to many request ids, where there is one; each is looked up by key, however many there are."""
    rows = connection.execute(_ANSWERS, {"asked": json.dumps(list(asked))}).mappings()
    return {(row["group"], row["request"]): StoredAnswer(**named(row, leaving_out=("group",))) for row in rows}


def _event(table: Table, row: RowMapping) -> Event:
    if table is steps:
        return _step(row)
    kind = EventKind.DECISION if table is decisions else EventKind.NOTE
    return Event(kind=kind, **named(row, leaving_out=("id",)))


def _step(row: RowMapping) -> Event:
    return Event(
        at=row["at"],
        group=row["group"],
        kind=EventKind.STEP,
        name=row["name"],
        by=row["member"] or "",
        result=row["result"],
        message=row["message"],
        took=None if row["ended_at"] is None else row["ended_at"] - row["at"],
    )
