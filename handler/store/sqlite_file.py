"""SQLite: connections to the store's file, and the meaning of its errors for an operator.

The writer's connection commits durably: ``synchronous=FULL`` syncs the write-ahead log before a commit returns. Readers
see the last commit and never wait. The driver's own transaction handling is switched off; SQLAlchemy's ``begin``
sends ``BEGIN``, so that DDL, too, is part of a transaction.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from config.errors import StoreError
from config.units import Seconds
from handler.store.database import CommitOutcome

_BUSY: Seconds = 5.0
"""How long to wait for a lock of another program, for example a backup."""
_READERS = 8
_PAGES = 1000
"""Pages released to the disk per transaction."""
_LOG_BYTES = 16 * 1024 * 1024
"""The size to which the write-ahead log is cut once its content is in the file."""

_ADVICE = {
    "SQLITE_FULL": "the disk is full: free space on it or lower the history's disk budget",
    "SQLITE_BUSY": "another program holds a lock on it: end that program (a sqlite3 shell, a backup)",
    "SQLITE_LOCKED": "another program holds a lock on it: end that program (a sqlite3 shell, a backup)",
    "SQLITE_IOERR": "its disk fails or is full: see the system's log",
    "SQLITE_READONLY": "it cannot be written: check its owner and permissions, and the directory's",
    "SQLITE_CANTOPEN": "it cannot be opened: check its owner and permissions, and the directory's",
    "SQLITE_PERM": "it cannot be opened: check its owner and permissions, and the directory's",
    "SQLITE_NOTADB": "it is not an SQLite database",
    "SQLITE_CORRUPT": "it is damaged",
}
RECOVERY = (
    "restore a backup, or move it away together with its -wal and -shm: members are then found again by their marks, "
    "and history, pauses and quiet times are lost"
)
"""The fix for a file that cannot be used any more."""


def writer_engine(path: Path) -> Engine:
    """Return the writing connection: each transaction takes the write lock at its beginning, so none fails halfway."""
    pragmas = ("foreign_keys=ON", "synchronous=FULL", f"journal_size_limit={_LOG_BYTES}")
    return _engine(path, "BEGIN IMMEDIATE", pragmas, connections=1)


def reader_engine(path: Path) -> Engine:
    """Return a few connections that only read."""
    return _engine(path, "BEGIN", ("query_only=ON",), connections=_READERS)


def migrating_engine(path: Path) -> Engine:
    """Return a connection that may change tables.

    Foreign keys are not followed: a migration replaces whole tables, and dropping ``groups`` would empty ``members``.
    """
    return _engine(path, "BEGIN IMMEDIATE", ("foreign_keys=OFF", "synchronous=FULL"), connections=1)


def _engine(path: Path, begin: str, pragmas: tuple[str, ...], *, connections: int) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        hide_parameters=True,  # keeps stored values out of error texts and logs
        poolclass=QueuePool,
        pool_size=connections,
        max_overflow=0,
        connect_args={"isolation_level": None, "timeout": _BUSY, "check_same_thread": False},
    )

    def connected(connection: DBAPIConnection, _: object) -> None:
        cursor = connection.cursor()
        for pragma in pragmas:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    def began(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", began)
    return engine


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn the errors of SQLite and of the file system into `StoreError`."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise explained(error, path) from error


def explained(error: Exception, path: Path) -> StoreError:
    """Return a database failure's meaning and fix, without any value that was being written."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorname", "")
    advice = next((text for prefix, text in _ADVICE.items() if code.startswith(prefix)), "")
    if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        advice = f"{advice}; {RECOVERY}"
    if isinstance(cause, OSError):  # its message names a draft that users do not know
        return StoreError(f"{path} cannot be read or written: {cause.strerror or cause}")
    return StoreError(f"store {path}: {advice} ({code}: {cause})" if advice else f"store {path}: {cause}")


class SqliteFile:
    """An open file; implements `handler.store.database.Database`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reading = reader_engine(path)
        self.writing = writer_engine(path)

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    def explained(self, error: Exception) -> StoreError:
        """Return a failure's meaning and fix."""
        return explained(error, self.path)

    def begun(self, connection: Connection) -> None:
        """Do nothing: the lock on the state directory keeps other daemons away."""

    def committed(self) -> None:
        """Do nothing: a commit that returned is durable."""

    def outcome_of(self, error: BaseException) -> CommitOutcome:
        """A commit that fails is undone."""
        return CommitOutcome.FAILED

    def bytes_used(self, connection: Connection) -> int:
        """Return the bytes of all pages that are in use."""
        pages, free, size = (_pragma(connection, name) for name in ("page_count", "freelist_count", "page_size"))
        return (pages - free) * size

    def bytes_on_disk(self) -> int | None:
        """Return the size of the file and of its write-ahead log."""
        log = self.path.with_name(f"{self.path.name}-wal")
        return sum(file.stat().st_size for file in (self.path, log) if file.exists())

    def release(self, connection: Connection) -> bool:
        """Release free pages at the file's end to the disk.

        One page per statement: SQLite frees a page for each row read, and the driver reads none of rows without
        columns.
        """
        before = _pragma(connection, "freelist_count")
        for _ in range(min(before, _PAGES)):
            connection.exec_driver_sql("PRAGMA incremental_vacuum(1)")
        return before > _pragma(connection, "freelist_count")

    def compact(self) -> None:
        """Move the write-ahead log's content into the file and cut both to size; less of it during reads.

        It waits for no reader: no write could begin meanwhile.
        """
        self._compact(self.reading, patience=0.0)

    def _compact(self, engine: Engine, *, patience: Seconds) -> None:
        with translated(self.path):
            connection = engine.raw_connection()  # outside any transaction: a checkpoint in one is refused
            try:
                cursor = connection.cursor()
                cursor.execute(f"PRAGMA busy_timeout = {1000 * patience:.0f}")
                try:
                    cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                finally:
                    cursor.execute(f"PRAGMA busy_timeout = {1000 * _BUSY:.0f}")
                cursor.close()
            finally:
                connection.close()

    def close(self) -> None:
        """Close all connections, and leave all in the one file.

        SQLite empties the write-ahead log when the last connection closes. One that a thread still reads by would leave
        it behind, and a copy of the file alone would lack the newest writes.
        """
        with contextlib.suppress(StoreError):
            self._compact(self.writing, patience=_BUSY)
        self.reading.dispose()
        self.writing.dispose()


def _pragma(connection: Connection, name: str) -> int:
    return int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
