"""Short transactions of a worker beside its store's writer, in sessions of their own: no long write delays them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from sqlalchemy import Connection, Double, QueuePool, create_engine, func
from sqlalchemy.exc import SQLAlchemyError

from config.units import Seconds
from handler.store.postgresql_sessions import PostgresqlSessions, explained

CLOCK = func.date_part("epoch", func.clock_timestamp(), type_=Double)
"""The database's time, in seconds since the epoch."""
_IMPATIENT = "SET LOCAL statement_timeout = '5s'; SET LOCAL lock_timeout = '3s'"


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
        sessions = PostgresqlSessions(url, password, now, of_worker=name)
        self._engine = create_engine(
            "postgresql+psycopg://",
            creator=sessions.writing,
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
                connection.exec_driver_sql(_IMPATIENT)
                yield connection
        except (SQLAlchemyError, OSError) as error:
            raise explained(error, self.url) from error

    def close(self) -> None:
        """Close the sessions."""
        self._engine.dispose()
