"""Where the store is."""

from __future__ import annotations

from dataclasses import dataclass

from config.model.access import SecretRef


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresqlPlace:
    """A database of a PostgreSQL server."""

    url: str
    """As libpq reads it, without a password."""
    password: SecretRef | None = None
    """``None``: the server asks for none, or libpq finds it (a password file, a certificate)."""
