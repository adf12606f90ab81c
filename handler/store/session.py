"""What every part of the store works with: the writer, the readers, and what was read last."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Generic, TypeVar

from sqlalchemy import Connection, insert

from config.errors import StoreError
from config.units import GroupId
from handler.planning.world import Record
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


class Kept(Generic[K, T]):
    """Values by key, each with the edition that it was read in.

    A writer raises the edition after its transaction, and before any caller wakes. A reader takes the edition first, so
    its value is at least as new; if a write came meanwhile, the value is kept under an edition that is over.
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
            self._values[key] = edition, value
        return value

    def forget(self, keys: Collection[K]) -> None:
        """Make values of these keys invalid, also those that are being read now."""
        with self._lock:
            for key in keys:
                self._editions[key] += 1
                self._values.pop(key, None)


class Fleets(Kept[GroupId, tuple[Record, ...]]):
    """The members of each group, as of the last read."""


class KeptFleets:
    """What is kept in memory of the members in the store."""

    def __init__(self) -> None:
        self.fleets = Fleets()
        self.tally = CreateTally()

    def forget(self, groups: Collection[GroupId]) -> None:
        """After a transaction that may have changed members of these groups."""
        self.fleets.forget(groups)
        self.tally.forget(groups)


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
