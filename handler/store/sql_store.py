"""The store: one writer with group commit, and readers that never wait.

Implements `handler.ports.store.Store` over a `handler.store.database.Database`; `sqlite` and `postgresql` open one.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Self

from sqlalchemy import Connection, delete, select, update

from config.units import GroupId, Instant, MemberName, Seconds
from handler.planning.desired import Builds, Definition
from handler.planning.launches import Claim
from handler.planning.status import StateSince
from handler.ports.declarations import NOTHING_OVER_API, DeclaredOverApi
from handler.ports.held_clock import ClockDifference
from handler.ports.store import FileChange
from handler.ports.stored import (
    EVERY_KIND,
    Event,
    EventKind,
    RepeatedTick,
    StoredAnswer,
    StoredGroup,
    StoredTick,
    TickSpan,
)
from handler.store import fleet, history, outbox, packing, past_spans, retention, rows
from handler.store.account_rows import AccountRows
from handler.store.alert_rows import AlertRows
from handler.store.applied_rows import AppliedRows, write_applied
from handler.store.audit_rows import AuditRows
from handler.store.call_rows import CallRows
from handler.store.checkpoint_rows import CheckpointRows
from handler.store.cloudstack_api_rows import CloudstackApiRows
from handler.store.credential_rows import KeyPairRows, PasswordRows
from handler.store.database import Database
from handler.store.declared_rows import BehindRows, EditRows, RollingRows
from handler.store.entity_rows import EntityRows, write_revision
from handler.store.identity_rows import IdentityRows
from handler.store.lease_rows import write_declaration
from handler.store.member_rows import MemberRows
from handler.store.recording import Recorder
from handler.store.retiming import difference_of, difference_text, retime
from handler.store.revisions import claimed
from handler.store.schema import groups
from handler.store.session import KeptFleets, write_note
from handler.store.setting_rows import SettingRows
from handler.store.writer import StoreWriter
from trigger.requests import FleetPause, GroupState

AT_A_FLUSH = 1_000
"""Groups whose spans one flush writes. Each takes a page of the disk, twice: ten thousand, every half minute, would
write 3 MB a second while nothing happens. What a crash loses is how long the last answer of such a group went on."""


class SqlStore(
    AccountRows,
    AlertRows,
    AppliedRows,
    AuditRows,
    BehindRows,
    CallRows,
    CheckpointRows,
    CloudstackApiRows,
    EditRows,
    EntityRows,
    IdentityRows,
    KeyPairRows,
    MemberRows,
    PasswordRows,
    RollingRows,
    SettingRows,
):
    """The store over one database."""

    @classmethod
    def over(cls, database: Database, installation: str) -> Self:
        """Take up a database whose tables are this release's; `close` closes it.

        Raises:
            Refused: it belongs to another installation.
            StoreError: it cannot be written.
        """
        kept = KeptFleets()
        writer = StoreWriter(database, lambda info, durable: kept.follow(rows.touched(info), durable=durable))
        writer.start()
        with contextlib.ExitStack() as undo:
            undo.callback(writer.close)
            first_id = writer.do(lambda connection: claimed(connection, database, installation))
            undo.pop_all()
        recorder = Recorder(writer, itertools.count(first_id).__next__)
        return cls(database, installation, writer, recorder, kept)

    def close(self) -> None:
        """Flush and close. Later calls raise `StoreError`."""
        if self._closed:
            return
        try:
            self._recorder.flush()
        finally:
            self._closed = True
            self._writer.close()
            self._database.close()

    def generation(self) -> Claim | None:
        """Return the last claim of a daemon over this store."""
        with self._snapshot() as connection:
            return fleet.read_generation(connection)

    def save_generation(self, claim: Claim) -> None:
        """Write this daemon's claim."""
        self._writer.do(lambda connection: fleet.write_generation(connection, claim))

    def clock(self) -> ClockDifference | None:
        """Return by how much the clocks differed when instants were last measured."""
        with self._snapshot() as connection:
            return difference_of(fleet.read_clock(connection))

    def retime(self, step: Seconds, now: Instant, difference: ClockDifference) -> int:
        """Move every instant from which a span counts, and write the difference of the clocks, in one transaction."""

        def write(connection: Connection) -> int:
            fleet.write_clock(connection, difference_text(difference))
            return retime(connection, step, now)

        return self._writer.do(write)

    # Groups

    def groups(self) -> tuple[StoredGroup, ...]:
        """Return every group that was declared and not deleted, sorted by id."""
        with self._snapshot() as connection:
            return _groups(connection)

    def declare(
        self,
        definitions: Sequence[Definition],
        at: Instant,
        edited: FileChange | None = None,
        over: DeclaredOverApi = NOTHING_OVER_API,
        *,
        lost: bool = False,
    ) -> tuple[StoredGroup, ...]:
        """Write the declared groups in one transaction: new ones have no desired size, all others become ORPHANED.

        Existing groups keep their state; each group's history notes that it comes, goes, returns or was edited.
        Returns what `groups` would, as this transaction leaves it.
        """

        def write(connection: Connection) -> tuple[StoredGroup, ...]:
            rows.declare(connection, definitions, at, edited, over, lost=lost)
            if over.revision is not None:
                write_revision(connection, over.revision)
            if edited is not None and edited.applied is not None:
                write_applied(connection, edited.applied)
            if edited is not None and edited.digest:
                write_declaration(connection, edited.digest)
            return _groups(connection)

        return self._writer.do(write)

    def fleet_pause(self) -> FleetPause | None:
        """Return the pause of all groups; ``None``: there is none."""
        with self._snapshot() as connection:
            return fleet.read_fleet_pause(connection)

    def save_fleet_pause(self, pause: FleetPause | None, act: str, by: str, message: str, at: Instant) -> None:
        """Write the pause, and a line in the history of every group, in one transaction."""

        def write(connection: Connection) -> None:
            fleet.write_fleet_pause(connection, pause)
            fleet.note_everywhere(connection, act, by, message, at)

        self._writer.do(write)

    def save_builds(self, group: GroupId, builds: Builds) -> None:
        """Write a group's successes and failures of builds."""
        row: dict[str, object] = {
            "failed_builds": builds.failed,
            "back_off_until": builds.back_off_until,
            "builds_of": builds.of,
        }
        self._alter(group, row)

    def save_begun(self, group: GroupId, begun: Mapping[MemberName, StateSince], over: Collection[MemberName]) -> None:
        """Write the instants at which these members entered their states, and forget those that are gone."""
        self._writer.do(lambda connection: rows.write_begun(connection, group, begun, over))

    def mark_deleting(self, group: GroupId) -> None:
        """Mark a group that is to be emptied and forgotten."""
        self._alter(group, {"deleting": True})

    def drop_group(self, group: GroupId) -> None:
        """Forget a group and its members; its history stays until retention, its sequence for ever."""

        def drop(connection: Connection) -> None:
            doubted = connection.execute(select(groups.c.older).where(groups.c.id == group)).scalar()
            if doubted is not None:
                rows.raise_sequence(connection, group, doubted.sequence)
            outbox.delete_sent(connection, group)
            connection.execute(delete(groups).where(groups.c.id == group))
            rows.touch(connection, group)

        self._recorder.forget(group, drop)

    # Decisions

    def record(self, ticks: Sequence[StoredTick], repeated: Sequence[RepeatedTick] = ()) -> None:
        """Write ticks: new states, decisions and answers at once, spans run-length. One transaction."""
        if self._closed:
            raise self._is_closed()
        self._recorder.record(ticks, repeated)

    def flush(self) -> None:
        """Write spans that were only extended in memory: those of `AT_A_FLUSH` groups at most."""
        if self._closed:
            raise self._is_closed()
        self._recorder.flush(AT_A_FLUSH)

    def answered(self, group: GroupId, request: str) -> StoredAnswer | None:
        """Return the answer to this request id, if there is one."""
        with self._snapshot() as connection:
            return history.read_answer(connection, group, request)

    def answers_to(self, asked: Collection[tuple[GroupId, str]]) -> Mapping[tuple[GroupId, str], StoredAnswer]:
        """Return the answers to these (group, request id), where there are any."""
        with self._snapshot() as connection:
            return history.read_answers(connection, asked)

    # History

    def note(
        self, group: GroupId, name: str, by: str, message: str, at: Instant, state: GroupState | None = None
    ) -> None:
        """Write an operation of a person or of the daemon, with the state that it leads to.

        If that changes the desired size, the line of history has the old and the new one.
        """
        act = Event(at=at, group=group, kind=EventKind.NOTE, name=name, by=by, message=message)
        self._writer.do(lambda connection: write_note(connection, act, state))

    def history(
        self, group: GroupId, *, before: Instant | None, limit: int, kinds: Collection[EventKind] = EVERY_KIND
    ) -> tuple[Event, ...]:
        """Return the newest events, newest first; those of one instant stay together, so there may be a few more."""
        with self._snapshot() as connection:
            return history.read_events(connection, group, before=before, limit=limit, kinds=kinds)

    def member_history(self, group: GroupId, member: MemberName, *, since: Instant, limit: int) -> tuple[Event, ...]:
        """Return the newest steps of one member, and notes whose text names it, newest first."""
        with self._snapshot() as connection:
            return history.read_member_events(connection, group, member, since=since, limit=limit)

    def span_at(self, group: GroupId, at: Instant) -> TickSpan | None:
        """Return the span that covers ``at``, or the last one before it; also one that is not flushed yet."""
        with self._snapshot() as connection:
            last = self._recorder.last(group)
            return past_spans.read_span(connection, group, at, None if last is None else last.span)

    def spans_begun(self, group: GroupId, begin: Instant, end: Instant, limit: int) -> tuple[TickSpan, ...]:
        """Return the newest spans that began at ``begin`` or later and before ``end``, newest first, as on disk."""
        with self._snapshot() as connection:
            return past_spans.read_spans(connection, group, begin, end, limit)

    def prune(self, *, before: Instant, bytes_at_most: int) -> int:
        """Pack older history, then delete history older than ``before``, and the oldest beyond the disk budget.

        Returns the rows deleted. The file shrinks accordingly. The budget is for the file; its write-ahead log may add
        16 MiB.
        """
        packed = packing.pack_older(self._snapshot, self._writer.do)
        deleted = retention.prune(self._writer.do, self._database, before, bytes_at_most)
        if packed or deleted:
            self._database.compact()
        return deleted

    def bytes_on_disk(self) -> int | None:
        """Return what the database's files take; `None`: a server keeps them."""
        return self._database.bytes_on_disk()

    def _alter(self, group: GroupId, values: dict[str, object]) -> None:
        def write(connection: Connection) -> None:
            rows.require(connection, group)
            connection.execute(update(groups).where(groups.c.id == group).values(values))

        self._writer.do(write)


def _groups(connection: Connection) -> tuple[StoredGroup, ...]:
    """Read every group, sorted by id."""
    return tuple(_seen_until_its_last_tick(connection, stored) for stored in rows.read_groups(connection))


def _seen_until_its_last_tick(connection: Connection, stored: StoredGroup) -> StoredGroup:
    """Extend the policies' advice to the last tick on disk, since other advice would have been written at once.

    So a tick with the same advice needs no write of its own.
    """
    observed = stored.state.observed
    last = past_spans.last_tick(connection, stored.id) if observed.seen is not None else None
    if observed.seen is None or last is None:
        return stored
    seen = replace(observed, seen=max(observed.seen, last))
    return replace(stored, state=replace(stored.state, observed=seen))
