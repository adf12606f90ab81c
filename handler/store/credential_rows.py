"""The store's rows of users' passwords and key pairs. Secret keys are sealed before they come here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from sqlalchemy import Connection, bindparam, delete, update

from config.units import Instant
from handler.ports.credentials import PairKey, StoredKeyPair, StoredPassword
from handler.store.access_schema import key_pairs, passwords
from handler.store.rows import named
from handler.store.schema import every
from handler.store.session import StoreSession
from handler.store.upserts import greater, insert_or_update

_PASSWORD = tuple(field.name for field in fields(StoredPassword))
_WRITE_PASSWORD = insert_or_update(passwords)


_PAIR = tuple(field.name for field in fields(StoredKeyPair))
_WRITE_PAIR = insert_or_update(key_pairs, rising=("last_used_at",))
_USED = (
    update(key_pairs)
    .where(key_pairs.c.user == bindparam("of_user"), key_pairs.c.name == bindparam("of_name"))
    .values(last_used_at=greater(key_pairs.c.last_used_at, bindparam("used_at", type_=key_pairs.c.last_used_at.type)))
)


class PasswordRows(StoreSession):
    """Passwords of users, as hashes."""

    def passwords(self) -> tuple[StoredPassword, ...]:
        """Return every password, sorted by user."""
        with self._snapshot() as connection:
            rows = connection.execute(every(passwords).order_by(passwords.c.user)).mappings()
            return tuple(StoredPassword(**named(row)) for row in rows)

    def save_password(self, password: StoredPassword) -> None:
        """Insert or replace a user's password."""
        row = {name: getattr(password, name) for name in _PASSWORD}
        self._writer.do(lambda connection: _WRITE_PASSWORD.write(connection, row))

    def delete_password(self, user: str) -> None:
        """Delete a user's password."""
        gone = delete(passwords).where(passwords.c.user == user)
        self._writer.do(lambda connection: connection.execute(gone))


class KeyPairRows(StoreSession):
    """Key pairs of users."""

    def key_pairs(self) -> tuple[StoredKeyPair, ...]:
        """Return every pair, sorted by user and name."""
        with self._snapshot() as connection:
            rows = connection.execute(every(key_pairs).order_by(key_pairs.c.user, key_pairs.c.name)).mappings()
            return tuple(StoredKeyPair(**named(row)) for row in rows)

    def save_key_pairs(self, pairs: tuple[StoredKeyPair, ...]) -> None:
        """Insert or replace pairs in one transaction; a last use only moves forward."""

        def write(connection: Connection) -> None:
            for pair in pairs:
                _WRITE_PAIR.write(connection, {name: getattr(pair, name) for name in _PAIR})

        self._writer.do(write)

    def delete_key_pair(self, key: PairKey) -> None:
        """Delete a pair, and the one before it."""
        gone = delete(key_pairs).where(key_pairs.c.user == key[0], key_pairs.c.name == key[1])
        self._writer.do(lambda connection: connection.execute(gone))

    def use_key_pairs(self, used: Mapping[PairKey, Instant]) -> None:
        """Write when pairs were last used, in one transaction; unknown ones are left out."""
        rows = [{"of_user": user, "of_name": name, "used_at": at} for (user, name), at in used.items()]
        if rows:
            self._writer.do(lambda connection: connection.execute(_USED, rows))
