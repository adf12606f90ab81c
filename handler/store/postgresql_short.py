"""Short transactions of a worker beside its store's writer, in sessions of their own: no long write delays them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import psycopg
from sqlalchemy import Connection, Double, QueuePool, create_engine, func
from sqlalchemy.exc import SQLAlchemyError

from config.units import Seconds
from handler.store.postgresql_sessions import PostgresqlSessions, explained

CLOCK = func.date_part("epoch", func.clock_timestamp(), type_=Double)
"""The database's time, in seconds since the epoch."""
_IMPATIENT = "SET statement_timeout = '5s'; SET lock_timeout = '3s'; SET idle_in_transaction_session_timeout = '2s'"
"""A process that is stopped between two statements would keep its locks for ever, that of the lease among them: its
session ends before a lease could be taken, which takes a span of 2 s at the least."""
PATIENT = "SET LOCAL idle_in_transaction_session_timeout = 0"
"""For a migration, which works between statements."""


class ShortTransactions:
    """A session that is kept, and more while several callers come at once; none is opened before the first use."""

    def __init__(
        self, url: str, password: Callable[[], str | None], now: Callable[[], Seconds], name: str, *, idles: bool
    ) -> None:
        """Prepare.

        Args:
            url: the address of the database.
            password: returns the password, if there is one.
            now: a clock that is never set.
            name: what the server calls the sessions.
            idles: the session may have been lost long before its next use, so it is tried first.
        """
        self.url = url
        self._sessions = PostgresqlSessions(url, password, now, of_worker=name)
        self._engine = create_engine(
            "postgresql+psycopg://",
            creator=self._opened,
            hide_parameters=True,
            poolclass=QueuePool,
            pool_size=1,
            pool_pre_ping=idles,
        )

    @contextlib.contextmanager
    def begun(self) -> Iterator[Connection]:
        """Run the block in a transaction. Raises `StoreError`."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except (SQLAlchemyError, OSError) as error:
            raise explained(error, self.url) from error

    def once(self, statement: str, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """Run one statement that returns rows, in a transaction of its own, prepared by the server: one round trip.

        Raises:
            StoreError: it failed; or the connection broke, and whether it was carried out is not known.
        """
        try:
            with contextlib.closing(self._engine.raw_connection()) as pooled:
                session = cast("psycopg.Connection[Any]", pooled.driver_connection)
                try:
                    session.autocommit = True
                    rows = session.execute(statement, values, prepare=True).fetchall()
                    session.autocommit = False
                except BaseException:
                    pooled.invalidate()
                    raise
                return rows
        except (psycopg.Error, SQLAlchemyError, OSError) as error:
            raise explained(error, self.url) from error

    def close(self) -> None:
        """Close the sessions."""
        self._engine.dispose()

    def _opened(self) -> psycopg.Connection[Any]:
        session = self._sessions.writing()
        try:
            session.execute(_IMPATIENT)
            session.commit()
        except BaseException:
            session.close()
            raise
        return session
