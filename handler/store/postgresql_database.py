"""PostgreSQL under a store: its sessions, and what became of a transaction whose connection broke.

# Note [The mark of the last commit]

Each transaction writes a mark of its own into a row of ``meta``, and only if it finds the mark of the one before. So
after a broken connection the row tells whether the last commit was durable, also after a crash of the server. It tells
as well when another daemon wrote meanwhile, or when a standby was promoted that lacks the last commits: then nothing is
written any more, since what this daemon knows is no longer what is stored.

A commit may go on in the server after its connection broke, as while a synchronous standby does not answer. So the row
is locked to be read: that waits for such a commit, and makes this read's own commit as durable as the one it found.

It is also the fence between workers. Their marks begin with the epoch of the lease, and the transaction that takes the
lease writes the first mark of its epoch (`handler.store.postgresql_lease`). So every transaction carries its epoch, and
from then on none of an earlier epoch finds its own mark: the row's lock puts each of them before or after.
"""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    LargeBinary,
    QueuePool,
    Table,
    Text,
    bindparam,
    create_engine,
    func,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from config.errors import StoreError
from config.units import Seconds
from handler.store.columns import METADATA
from handler.store.database import CommitOutcome
from handler.store.postgresql_sessions import OF_WRITER, PostgresqlSessions, explained, is_broken
from handler.store.schema import meta
from handler.store.upserts import insert_or_update

_READERS = 8
_SETTLES_WITHIN: Seconds = 15.0
"""How long the writer waits for the server to learn what became of a commit: a restart takes a few seconds."""
_LOOKS_EVERY: Seconds = 0.1
_LOCK_WAIT = "3s"
"""How long one look waits for a commit that the server still has in hand."""
_UNKNOWN = "whether the last change was written is not known until then"
_EARLIER_UNKNOWN = "nothing of this change is written; whether the one before was is not known until then"
_ROW = 24
"""Bytes of a row besides its values."""
_NAME = "commit"
_MARK = select(meta.c.value).where(meta.c.name == _NAME).with_for_update()
_REMARK = update(meta).where(meta.c.name == _NAME, meta.c.value == bindparam("before")).values(value=bindparam("after"))
_FIRST_MARK = insert_or_update(meta)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTerm:
    """The time of one worker under one epoch of the lease."""

    epoch: int
    mark: str
    """The mark that taking the lease left: what this worker's first transaction must find."""
    overtaken: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)
    """Set once the store was found changed by another one: nothing is written under this term any more."""


def first_mark(connection: Connection, epoch: int) -> LeaseTerm:
    """Write the mark with which an epoch begins, in the transaction that takes the lease."""
    term = LeaseTerm(epoch=epoch, mark=f"{epoch}-{secrets.token_hex(8)}")
    _FIRST_MARK.write(connection, {"name": _NAME, "value": term.mark})
    return term


