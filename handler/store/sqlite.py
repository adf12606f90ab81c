"""The store on SQLite: one writer with group commit, readers that wait for nobody.

Implements `handler.store.interface.Store`. The file is its owner's alone (mode 0600). Who may open it is not decided
here: the daemon holds the state directory.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection, Engine, bindparam, delete, update
from sqlalchemy.dialects.sqlite import insert

from config.errors import StoreError
from config.notices import NotifyTarget
from config.units import AlertId, BalancerId, CloudId, GroupId, HookId, Instant, MemberName
from handler.desired import Definition
from handler.notices import Filed, Notice, Tried
from handler.steps import Result
from handler.store import alerts, fleet, history, outbox, retention, rows
from handler.store.database import checkpoint, reader_engine, translated, writer_engine
from handler.store.interface import (
    EVERY_KIND,
    Creates,
    Delivery,
    Event,
    EventKind,
    Span,
    StoredAnswer,
    StoredGroup,
    StoredHook,
    Tick,
)
from handler.store.kept import Kept
from handler.store.ownership import claimed
from handler.store.recording import Recorder
from handler.store.revisions import create_file, to_head
from handler.store.schema import groups, notes, steps
from handler.store.writer import Writer
from handler.world import Record
from trigger.requests import FleetPause, GroupState

# Built once: putting a statement together takes about as long as running it.
_NEW_STEP = insert(steps)
_END_STEP = update(steps).where(steps.c.id == bindparam("row"))


class _Fleets(Kept[GroupId, tuple[Record, ...]]):
    """The members of each group, as they were read last."""


class SqliteStore:
    """The one place that remembers; `open` makes one."""

    def __init__(
        self, path: Path, installation: str, writer: Writer, reading: Engine, recorder: Recorder, fleets: _Fleets
    ) -> None:
        self._path = path
        self._installation = installation
        self._writer = writer
        self._reading = reading
        self._recorder = recorder
        self._fleets = fleets
        self._closed = False

    @classmethod
    def open(cls, path: Path, *, installation: str) -> SqliteStore:
        """Open the store at ``path``; create it, or bring an older release's up to date (a copy is made first).

        Args:
            path: the file; its directory must be there.
            installation: whose store it is: the part of every launch id that tells installations apart.

        Raises:
            Refused: a newer release wrote it, or it belongs to another installation.
            StoreError: it is damaged, no store at all, or cannot be opened.
        """
        with translated(path), contextlib.ExitStack() as undo:
            create_file(path)
            to_head(path)
            reading = reader_engine(path)
            undo.callback(reading.dispose)
            fleets = _Fleets()
            writer = Writer(writer_engine(path), path, lambda info: fleets.forget(rows.touched(info)))
            writer.start()
            undo.callback(writer.close)
            first_id = writer.do(lambda connection: claimed(connection, path, installation))
            undo.pop_all()
        recorder = Recorder(writer, itertools.count(first_id).__next__)
        return cls(path, installation, writer, reading, recorder, fleets)

    def close(self) -> None:
        """Flush and close. Later calls raise `StoreError`."""
        if self._closed:
            return
        try:
            self._recorder.flush()
        finally:
            self._closed = True
            self._reading.dispose()
            self._writer.close()

    # Groups

    def groups(self) -> tuple[StoredGroup, ...]:
        """Every group ever declared and not deleted, sorted by id."""
        with self._snapshot() as connection:
            return tuple(_seen_until_its_last_tick(connection, stored) for stored in rows.read_groups(connection))

    def declare(self, definitions: Sequence[Definition], at: Instant) -> None:
        """Write the declared groups in one transaction: new ones have no desired size, all others become ORPHANED.

        Groups that are there keep their state; who comes, goes or returns is noted in its history.
        """
        self._writer.do(lambda connection: rows.declare(connection, definitions, at))

    def fleet_pause(self) -> FleetPause | None:
        """What is stopped in all groups."""
        with self._snapshot() as connection:
            return fleet.read_fleet_pause(connection)

    def save_fleet_pause(self, pause: FleetPause | None, act: str, by: str, message: str, at: Instant) -> None:
        """Write it down, and a line in the history of every group, in one transaction."""

        def write(connection: Connection) -> None:
            fleet.write_fleet_pause(connection, pause)
            fleet.note_everywhere(connection, act, by, message, at)

        self._writer.do(write)

    def save_builds(self, group: GroupId, failed_builds: int, back_off_until: Instant | None) -> None:
        """Write down how builds go."""
        self._alter(group, {"failed_builds": failed_builds, "back_off_until": back_off_until})

    def mark_deleting(self, group: GroupId) -> None:
        """The group is to be emptied and forgotten."""
        self._alter(group, {"deleting": True})

    def drop_group(self, group: GroupId) -> None:
        """Forget a group and its members; its history stays until retention, its sequence for ever."""

        def drop(connection: Connection) -> None:
            outbox.forget_told(connection, group)
            connection.execute(delete(groups).where(groups.c.id == group))
            rows.touch(connection, group)

        self._recorder.forget(group, drop)

    # Decisions

    def record(self, ticks: Sequence[Tick]) -> None:
        """Write ticks: new states, decisions and answers at once, spans run-length. One transaction."""
        if self._closed:
            raise self._is_closed()
        self._recorder.record(ticks)

    def flush(self) -> None:
        """Write spans that were only extended in memory."""
        if self._closed:
            raise self._is_closed()
        self._recorder.flush()

    def answered(self, group: GroupId, request: str) -> StoredAnswer | None:
        """What was answered to this request id, if it was ever asked."""
        with self._snapshot() as connection:
            return history.read_answer(connection, group, request)

    def answers_to(self, asked: Collection[tuple[GroupId, str]]) -> Mapping[tuple[GroupId, str], StoredAnswer]:
        """What was answered to each of these (group, request id), where it was ever asked."""
        with self._snapshot() as connection:
            return history.read_answers(connection, asked)

    # Alerts from outside

    def hooks(self) -> tuple[StoredHook, ...]:
        """Every webhook ever made, revoked ones too, sorted by name."""
        with self._snapshot() as connection:
            return alerts.read_hooks(connection)

    def save_hook(self, hook: StoredHook) -> None:
        """Write a webhook whole (insert or replace); its last use only ever moves forward."""
        self._writer.do(lambda connection: alerts.write_hook(connection, hook))

    def use_hooks(self, used: Mapping[HookId, Instant]) -> None:
        """Write down when webhooks were last used, in one transaction; those that are not there are left out."""
        self._writer.do(lambda connection: alerts.write_uses(connection, used))

    def deliver(self, deliveries: Sequence[Delivery]) -> tuple[Delivery, ...]:
        """Write down what was told, in one transaction; what was told before keeps its first decision."""
        return self._writer.do(lambda connection: alerts.write_deliveries(connection, deliveries))

    def delivered(self, group: GroupId, alert: AlertId, fingerprint: str) -> tuple[Delivery, ...]:
        """What was ever told of one alert, until retention; the latest start first, FIRING before RESOLVED."""
        with self._snapshot() as connection:
            return alerts.read_deliveries(connection, group, alert, fingerprint)

    # Notices

    def file_notices(self, filed: Sequence[Filed]) -> None:
        """Write down what is to be told, due at once, in one transaction: from then on it counts as told."""
        self._writer.do(lambda connection: outbox.write_notices(connection, filed))

    def last_notices(self) -> tuple[Notice, ...]:
        """What was written down last of each group that is there, sorted by group; retention keeps it."""
        with self._snapshot() as connection:
            return outbox.read_last(connection)

    def due_notices(self, now: Instant, limit: int, *, besides: Sequence[NotifyTarget] = ()) -> tuple[Filed, ...]:
        """The oldest that are due, in the order in which they were written; none for the targets in ``besides``."""
        with self._snapshot() as connection:
            return outbox.read_due(connection, now, limit, besides)

    def notice_tried(self, id: str, tried: Tried) -> None:
        """Write down an attempt, and in the same transaction, if there will be no other, a line of history."""
        self._writer.do(lambda connection: outbox.write_tried(connection, id, tried))

    # Members

    def members(self, group: GroupId) -> tuple[Record, ...]:
        """Members that are not GONE, sorted by sequence."""

        def read() -> tuple[Record, ...]:
            with self._snapshot() as connection:
                return rows.read_members(connection, group)

        if self._closed:
            raise self._is_closed()
        return self._fleets.read(group, read)

    def gone(self, group: GroupId, names: Collection[MemberName]) -> frozenset[MemberName]:
        """Which of these names are remembered as GONE; retention forgets them in time."""
        with self._snapshot() as connection:
            return rows.read_gone(connection, group, names)

    def lower(self, act: Event, state: GroupState, leaving: Sequence[Record], cloud: CloudId) -> None:
        """Write down who leaves together with the size that follows them, and why, in one transaction."""

        def write(connection: Connection) -> None:
            rows.write_members(connection, leaving, cloud)
            _write_note(connection, act, state)

        self._writer.do(write)

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
        """Write records whole (insert or replace), in one transaction; raises the group's sequence to theirs."""
        self._writer.do(lambda connection: rows.write_members(connection, records, cloud))

    def creates(self, group: GroupId, cloud: CloudId, now: Instant) -> Creates:
        """How much of the budgets is used."""
        with self._snapshot() as connection:
            return rows.count_creates(connection, group, cloud, now)

    # History

    def begin_step(
        self, group: GroupId, name: str, member: MemberName | None, at: Instant, save: Sequence[Record], cloud: CloudId
    ) -> int:
        """Write a step's journal line, and the records that must be durable before it, in one transaction."""

        def write(connection: Connection) -> int:
            rows.write_members(connection, save, cloud)
            line = {"group": group, "name": name, "member": member, "at": at, "message": ""}
            return int(connection.execute(_NEW_STEP, line).lastrowid)

        return self._writer.do(write)

    def end_step(
        self, step: int, result: Result, message: str, at: Instant, save: Sequence[Record], cloud: CloudId
    ) -> None:
        """Complete a step's journal line, and write the records that follow from it, in one transaction.

        The line may be gone by retention; the records are written all the same.
        """

        def write(connection: Connection) -> None:
            rows.write_members(connection, save, cloud)
            connection.execute(_END_STEP, {"row": step, "result": result, "message": message, "ended_at": at})

        self._writer.do(write)

    def note_steps(self, lines: Sequence[Event], save: Sequence[Record], cloud: CloudId) -> None:
        """Write whole lines of steps that have no call, and the records that say so, in one transaction."""

        def write(connection: Connection) -> None:
            rows.write_members(connection, save, cloud)
            if lines:
                connection.execute(_NEW_STEP, [_step_line(line) for line in lines])

        self._writer.do(write)

    def note(
        self, group: GroupId, name: str, by: str, message: str, at: Instant, state: GroupState | None = None
    ) -> None:
        """Write down an act of a person or of the daemon, with the state that it leads to.

        If that changes desired size, the line of history says from what to what.
        """
        act = Event(at=at, group=group, kind=EventKind.NOTE, name=name, by=by, message=message)
        self._writer.do(lambda connection: _write_note(connection, act, state))

    def history(
        self, group: GroupId, *, before: Instant | None, limit: int, kinds: Collection[EventKind] = EVERY_KIND
    ) -> tuple[Event, ...]:
        """The newest events, newest first; those of one instant are never parted, so there may be a few more."""
        with self._snapshot() as connection:
            return history.read_events(connection, group, before=before, limit=limit, kinds=kinds)

    def span_at(self, group: GroupId, at: Instant) -> Span | None:
        """The span that covers ``at``, or the last one before it; with what is not flushed yet."""
        with self._snapshot() as connection:
            last = self._recorder.last(group)
            if last is not None and last.span.first_at <= at:
                return last.span
            return history.read_span(connection, group, at)

    def prune(self, *, before: Instant, bytes_at_most: int) -> int:
        """Delete history older than ``before``, and the oldest beyond the disk budget; returns rows deleted.

        The file shrinks by what was deleted. The budget is for the file; its write-ahead log may add 16 MiB.
        """
        deleted = retention.prune(self._writer.do, before, bytes_at_most)
        if deleted:
            with translated(self._path):
                checkpoint(self._reading)
        return deleted

    # Inside

    @contextlib.contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        """Read one state of the store, whatever is written meanwhile."""
        if self._closed:
            raise self._is_closed()
        with translated(self._path), self._reading.connect() as connection:
            yield connection

    def _is_closed(self) -> StoreError:
        return StoreError(f"store {self._path} is closed")

    def _alter(self, group: GroupId, values: dict[str, object]) -> None:
        def write(connection: Connection) -> None:
            rows.require(connection, group)
            connection.execute(update(groups).where(groups.c.id == group).values(values))

        self._writer.do(write)


def _step_line(line: Event) -> dict[str, object]:
    ended = line.at + (line.took or 0.0)
    said = {name: getattr(line, name) for name in ("group", "name", "at", "result", "message")}
    return said | {"member": line.by, "ended_at": ended}


def _write_note(connection: Connection, act: Event, state: GroupState | None) -> None:
    line: dict[str, object] = {name: getattr(act, name) for name in ("group", "name", "by", "message", "at")}
    if state is not None:
        before = rows.desired_of(connection, act.group)
        rows.write_states(connection, {act.group: state})
        line |= {"desired_from": before, "desired_to": state.desired} if before != state.desired else {}
    connection.execute(insert(notes).values(line))


def _seen_until_its_last_tick(connection: Connection, stored: StoredGroup) -> StoredGroup:
    """What policies advised stood until the last tick that is on disk: one that advises otherwise is written at once.

    So a tick that advises the same costs no write of its own, and is known of all the same.
    """
    observed = stored.state.observed
    last = history.last_tick(connection, stored.id) if observed.seen is not None else None
    if observed.seen is None or last is None:
        return stored
    seen = replace(observed, seen=max(observed.seen, last))
    return replace(stored, state=replace(stored.state, observed=seen))
