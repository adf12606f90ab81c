"""The store's rows of members, and the journal of their steps."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from typing import cast

from sqlalchemy import Connection, bindparam, insert, select, update

from config.units import BalancerId, CloudId, GroupId, Instant, MemberName
from handler.planning.garbage import Abandoned
from handler.planning.member_plans import OpenStep
from handler.planning.step_outcomes import StepResult
from handler.planning.world import Record
from handler.ports.stored import Creates, Event, MemberSpans, Served
from handler.store import rows
from handler.store.create_tally import Creation
from handler.store.schema import abandoned, members, steps
from handler.store.session import StoreSession, write_note
from handler.store.upserts import insert_or_ignore
from trigger.requests import GroupState

_ABANDONED = tuple(field.name for field in fields(Abandoned))
_ALL_ABANDONED = select(*(abandoned.c[name] for name in _ABANDONED)).order_by(abandoned.c.name)
_ABANDONED_OF_GROUP = select(abandoned.c.name).where(abandoned.c.group == bindparam("of"))
_ABANDON = insert_or_ignore(abandoned)


def read_abandoned(connection: Connection) -> tuple[Abandoned, ...]:
    """Read all abandoned pieces of garbage, by name."""
    return tuple(Abandoned(**dict(zip(_ABANDONED, row, strict=True))) for row in connection.execute(_ALL_ABANDONED))


def read_abandoned_of(connection: Connection, group: GroupId) -> frozenset[MemberName]:
    """Read the abandoned names of one group."""
    return frozenset(MemberName(name) for name in connection.execute(_ABANDONED_OF_GROUP, {"of": group}).scalars())


def write_abandoned(connection: Connection, what: Abandoned) -> None:
    """Write an abandoned piece; the first write holds."""
    _ABANDON.write(connection, {name: getattr(what, name) for name in _ABANDONED})


# Built once: putting a statement together takes about as long as running it.
_NEW_STEP = insert(steps)
_BEGIN_STEP = _NEW_STEP.returning(steps.c.id)
_OPEN_STEPS = (
    select(steps.c.id, steps.c.name, steps.c.member, steps.c.at)
    .where(steps.c.group == bindparam("of"), steps.c.result.is_(None))
    .order_by(steps.c.id)
)
_END_STEP = update(steps).where(steps.c.id == bindparam("row"))


_ENDS = (members.c.leaving_at, members.c.lost_at, members.c.gone_at)
_SERVED = select(members.c.in_service_at, *_ENDS).where(
    members.c.group == bindparam("of"), members.c.in_service_at < bindparam("end")
)


_SPANS = (
    select(members.c.profile, members.c.intended_at, members.c.in_service_at, members.c.drained_at, members.c.gone_at)
    .where(
        members.c.group == bindparam("of"),
        members.c.given.is_(False),
        members.c.made_at < members.c.in_service_at,  # those taken up as they served were made at that same instant
    )
    .order_by(members.c.in_service_at.desc(), members.c.sequence.desc())
    .limit(bindparam("newest"))
)


class MemberRows(StoreSession):
    """Records of members are intents, too: they are written before the call that makes them true."""

    def served(self, group: GroupId, begin: Instant, end: Instant) -> tuple[Served, ...]:
        """When the members were in service that were so between ``begin`` and ``end``."""
        with self._snapshot() as connection:
            found = connection.execute(_SERVED, {"of": group, "end": end}).all()
        times = [(entered, min((at for at in ends if at is not None), default=math.inf)) for entered, *ends in found]
        return tuple(Served(begin=Instant(first), end=Instant(last)) for first, last in times if last > begin)

    def member_spans(self, group: GroupId, newest: int) -> tuple[MemberSpans, ...]:
        """How long the newest members took that were made here and came into service, the newest first."""
        with self._snapshot() as connection:
            found = connection.execute(_SPANS, {"of": group, "newest": newest}).all()
        return tuple(
            MemberSpans(
                profile=profile,
                boot=entered - intended,
                drain=None if drained is None or gone is None else gone - drained,
            )
            for profile, intended, entered, drained, gone in found
        )

    def members(self, group: GroupId) -> tuple[Record, ...]:
        """Members that are not GONE, sorted by sequence."""

        def read() -> tuple[Record, ...]:
            with self._snapshot() as connection:
                return rows.read_members(connection, group)

        if self._closed:
            raise self._is_closed()
        return self._fleets.read(group, read)

    def gone(self, group: GroupId, names: Collection[MemberName]) -> Mapping[MemberName, Record]:
        """Return the last records of the members with these names that are GONE; retention deletes them in time."""
        with self._snapshot() as connection:
            return rows.read_gone(connection, group, names)

    def lower(self, act: Event, state: GroupState, leaving: Sequence[Record], cloud: CloudId) -> None:
        """Write leaving members, the lowered size and a line of history, in one transaction."""

        def write(connection: Connection) -> None:
            rows.write_members(connection, leaving, cloud)
            write_note(connection, act, state)

        self._writer.do(write)

    def last_sequence(self, group: GroupId) -> int:
        """Return the newest sequence ever used under this name; 0: none."""
        with self._snapshot() as connection:
            return rows.last_sequence(connection, group)

    def raise_sequence(self, group: GroupId, to: int) -> None:
        """Raise the group's sequence, so that none up to this one is used again."""
        self._writer.do(lambda connection: rows.raise_sequence(connection, group, to))

    def abandon(self, act: Event, what: Abandoned, ended: Sequence[Record]) -> None:
        """Write an abandoned piece, the end of its record and a line of history, in one transaction."""

        def write(connection: Connection) -> None:
            rows.write_members(connection, ended, what.cloud)
            write_abandoned(connection, what)
            write_note(connection, act, None)

        self._writer.do(write)

    def abandoned(self) -> tuple[Abandoned, ...]:
        """Return everything that was ever abandoned, sorted by name."""
        with self._snapshot() as connection:
            return read_abandoned(connection)

    def abandoned_of(self, group: GroupId) -> frozenset[MemberName]:
        """Return the abandoned names of one group."""
        with self._snapshot() as connection:
            return read_abandoned_of(connection, group)

    def intend(
        self,
        group: GroupId,
        cloud: CloudId,
        count: int,
        balancers: tuple[tuple[BalancerId, int], ...],
        at: Instant,
        profile: str | None = None,
    ) -> tuple[Record, ...]:
        """Mint ``count`` sequences and write INTENDED records under them, in one transaction, before any call."""

        def write(connection: Connection) -> tuple[Record, ...]:
            first = rows.last_sequence(connection, group) + 1
            records = tuple(
                replace(rows.intended(self._installation, group, sequence, balancers, at), profile=profile)
                for sequence in range(first, first + count)
            )
            rows.write_members(connection, records, cloud)
            return records

        return self._writer.do(write)

    def save(self, records: Sequence[Record], cloud: CloudId) -> None:
        """Insert or replace records, in one transaction; raise the group's sequence to theirs."""
        self._writer.do(lambda connection: rows.write_members(connection, records, cloud))

    def creates(self, group: GroupId, cloud: CloudId, now: Instant) -> Creates:
        """Return how much of the budgets is used."""

        def read(whose: GroupId | None) -> tuple[Creation, ...]:
            with self._snapshot() as connection:
                return rows.read_creations(connection, whose, now)

        return self._tally.counts(group, cloud, now, read)

    def begin_step(
        self, group: GroupId, name: str, member: MemberName | None, at: Instant, save: Sequence[Record], cloud: CloudId
    ) -> int:
        """Write a step's journal line, and the records that must be durable before it, in one transaction."""

        def write(connection: Connection) -> int:
            rows.write_members(connection, save, cloud)
            line = {"group": group, "name": name, "member": member, "at": at, "message": ""}
            return cast("int", connection.execute(_BEGIN_STEP, line).scalar_one())

        return self._writer.do(write)

    def end_step(
        self, step: int, result: StepResult, message: str, at: Instant, save: Sequence[Record], cloud: CloudId
    ) -> None:
        """Complete a step's journal line, and write the records that follow from it, in one transaction.

        Retention may have deleted the line; the records are written all the same.
        """

        def write(connection: Connection) -> None:
            rows.write_members(connection, save, cloud)
            connection.execute(_END_STEP, {"row": step, "result": result, "message": message, "ended_at": at})

        self._writer.do(write)

    def open_steps(self, group: GroupId) -> tuple[OpenStep, ...]:
        """Return the group's calls that were begun and not ended, oldest first."""
        with self._snapshot() as connection:
            found = connection.execute(_OPEN_STEPS, {"of": group})
            return tuple(OpenStep(line=row.id, call=row.name, member=row.member, at=row.at) for row in found)

    def note_steps(self, lines: Sequence[Event], save: Sequence[Record], cloud: CloudId) -> None:
        """Write the journal lines of steps without a call, and their records, in one transaction."""

        def write(connection: Connection) -> None:
            rows.write_members(connection, save, cloud)
            if lines:
                connection.execute(_NEW_STEP, [_step_line(line) for line in lines])

        self._writer.do(write)


def _step_line(line: Event) -> dict[str, object]:
    ended = line.at + (line.took or 0.0)
    step = {name: getattr(line, name) for name in ("group", "name", "at", "result", "message")}
    return step | {"member": line.by, "ended_at": ended}
