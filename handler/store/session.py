"""What every part of the SQLite store works with: the writer, the readers, and what was read last."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Generic, TypeVar

from sqlalchemy import Connection, Engine, insert

from config.errors import StoreError
from config.units import GroupId
from handler.planning.world import Record
from handler.ports.stored import Event
from handler.store import rows
from handler.store.database import translated
from handler.store.recording import Recorder
from handler.store.schema import notes
from handler.store.writer import StoreWriter
from trigger.requests import GroupState

K = TypeVar("K")
T = TypeVar("T")


class Kept(Generic[K, T]):
    """Values by key, each with the edition that it was read in.

    A writer moves the edition on when its transaction is over, and before anybody is told so. A reader looks at the
    edition first: what it reads then is at least as new, and is kept under an edition that is over if somebody wrote
    meanwhile.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._editions: Counter[K] = Counter()
        self._values: dict[K, tuple[int, T]] = {}

    def read(self, key: K, look: Callable[[], T]) -> T:
        """Give what is kept, or look and keep it."""
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
        """What was read of these is over, and so is what is being read."""
        with self._lock:
            for key in keys:
                self._editions[key] += 1
                self._values.pop(key, None)


class Fleets(Kept[GroupId, tuple[Record, ...]]):
    """The members of each group, as they were read last."""


class StoreSession:
    """One open store. Reads see one state each; writes go through the one writer."""

    def __init__(
        self, path: Path, installation: str, writer: StoreWriter, reading: Engine, recorder: Recorder, fleets: Fleets
    ) -> None:
        self._path = path
        self._installation = installation
        self._writer = writer
        self._reading = reading
        self._recorder = recorder
        self._fleets = fleets
        self._closed = False

    @contextlib.contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        """Read one state of the store, whatever is written meanwhile."""
        if self._closed:
            raise self._is_closed()
        with translated(self._path), self._reading.connect() as connection:
            yield connection

    def _is_closed(self) -> StoreError:
        return StoreError(f"store {self._path} is closed")


def write_note(connection: Connection, act: Event, state: GroupState | None) -> None:
    """Write a line of history, and the state that it leads to; what that does to desired size is told by the line."""
    line: dict[str, object] = {name: getattr(act, name) for name in ("group", "name", "by", "message", "at")}
    if state is not None:
        before = rows.desired_of(connection, act.group)
        rows.write_states(connection, {act.group: state})
        line |= {"desired_from": before, "desired_to": state.desired} if before != state.desired else {}
    connection.execute(insert(notes).values(line))
