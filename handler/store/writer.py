"""The store's one writing thread, and group commit.

# Note [Group commit]

A durable commit costs one sync of the disk, milliseconds, whether it carries one write or a hundred. So the thread
takes all waiting writes into one transaction. Callers wake once the commit is durable.

If a write fails, the transaction is undone, and all of it is tried once more, each write under a savepoint of its own:
then a failed write is undone alone, and only its caller gets the error. Savepoints from the first would cost each write
two statements, as much as it has itself, and few writes fail.

If the transaction itself fails (the disk is full, the commit fails), none of it is on disk. Each write is then tried
in a transaction of its own, so that a big one does not fail small ones. A write may therefore be called several times;
only the last call counts.

If the connection to a server breaks, a commit may have been durable before the answer came. The database then tells
(`handler.store.database.CommitOutcome`): no write is done twice, and none is reported as failed that was done. A
transaction that was lost with its connection is tried once more on the new one.

# Note [What is read while an outcome is unknown]

A reader may come after the transaction has failed here, and before it becomes durable in the server: it reads, and
keeps, what was there before. So what the transaction touched is forgotten once more when it is found durable: at once,
or when a later transaction begins.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from types import TracebackType
from typing import Any, Generic, TypeVar, cast

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from config.errors import StoreError
from handler.store.database import CommitOutcome, Database

T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)

_Info = MutableMapping[Any, Any]

_AT_ONCE = 256
"""The most writes in one transaction."""


class StoreWriter:
    """Runs writes one after another on a thread of its own, as many per commit as are waiting."""

    def __init__(self, database: Database, after: Callable[[_Info, bool], None] = lambda info, durable: None) -> None:
        """Make a writer.

        Args:
            database: where it writes.
            after: gets the connection's notes after each transaction, before any caller wakes, and whether every write
                of the transaction is known to be durable. It gets those of one that is found durable late once more.
        """
        self._database = database
        self._after = after
        self._queue: queue.SimpleQueue[_Write[object] | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self._unknown: _Info = {}
        """Notes of the transaction whose outcome is not known."""
        self._thread = threading.Thread(target=self._serve, name="store-writer", daemon=True)
        self.commits = 0
        """Transactions that became durable."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def do(self, function: Callable[[Connection], T]) -> T:
        """Run ``function`` in a transaction and return its result once that is durable.

        Raises:
            StoreError: the write failed and left nothing on disk, or the store is closed.
        """
        write = _Write(function)
        with self._gate:
            if self._closed:
                raise StoreError(f"store {self._database.name} is closed")
            self._queue.put(write)
        return write.result(self._database)

    def close(self) -> None:
        """Finish the waiting writes, then end the thread."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _serve(self) -> None:
        for batch in self._batches():
            self._carry_out(batch)
            for write in batch:
                write.done.release()

    def _batches(self) -> Iterator[list[_Write[object]]]:
        """Yield the waiting writes, up to `_AT_ONCE` at a time, until the writer is closed."""
        while (first := self._queue.get()) is not None:
            batch = [first]
            while len(batch) < _AT_ONCE and not self._queue.empty():
                following = self._queue.get()
                if following is None:
                    yield batch
                    return
                batch.append(following)
            yield batch

    def _carry_out(self, batch: Sequence[_Write[object]], *, again: bool = True, apart: bool = False) -> None:
        """See Note [Group commit]. ``apart``: each write under a savepoint."""
        attempt = self._transaction(batch, apart=apart)
        if attempt.error is None:
            self._database.committed()
            self.commits += 1
            return
        outcome = self._outcome_of(attempt)
        if outcome is CommitOutcome.DURABLE:
            self._after(attempt.notes, False)
            self.commits += 1
        elif outcome is CommitOutcome.LOST and again:
            self._carry_out(batch, again=False, apart=apart)
        elif outcome is None or len(batch) == 1:
            for write in batch:
                write.error = write.error or attempt.error
        elif not apart:
            self._carry_out(batch, again=again, apart=True)
        else:
            for write in batch:
                self._carry_out([write])

    def _transaction(self, batch: Sequence[_Write[object]], *, apart: bool) -> _Attempt:
        """Run writes in one transaction; the attempt has the error that ended it."""
        attempt, info = _Attempt(), dict[object, object]()
        with attempt, self._database.writing.begin() as connection:
            self._database.begun(connection)
            self._after(self._unknown, False)  # settled by now
            info = connection.info
            for write in batch:
                write.run(connection, apart=apart)
        attempt.notes = dict(info)
        self._after(info, attempt.error is None and all(write.error is None for write in batch))
        return attempt

    def _outcome_of(self, attempt: _Attempt) -> CommitOutcome | None:
        """Find out what became of a transaction that failed; ``None``: it cannot be known, and the error says so."""
        finding = _Attempt()
        with finding:
            return self._database.outcome_of(cast("BaseException", attempt.error))
        attempt.error = finding.error
        self._unknown.update(attempt.notes)
        return None


class _Attempt:
    """Keeps the exception of its block for the waiting callers, so that it does not end the thread."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.notes: _Info = {}
        """What the connection noted of the transaction."""

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error = error
        return True


class _Write(Generic[R_co]):
    """One caller's function, and its result."""

    def __init__(self, function: Callable[[Connection], R_co]) -> None:
        self._function = function
        self._results: list[R_co] = []
        self.error: BaseException | None = None
        self.done = threading.Lock()
        """Held until the caller may go on."""
        self.done.acquire()

    def run(self, connection: Connection, *, apart: bool) -> None:
        """Call the function; ``apart``: under a savepoint, so that it is undone alone if it fails.

        Raises:
            Exception: the transaction is lost, with the writes before this one: by what the function raises, too,
            unless it runs apart.
        """
        self.error = None
        if not apart:
            self._results = [self._function(connection)]
            return
        attempt = _Attempt()
        connection.exec_driver_sql("SAVEPOINT write")
        with attempt:
            self._results = [self._function(connection)]
        self.error = attempt.error
        if self.error is not None:
            connection.exec_driver_sql("ROLLBACK TO write")
        connection.exec_driver_sql("RELEASE write")

    def result(self, database: Database) -> R_co:
        """Wait until the write is durable; return its result, or raise its error."""
        self.done.acquire()
        if isinstance(self.error, SQLAlchemyError):
            raise database.explained(self.error) from self.error
        if self.error is not None:
            raise self.error
        return self._results[0]
