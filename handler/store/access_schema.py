"""The tables of users and of what they did; the others are in `schema`."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text

from config.units import GroupId
from handler.identity.rights import Verb
from handler.identity.roles import UserRole
from handler.store.columns import METADATA, SECONDS, JsonColumn, Word

users = Table(
    "users",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("role", Word(UserRole), nullable=False),
    Column("groups", JsonColumn(tuple[GroupId, ...])),
    Column("created_at", SECONDS, nullable=False),
    Column("disabled_at", SECONDS),
)

tokens = Table(
    "tokens",
    METADATA,
    Column("user_name", Text, ForeignKey("users.name", ondelete="CASCADE"), key="user", primary_key=True),
    Column("name", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("old_digest", Text),
    Column("old_expires_at", SECONDS),
    Column("groups", JsonColumn(tuple[GroupId, ...])),
    Column("verbs", JsonColumn(tuple[Verb, ...])),
    Column("created_at", SECONDS, nullable=False),
    Column("expires_at", SECONDS),
    Column("last_used_at", SECONDS),
)

audit = Table(
    "audit",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", SECONDS, nullable=False),
    Column("line", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Index(None, "at"),
)
