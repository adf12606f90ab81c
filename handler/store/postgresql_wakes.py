"""Notifications of PostgreSQL (NOTIFY), by which one worker wakes another that would otherwise find out by looking.

A notification may be lost, with the session that listens: whatever waits for one looks from time to time as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
from sqlalchemy import Select, func, select

from config.units import Seconds
from handler.store.postgresql_sessions import PostgresqlSessions, explained

_OF_WAKES = "trimtab wakes"
_CHANNEL = "trimtab_relay"


def notification(what: str) -> Select[tuple[Any]]:
    """Return the statement that sends a notification once its transaction has committed."""
    return select(func.pg_notify(_CHANNEL, what))


class PostgresqlWakes:
    """A session that hears the notifications of all workers over one database."""

    def __init__(self, url: str, password: Callable[[], str | None], now: Callable[[], Seconds]) -> None:
        """Prepare; nothing is connected yet. ``now`` is a clock that is never set."""
        self.url = url
        self._sessions = PostgresqlSessions(url, password, now, of_worker=_OF_WAKES)
        self._session: psycopg.Connection[Any] | None = None

    def connect(self) -> int:
        """Begin to hear, and return the descriptor that is readable when there is something to `read`. It blocks.

        Raises:
            StoreError: the database cannot be reached, or was not reachable just now.
        """
        self.close()
        try:
            self._session = self._sessions.listening(_CHANNEL)
        except (psycopg.Error, OSError) as error:
            raise explained(error, self.url) from error
        return self._session.fileno()

    def read(self) -> frozenset[str]:
        """Return what has been notified since; it does not block.

        Raises:
            StoreError: the session is lost, and maybe notifications with it.
        """
        if self._session is None:
            return frozenset()
        try:
            return frozenset(each.payload for each in self._session.notifies(timeout=0))
        except (psycopg.Error, OSError) as error:
            raise explained(error, self.url) from error

    def close(self) -> None:
        """End the session, if there is one."""
        session, self._session = self._session, None
        if session is not None:
            session.close()
