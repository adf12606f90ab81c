"""The database under a store, as a port: `sqlite_file` and `postgresql` are the two.

What their SQL spells differently is in `upserts` and `dialects`; here is what differs beyond SQL.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from config.errors import StoreError


class CommitOutcome(enum.Enum):
    """What became of a transaction that raised an error."""

    FAILED = enum.auto()
    """Nothing was written."""
    LOST = enum.auto()
    """Nothing was written, because the connection broke. There is a new one."""
    DURABLE = enum.auto()
    """It was written: the connection broke before the answer came."""


class Database(Protocol):
    """An open database."""

    @property
    def name(self) -> str:
        """Where it is, for people; without any secret."""
        ...

    @property
    def reading(self) -> Engine:
        """Connections that only read. The transaction of each sees one state of the store."""
        ...

    @property
    def writing(self) -> Engine:
        """The one connection that writes: a transaction that is committed is durable."""
        ...

    def explained(self, error: Exception) -> StoreError:
        """Return a failure's meaning and fix, without any value that was being written."""
        ...

    def begun(self, connection: Connection) -> None:
        """Prepare a transaction of the writing connection, just after it began.

        Raises:
            StoreError: another daemon may have written since the last one.
        """
        ...

    def committed(self) -> None:
        """Note that the last transaction is durable."""
        ...

    def outcome_of(self, error: BaseException) -> CommitOutcome:
        """Find out what became of the last transaction of the writing connection, which raised ``error``.

        Raises:
            StoreError: it cannot be known yet.
        """
        ...

    def bytes_used(self, connection: Connection) -> int:
        """Return how many bytes the rows take, with their indexes where these are known."""
        ...

    def bytes_on_disk(self) -> int | None:
        """Return what its files take now, without asking it; `None`: they are another server's."""
        ...

    def release(self, connection: Connection) -> bool:
        """Give some free space back to the disk; whether there may be more."""
        ...

    def compact(self) -> None:
        """After many deletions: give the rest back, which no transaction can."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


@contextlib.contextmanager
def translated(database: Database) -> Iterator[None]:
    """Turn the database's errors into `StoreError`."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        raise database.explained(error) from error
