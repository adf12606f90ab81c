"""Passwords of users, as hashes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    """Create the table; no user had a password before."""
    op.create_table(
        "passwords",
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("changed_at", sa.REAL, nullable=False),
        sa.PrimaryKeyConstraint("user_name", name="pk_passwords"),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_passwords_user_name_users", ondelete="CASCADE"),
    )
