"""The SQLite store's rows of passwords."""

from __future__ import annotations

from dataclasses import fields

from sqlalchemy import delete

from handler.ports.passwords import StoredPassword
from handler.store.access_schema import passwords
from handler.store.rows import named
from handler.store.schema import every
from handler.store.session import StoreSession
from handler.store.upserts import insert_or_update

_PASSWORD = tuple(field.name for field in fields(StoredPassword))
_WRITE = insert_or_update(passwords)


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
        self._writer.do(lambda connection: _WRITE.write(connection, row))

    def delete_password(self, user: str) -> None:
        """Delete a user's password."""
        gone = delete(passwords).where(passwords.c.user == user)
        self._writer.do(lambda connection: connection.execute(gone))
