"""The port to stored passwords, as hashes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from config.units import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPassword:
    """A user's password, as its hash."""

    user: str
    hash: str = field(repr=False)
    """Argon2id in PHC's form, with its parameters and salt (RFC 9106)."""
    changed_at: Instant


class PasswordStore(Protocol):
    """The part of the store for passwords; a user's goes with it."""

    def passwords(self) -> tuple[StoredPassword, ...]:
        """Return every password, sorted by user."""
        ...

    def save_password(self, password: StoredPassword) -> None:
        """Insert or replace a user's password."""
        ...

    def delete_password(self, user: str) -> None:
        """Delete a user's password."""
        ...
