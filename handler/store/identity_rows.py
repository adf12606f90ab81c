"""The store's rows of users and their tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from sqlalchemy import Connection, bindparam, delete, select, update

from config.units import Instant
from handler.identity.grants import Anonymous
from handler.ports.identity import StoredToken, StoredUser, TokenKey, user_caller
from handler.store.access_schema import keyed_calls, tokens, users
from handler.store.rows import named
from handler.store.schema import every, meta
from handler.store.session import StoreSession
from handler.store.upserts import greater, insert_or_update

_ANONYMOUS = "anonymous"
_USER = tuple(field.name for field in fields(StoredUser))
_TOKEN = tuple(field.name for field in fields(StoredToken))
_WRITE_META = insert_or_update(meta)
_WRITE_USER = insert_or_update(users)
_WRITE_TOKEN = insert_or_update(tokens, rising=("last_used_at",))
_USED = (
    update(tokens)
    .where(tokens.c.user == bindparam("of_user"), tokens.c.name == bindparam("of_name"))
    .values(last_used_at=greater(tokens.c.last_used_at, bindparam("used_at", type_=tokens.c.last_used_at.type)))
)


def read_users(connection: Connection) -> tuple[StoredUser, ...]:
    """Read every user, sorted by name."""
    rows = connection.execute(every(users).order_by(users.c.name)).mappings()
    return tuple(StoredUser(**named(row)) for row in rows)


def read_tokens(connection: Connection) -> tuple[StoredToken, ...]:
    """Read every token, sorted by user and name."""
    rows = connection.execute(every(tokens).order_by(tokens.c.user, tokens.c.name)).mappings()
    return tuple(StoredToken(**named(row)) for row in rows)


def read_anonymous(connection: Connection) -> Anonymous | None:
    """Read what requests without a credential may do."""
    found = connection.execute(select(meta.c.value).where(meta.c.name == _ANONYMOUS)).scalar()
    return None if found is None else Anonymous(found)


def write_user(connection: Connection, user: StoredUser) -> None:
    """Insert or replace a user."""
    _WRITE_USER.write(connection, {name: getattr(user, name) for name in _USER})


def write_token(connection: Connection, token: StoredToken) -> None:
    """Insert or replace a token."""
    _WRITE_TOKEN.write(connection, {name: getattr(token, name) for name in _TOKEN})


def write_anonymous(connection: Connection, allowed: Anonymous) -> None:
    """Write what requests without a credential may do."""
    _WRITE_META.write(connection, {"name": _ANONYMOUS, "value": allowed.value})


def _write_uses(connection: Connection, used: Mapping[TokenKey, Instant]) -> None:
    rows = [{"of_user": user, "of_name": name, "used_at": at} for (user, name), at in used.items()]
    if rows:
        connection.execute(_USED, rows)


class IdentityRows(StoreSession):
    """Users, their tokens, and what requests without a credential may do."""

    def anonymous(self) -> Anonymous | None:
        """Return what requests without a credential may do; ``None``: users were never begun with."""
        with self._snapshot() as connection:
            return read_anonymous(connection)

    def save_anonymous(self, allowed: Anonymous) -> None:
        """Write what requests without a credential may do."""
        self._writer.do(lambda connection: write_anonymous(connection, allowed))

    def users(self) -> tuple[StoredUser, ...]:
        """Return every user, sorted by name."""
        with self._snapshot() as connection:
            return read_users(connection)

    def begin_users(self, first: StoredUser, allowed: Anonymous) -> None:
        """Write the first user, and what requests without a credential may do, in one transaction."""

        def write(connection: Connection) -> None:
            write_user(connection, first)
            write_anonymous(connection, allowed)

        self._writer.do(write)

    def save_user(self, user: StoredUser) -> None:
        """Insert or replace a user."""
        self._writer.do(lambda connection: write_user(connection, user))

    def delete_user(self, name: str) -> None:
        """Delete a user, its tokens, and the answers that are kept for it."""

        def write(connection: Connection) -> None:
            connection.execute(delete(users).where(users.c.name == name))
            connection.execute(delete(keyed_calls).where(keyed_calls.c.caller == user_caller(name)))

        self._writer.do(write)

    def tokens(self) -> tuple[StoredToken, ...]:
        """Return every token, sorted by user and name."""
        with self._snapshot() as connection:
            return read_tokens(connection)

    def save_token(self, token: StoredToken) -> None:
        """Insert or replace a token; its last use only moves forward."""
        self._writer.do(lambda connection: write_token(connection, token))

    def delete_token(self, key: TokenKey) -> None:
        """Delete a token, and the one before it."""
        gone = delete(tokens).where(tokens.c.user == key[0], tokens.c.name == key[1])
        self._writer.do(lambda connection: connection.execute(gone))

    def use_tokens(self, used: Mapping[TokenKey, Instant]) -> None:
        """Write when tokens were last used, in one transaction; unknown tokens are left out."""
        self._writer.do(lambda connection: _write_uses(connection, used))
