"""Requests with an idempotency key, and their answers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    """Create the table; no key was kept before."""
    op.create_table(
        "keyed_calls",
        sa.Column("caller", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("body", sa.Text),
        sa.PrimaryKeyConstraint("caller", "key", name="pk_keyed_calls"),
    )
    op.create_index("ix_keyed_calls_at", "keyed_calls", ["at"])
