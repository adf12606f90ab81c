"""PostgreSQL: sessions with the server, with back-off, and what its errors mean for an operator.

The session that writes holds an advisory lock for as long as it lives: one daemon writes a store. A session that ends
frees it, whatever ended it; one whose machine is cut off ends after 11 seconds, by keep-alives. Workers share
the lock among each other, since their lease tells which one writes; a daemon that is no worker does not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier
from psycopg.types.string import StrDumperUnknown
from sqlalchemy.exc import DBAPIError, PendingRollbackError

from config.errors import Refused, StoreError
from config.units import Seconds

_PAUSES: tuple[Seconds, Seconds] = (0.1, 5.0)
"""The first and the longest pause between two attempts to connect."""
_LOCK = 0x5472696D
"""The first key of the advisory lock; the second is the schema's."""
_SETTINGS = {
    "lock_timeout": "10s",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
}
_READS = {"default_transaction_isolation": r"repeatable\ read"}
_LIVELY: dict[str, Any] = {
    "application_name": "trimtab",
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 11_000,
}
_SESSIONS_WITH_LOCK = (
    "FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE granted AND locktype = 'advisory' AND "  # noqa: S608  # constants
    f"classid = {_LOCK} AND objid = current_schema()::regnamespace::oid AND "
    "pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
"""The server lists locks of all its databases, and schemas of two databases may have one number."""
_HOLDER = (
    "SELECT coalesce(host(client_addr), 'this machine') || ', session ' || pid, mode = 'ShareLock' "
    + _SESSIONS_WITH_LOCK
)
_TAKE_LOCK = "SELECT pg_advisory_lock(%s, current_schema()::regnamespace::oid::integer)"
_SHARE_LOCK = _TAKE_LOCK.replace("_lock(", "_lock_shared(")
_PATIENCE = "SELECT set_config('lock_timeout', %s, false)"
_HANDED_OVER = "1s"
"""A session that was closed holds its lock until the server has seen that."""
OF_WRITER = "trimtab writer"
"""What sessions of a worker's store are called in the server."""
END_WRITERS = f"SELECT count(pg_terminate_backend(pid)) {_SESSIONS_WITH_LOCK} AND application_name = '{OF_WRITER}'"
"""Ends the sessions in which workers write this store. A worker that is stopped in the middle of a transaction would
keep its locks for ever; one that runs opens another session."""

_ADVICE = {
    "53100": "its disk is full: free space on it, or lower the history's disk budget",
    "533": "it has too many sessions: raise max_connections, or the role's CONNECTION LIMIT",
    "28": "it refuses this user: check the user, the password that the file refers to, and the server's pg_hba.conf",
    "3D000": "there is no such database: CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'",
    "42501": "this user lacks rights: let it own the database or the schema",
    "25006": "it only reads: name the primary, or all hosts and target_session_attrs=read-write",
    "25P03": "this machine was too slow: it was stopped, or is too busy, in the middle of a transaction",
    "57P": "it is stopping or starting; the daemon goes on by itself when it is back",
    "55P03": "another session holds a lock: end that session (a migration, a shell)",
    "58": "its disk fails: see the server's log",
    "XX": "it is damaged: see the server's log, and restore a dump",
}


class _Text(StrDumperUnknown):
    """PostgreSQL's texts hold no NUL, and messages of clouds may."""

    def dump(self, obj: str) -> Any:  # noqa: ANN401 - as psycopg declares it
        return super().dump(obj.replace("\0", "\ufffd"))


class PostgresqlSessions:
    """Opens sessions with one database. After a failure, nothing is tried until a growing pause is over."""

    def __init__(
        self, url: str, password: Callable[[], str | None], now: Callable[[], Seconds], *, of_worker: str = ""
    ) -> None:
        """Take the address, how to get the password, and a clock that is never set.

        ``of_worker`` is what a worker's sessions are called in the server; empty: the daemon is no worker.
        """
        self.url = url
        self._of_worker = of_worker
        self._password = password
        self._now = now
        self._turn = threading.Lock()
        self._pause = 0.0
        self._next = 0.0
        self._failure = ""

    def reading(self) -> psycopg.Connection[Any]:
        """Open a session whose transactions only read. Raises as `writing`.

        That is no setting of the session: libpq would then find no host that writes (`target_session_attrs`).
        """
        session = self._opened(_READS)
        session.read_only = True
        return session

    def writing(self) -> psycopg.Connection[Any]:
        """Open the session that writes, and take the store's lock.

        Raises:
            StoreError: another daemon holds the lock, or the password cannot be read.
            psycopg.Error: it cannot be opened.
        """
        session = self._opened({})
        try:
            self._take_lock(session)
        except BaseException:
            session.close()
            raise
        return session

    def listening(self, channel: str) -> psycopg.Connection[Any]:
        """Open a session that hears the notifications of a channel, outside any transaction. It holds no lock.

        Raises as `writing`.
        """
        session = self._opened({})
        try:
            session.autocommit = True
            session.execute(SQL("LISTEN {}").format(Identifier(channel)))
        except BaseException:
            session.close()
            raise
        return session

    def _opened(self, settings: dict[str, str]) -> psycopg.Connection[Any]:
        with self._turn:
            if self._now() < self._next:
                raise psycopg.OperationalError(self._failure)
            try:
                session = self._connected(settings)
            except Refused as error:
                raise StoreError(f"store {self.url}: {error}") from error
            except psycopg.Error as error:
                first, longest = _PAUSES
                self._pause = min(max(2 * self._pause, first), longest)
                self._next, self._failure = self._now() + self._pause, str(error)
                raise
            self._pause = 0.0
        session.adapters.register_dumper(str, _Text)
        return session

    def _connected(self, settings: dict[str, str]) -> psycopg.Connection[Any]:
        own = str(conninfo_to_dict(self.url).get("options") or "")
        options = " ".join((own, *(f"-c {name}={value}" for name, value in {**_SETTINGS, **settings}.items())))
        parameters: dict[str, Any] = {"options": options.strip(), **_LIVELY}
        if self._of_worker:
            parameters["application_name"] = self._of_worker
        password = self._password()
        if password is not None:
            parameters["password"] = password
        return psycopg.connect(self.url, **parameters)

    def _take_lock(self, session: psycopg.Connection[Any]) -> None:
        """A commit that returns is durable, also where the server is set to lose the last ones."""
        session.autocommit = True
        durable = (
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
        session.execute(durable)
        session.execute(_PATIENCE, (_HANDED_OVER,))
        try:
            session.execute(_SHARE_LOCK if self._of_worker else _TAKE_LOCK, (_LOCK,))
        except psycopg.errors.LockNotAvailable as error:
            where, workers = session.execute(_HOLDER).fetchone() or ("unknown", False)
            remedy = "start this daemon with --worker NAME, too" if workers else "one daemon at a time"
            holder = "a worker" if workers else "another daemon"
            raise StoreError(f"store {self.url} is held by {holder} ({where}): {remedy}") from error
        session.execute(_PATIENCE, (_SETTINGS["lock_timeout"],))
        session.autocommit = False


def is_broken(error: BaseException) -> bool:
    """Tell whether the connection broke during a transaction, so that its outcome is not known."""
    return isinstance(error, PendingRollbackError) or (isinstance(error, DBAPIError) and error.connection_invalidated)


def explained(error: Exception, url: str) -> StoreError:
    """Return a failure's meaning and fix, without any value that was being written."""
    if isinstance(error, StoreError):
        return error
    cause = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(cause, psycopg.Error):
        return StoreError(f"store {url}: {cause}")
    code, message = cause.sqlstate or "", _primary(cause)
    advice = next((text for prefix, text in _ADVICE.items() if code.startswith(prefix)), "")
    if code or not isinstance(cause, psycopg.OperationalError):
        return StoreError(f"store {url}: {advice} ({code}: {message})" if advice else f"store {url}: {message}")
    return StoreError(f"store {url} cannot be reached: {message}; the daemon goes on by itself when it is back")


def _primary(error: psycopg.Error) -> str:
    """Return the message without its details, which hold values."""
    return error.diag.message_primary or str(error).partition("\n")[0]
