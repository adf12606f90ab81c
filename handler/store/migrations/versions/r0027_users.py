"""Users and their bearer tokens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Create the tables; without a first user everything stays as it was."""
    op.create_table(
        "users",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("groups", sa.Text),
        sa.Column("created_at", sa.REAL, nullable=False),
        sa.Column("disabled_at", sa.REAL),
        sa.PrimaryKeyConstraint("name", name="pk_users"),
    )
    op.create_table(
        "tokens",
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("old_digest", sa.Text),
        sa.Column("old_expires_at", sa.REAL),
        sa.Column("groups", sa.Text),
        sa.Column("verbs", sa.Text),
        sa.Column("created_at", sa.REAL, nullable=False),
        sa.Column("expires_at", sa.REAL),
        sa.Column("last_used_at", sa.REAL),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_tokens_user_name_users", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_name", "name", name="pk_tokens"),
    )
