"""What every part of the store works with: the writer, the readers, and what was read last."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from sqlalchemy import Connection, insert

from config.errors import StoreError
from config.units import GroupId, MemberName
from handler.planning.world import Phase, Record
from handler.ports.stored import Event
from handler.store import rows
from handler.store.create_tally import CreateTally
from handler.store.database import Database, translated
from handler.store.recording import Recorder
from handler.store.schema import notes
from handler.store.state_rows import write_states
from handler.store.writer import StoreWriter
from trigger.requests import GroupState

K = TypeVar("K")
T = TypeVar("T")


class EditionCache(Generic[K, T]):
    """Values by key, each with the edition that it was read in.

    A writer raises the edition after its transaction, and before any caller wakes. A reader takes the edition first, so
    its value is at least as new; if a write came meanwhile, the value is not kept.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._editions: Counter[K] = Counter()
        self._values: dict[K, tuple[int, T]] = {}

    def read(self, key: K, look: Callable[[], T]) -> T:
        """Return the kept value, or read and keep it."""
        with self._lock:
            edition = self._editions[key]
            kept = self._values.get(key)
        if kept is not None and kept[0] == edition:
            return kept[1]
        value = look()
        with self._lock:
            if self._editions[key] == edition:
                self._values[key] = edition, value
        return value

    def forget(self, keys: Collection[K]) -> None:
        """Make values of these keys invalid, also those that are being read now."""
        with self._lock:
            for key in keys:
                self._invalidate(key)

    def _invalidate(self, key: K) -> None:
        """Make the value of a key invalid. The caller has the lock."""
        self._editions[key] += 1
        self._values.pop(key, None)


class Fleets(EditionCache[GroupId, tuple[Record, ...]]):
    """The members of each group that are not GONE, sorted by sequence.

    Records that are written are added to those that were read, when these are next read: each record of a pass is
    written several times, and a group may have thousands.
    """

    def __init__(self) -> None:
        super().__init__()
        self._written: dict[GroupId, dict[MemberName, Record]] = {}
        """What a kept value does not have yet."""

    def read(self, key: GroupId, look: Callable[[], tuple[Record, ...]]) -> tuple[Record, ...]:
        """Return the members as they are on disk: those that are kept, or read and kept."""
        with self._lock:
            written = self._written.pop(key, None)
            if written is not None:
                edition, before = self._values[key]
                self._values[key] = edition, _with_written(before, written)
        return super().read(key, look)

    def take(self, key: GroupId, records: Iterable[Record]) -> None:
        """After a transaction that wrote these records of a group, in this order, and changed no other member of it."""
        with self._lock:
            self._editions[key] += 1
            kept = self._values.get(key)
            if kept is not None:
                self._values[key] = self._editions[key], kept[1]
                self._written.setdefault(key, {}).update((record.name, record) for record in records)

    def _invalidate(self, key: GroupId) -> None:
        self._written.pop(key, None)  # in one go with the value, which it would be added to
        super()._invalidate(key)


def _with_written(before: Sequence[Record], written: dict[MemberName, Record]) -> tuple[Record, ...]:
    found = {record.name: record for record in before} | written
    present = (record for record in found.values() if record.phase is not Phase.GONE)
    return tuple(sorted(present, key=lambda record: record.sequence))


class KeptFleets:
    """What is kept in memory of the members in the store."""

    def __init__(self) -> None:
        self.fleets = Fleets()
        self.tally = CreateTally()

    def follow(self, touched: Mapping[GroupId, Sequence[rows.Written] | None], *, durable: bool) -> None:
        """After a transaction: take in what it wrote of members, or forget the groups that it may have changed.

        Args:
            touched: see `handler.store.rows.touched`.
            durable: all of it is on disk.
        """
        for group, written in touched.items():
            if written is None or not durable:
                self.fleets.forget((group,))
                self.tally.forget((group,))
            else:
                self.fleets.take(group, (record for record, _ in written))
                self.tally.take(group, [rows.creation_of(record, cloud) for record, cloud in written])


class StoreSession:
    """One open store. Reads see one state each; writes go through the one writer."""

    def __init__(
        self, database: Database, installation: str, writer: StoreWriter, recorder: Recorder, kept: KeptFleets
    ) -> None:
        self._database = database
        self._installation = installation
        self._writer = writer
        self._recorder = recorder
        self._fleets = kept.fleets
        self._tally = kept.tally
        self._closed = False

    @contextlib.contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        """Read one state of the store, whatever is written meanwhile."""
        if self._closed:
            raise self._is_closed()
        with translated(self._database), self._database.reading.connect() as connection:
            yield connection

    def _is_closed(self) -> StoreError:
        return StoreError(f"store {self._database.name} is closed")


def write_note(connection: Connection, act: Event, state: GroupState | None) -> None:
    """Write a line of history, and the state that it leads to; the line has the change of desired size."""
    line: dict[str, object] = {name: getattr(act, name) for name in ("group", "name", "by", "message", "at")}
    if state is not None:
        before = rows.desired_of(connection, act.group)
        write_states(connection, {act.group: state})
        line |= {"desired_from": before, "desired_to": state.desired} if before != state.desired else {}
    connection.execute(insert(notes).values(line))
