"""The tables of users, tokens and webhooks, and of what was asked with them; the others are in `schema`."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from config.model.access import SecretRef
from config.model.effects import EffectKind
from config.units import GroupId
from handler.identity.rights import UserRole, Verb
from handler.ports.alerts import TokenHash
from handler.store.columns import METADATA, NUMBER, SECONDS, JsonColumn, Word
from trigger.verdicts import Direction

users = Table(
    "users",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("uuid", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("display_name", Text, nullable=False),
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

passwords = Table(
    "passwords",
    METADATA,
    Column("user_name", Text, ForeignKey("users.name", ondelete="CASCADE"), key="user", primary_key=True),
    Column("hash", Text, nullable=False),
    Column("changed_at", SECONDS, nullable=False),
)

key_pairs = Table(
    "key_pairs",
    METADATA,
    Column("user_name", Text, ForeignKey("users.name", ondelete="CASCADE"), key="user", primary_key=True),
    Column("name", Text, primary_key=True),
    Column("api_key", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("old_api_key", Text),
    Column("old_secret", Text),
    Column("old_expires_at", SECONDS),
    Column("created_at", SECONDS, nullable=False),
    Column("expires_at", SECONDS),
    Column("last_used_at", SECONDS),
    UniqueConstraint("api_key"),
)
"""Secret keys are sealed; the key of the seal is outside the store."""

audit = Table(
    "audit",
    METADATA,
    Column("number", NUMBER, primary_key=True, autoincrement=False),
    Column("at", SECONDS, nullable=False),
    Column("line", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Index(None, "at"),
)

keyed_calls = Table(
    "keyed_calls",
    METADATA,
    Column("caller", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("at", SECONDS, nullable=False),
    Column("status", Integer),
    Column("body", Text),
    Index(None, "at"),
)
"""Requests with an idempotency key, which is hashed; a row without a status has not been answered."""

hooks = Table(
    "hooks",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("token", JsonColumn(TokenHash), nullable=False),
    Column("old_token", JsonColumn(TokenHash)),
    Column("old_until", SECONDS),
    Column("groups", JsonColumn(tuple[GroupId, ...]), nullable=False),
    Column("effects", JsonColumn(tuple[EffectKind, ...]), nullable=False),
    Column("directions", JsonColumn(tuple[Direction, ...]), nullable=False),
    Column("hmac_secret", JsonColumn(SecretRef)),
    Column("pushes", Boolean, nullable=False),
    Column("policy", Text),
    Column("observes", Boolean, nullable=False),
    Column("created_at", SECONDS, nullable=False),
    Column("revoked_at", SECONDS),
    Column("last_used_at", SECONDS),
    UniqueConstraint("name"),
)
