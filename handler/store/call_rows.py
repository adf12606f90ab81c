"""The store's rows of requests with an idempotency key, and of their answers."""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select, update

from config.units import Seconds
from handler.ports.identity import StoredCall
from handler.store.access_schema import keyed_calls
from handler.store.rows import named
from handler.store.schema import every
from handler.store.session import StoreSession

_AT = keyed_calls.c.at
_OLDER: Seconds = 0.001
"""What is from a time that a clock has left is so much older than what comes next."""


def begin_call(connection: Connection, call: StoredCall, lasts: Seconds, at_most: int) -> StoredCall | None:
    """Return the row with this caller and key; ``None``: there was none, and this one is written."""
    connection.execute(delete(keyed_calls).where(call.at - lasts > _AT))
    # A clock that was set back must make no row last longer, nor newer than this one, which would be evicted for it.
    connection.execute(update(keyed_calls).where(call.at < _AT).values(at=call.at - _OLDER))
    own = keyed_calls.c.caller == call.caller
    found = connection.execute(every(keyed_calls).where(own, keyed_calls.c.key == call.key)).mappings().first()
    if found is not None:
        return StoredCall(**named(found))
    kept = select(keyed_calls.c.key).where(own).order_by(_AT.desc()).limit(at_most - 1)
    connection.execute(delete(keyed_calls).where(own, keyed_calls.c.key.not_in(kept)))
    values = {name: getattr(call, name) for name in ("caller", "key", "fingerprint", "at", "status", "body")}
    connection.execute(insert(keyed_calls).values(values))
    return None


class CallRows(StoreSession):
    """Requests with an idempotency key."""

    def begin_call(self, call: StoredCall, lasts: Seconds, at_most: int) -> StoredCall | None:
        """Return what is kept of the first request with this caller and key; ``None``: this is it, and is written.

        Rows older than ``lasts`` are deleted first, and then the caller's oldest beyond ``at_most``.
        """
        return self._writer.do(lambda connection: begin_call(connection, call, lasts, at_most))

    def end_call(self, caller: str, key: str, status: int, body: str | None) -> None:
        """Write a request's answer; ``body`` is ``None`` if it is not kept."""
        own = (keyed_calls.c.caller == caller) & (keyed_calls.c.key == key)
        ended = update(keyed_calls).where(own).values(status=status, body=body)
        self._writer.do(lambda connection: connection.execute(ended))

    def forget_call(self, caller: str, key: str) -> None:
        """Delete the row of a request that was not carried out."""
        own = (keyed_calls.c.caller == caller) & (keyed_calls.c.key == key)
        self._writer.do(lambda connection: connection.execute(delete(keyed_calls).where(own)))

    def calls(self) -> tuple[StoredCall, ...]:
        """Return every row, sorted by caller and key."""
        wanted = every(keyed_calls).order_by(keyed_calls.c.caller, keyed_calls.c.key)
        with self._snapshot() as connection:
            return tuple(StoredCall(**named(row)) for row in connection.execute(wanted).mappings())