class PostgresqlDatabase:
    """An open database; implements `handler.store.database.Database`."""

    def __init__(
        self, url: str, password: Callable[[], str | None], now: Callable[[], Seconds], term: LeaseTerm | None = None
    ) -> None:
        """Prepare; nothing is connected before the first use.

        Args:
            url: the address.
            password: returns the password, if there is one.
            now: a clock that is never set.
            term: of the worker that writes; ``None``: the daemon is no worker.
        """
        self.url = url
        self._now = now
        self._term = term
        self._sessions = PostgresqlSessions(url, password, now, of_worker=OF_WRITER if term is not None else "")
        self.reading = _engine(self._sessions.reading, connections=_READERS, pre_ping=True)
        self.writing = _engine(self._sessions.writing, connections=1, pre_ping=False)
        own = secrets.token_hex(8) if term is None else term.mark
        self._marks = map("{}-{}".format, itertools.repeat(own), itertools.count())
        self._waiting = threading.Event()
        self._durable = ""
        self._begun: str | None = None
        """The mark of the transaction under way."""
        self._open: str | None = None
        """The mark of a transaction whose outcome is not known."""

    @property
    def name(self) -> str:
        """The address, which has no password."""
        return self.url

    @property
    def is_workers(self) -> bool:
        """Whether a worker writes, which has the lease."""
        return self._term is not None

    def explained(self, error: Exception) -> StoreError:
        """Return a failure's meaning and fix."""
        return explained(error, self.url)

    def take_over(self, connection: Connection) -> None:
        """Write the first mark of this process: from now on it alone writes.

        Raises:
            StoreError: another worker has taken the lease meanwhile.
        """
        first = next(self._marks)
        if self._term is None:
            _FIRST_MARK.write(connection, {"name": _NAME, "value": first})
        elif connection.execute(_REMARK, {"before": self._term.mark, "after": first}).rowcount != 1:
            raise self._overtaken()
        self._durable = first

    def begun(self, connection: Connection) -> None:
        """See Note [The mark of the last commit]."""
        if self._open is not None:
            self._settle(_mark(connection))
        mark = next(self._marks)
        if connection.execute(_REMARK, {"before": self._durable, "after": mark}).rowcount != 1:
            raise self._overtaken()
        self._begun = mark

    def committed(self) -> None:
        """The last transaction is durable."""
        if self._begun is not None:
            self._durable, self._begun = self._begun, None

    def outcome_of(self, error: BaseException) -> CommitOutcome:
        """Ask the server for the last mark; wait a while if it cannot be reached, or still has the commit in hand."""
        begun, self._begun = self._begun, None
        if not is_broken(error):
            if self._open is not None and isinstance(error, Exception):  # `begun` could not settle an earlier one
                raise self._unsettled(error, _EARLIER_UNKNOWN) from error
            return CommitOutcome.FAILED
        if begun is None:
            return CommitOutcome.LOST
        self._open = begun
        until = self._now() + _SETTLES_WITHIN
        while True:
            try:
                with self.writing.begin() as connection:
                    found = _mark(connection)
            except (SQLAlchemyError, StoreError) as again:
                if self._now() > until:
                    raise self._unsettled(again, _UNKNOWN) from again
            else:
                return self._settle(found)
            self._waiting.wait(_LOOKS_EVERY)

    def bytes_used(self, connection: Connection) -> int:
        """Add up the values of all rows, as they are stored; indexes and space of deleted rows not included."""
        return sum(int(connection.execute(_size_of(table)).scalar_one()) for table in METADATA.sorted_tables)

    def bytes_on_disk(self) -> int | None:
        """Leave it to the server, which keeps the files."""
        return None

    def release(self, connection: Connection) -> bool:
        """Leave it to the server's autovacuum."""
        return False

    def compact(self) -> None:
        """Leave it to the server's autovacuum."""

    def close(self) -> None:
        """Close all connections; the lock is free then."""
        self.reading.dispose()
        self.writing.dispose()

    def _settle(self, found: str | None) -> CommitOutcome:
        begun, self._open = self._open, None
        if found is not None and found == begun:
            self._durable = found
            return CommitOutcome.DURABLE
        if found == self._durable:
            return CommitOutcome.LOST
        raise self._overtaken()

    def _overtaken(self) -> StoreError:
        """Return the error of a write over what this process does not know; a worker ends its term for it."""
        if self._term is not None:
            self._term.overtaken.set()
            return StoreError(
                f"store {self.url}: another worker has taken the lease (this one had epoch {self._term.epoch}), or a "
                "standby without the last commits was promoted: this worker gives the lease back, and writes nothing "
                "more until it takes it again and has read the store anew"
            )
        return StoreError(
            f"store {self.url} is not as this daemon left it: another daemon wrote to it, or a standby without the "
            "last commits was promoted; restart this daemon, so that it reads the store anew"
        )

    def _unsettled(self, error: Exception, unknown: str) -> StoreError:
        if isinstance(error, DBAPIError) and isinstance(error.orig, psycopg.errors.LockNotAvailable):
            return StoreError(
                f"store {self.url}: the server still has the last commit in hand, as it does while a synchronous "
                f"standby does not answer; the daemon goes on by itself once it has ended ({unknown})"
            )
        return StoreError(f"{explained(error, self.url)} ({unknown})")


def _mark(connection: Connection) -> str | None:
    """Return the last mark. It is locked, so that a commit that the server still has in hand ends before."""
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LOCK_WAIT}'")
    found: str | None = connection.execute(_MARK).scalar()
    return found


def _engine(connect: Callable[[], psycopg.Connection[Any]], *, connections: int, pre_ping: bool) -> Engine:
    return create_engine(
        "postgresql+psycopg://",
        creator=connect,
        hide_parameters=True,  # keeps stored values out of error texts and logs
        poolclass=QueuePool,
        pool_size=connections,
        max_overflow=0,
        pool_pre_ping=pre_ping,
    )


def _size_of(table: Table) -> Any:  # noqa: ANN401 - a select of one number
    wide = [column for column in table.c if _is_wide(column)]
    each = _ROW + 8 * (len(table.c) - len(wide))
    stored = sum((func.coalesce(func.sum(func.pg_column_size(column)), 0) for column in wide), func.count() * each)
    return select(stored).select_from(table)


def _is_wide(column: Column[Any]) -> bool:
    return isinstance(getattr(column.type, "impl", column.type), (Text, LargeBinary))
