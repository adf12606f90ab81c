"""Alerts from outside: what they signal, through which webhooks they come, and what was told."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the tables; nothing that is there changes."""
    _create_signals()
    _create_hooks()
    _create_deliveries()


def _create_signals() -> None:
    op.create_table(
        "signals",
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("alert", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("size", sa.Integer),
        sa.Column("since", sa.REAL, nullable=False),
        sa.Column("until", sa.REAL, nullable=False),
        sa.PrimaryKeyConstraint("group_id", "alert", "key", "kind", name="pk_signals"),
        sa.ForeignKeyConstraint(["group_id"], ["groups.id"], name="fk_signals_group_id", ondelete="CASCADE"),
    )


def _create_hooks() -> None:
    op.create_table(
        "hooks",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("old_token", sa.Text),
        sa.Column("old_until", sa.REAL),
        sa.Column("groups", sa.Text, nullable=False),
        sa.Column("effects", sa.Text, nullable=False),
        sa.Column("directions", sa.Text, nullable=False),
        sa.Column("hmac_secret", sa.Text),
        sa.Column("created_at", sa.REAL, nullable=False),
        sa.Column("revoked_at", sa.REAL),
        sa.Column("last_used_at", sa.REAL),
        sa.PrimaryKeyConstraint("id", name="pk_hooks"),
        sa.UniqueConstraint("name", name="uq_hooks_name"),
    )


def _create_deliveries() -> None:
    op.create_table(
        "deliveries",
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("alert", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("starts_at", sa.REAL, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
        sa.Column("decision", sa.Text, nullable=False),
        sa.Column("last_at", sa.REAL, nullable=False),
        sa.PrimaryKeyConstraint("group_id", "alert", "fingerprint", "starts_at", "status", name="pk_deliveries"),
    )
    op.create_index("ix_deliveries_last_at", "deliveries", ["last_at"])
