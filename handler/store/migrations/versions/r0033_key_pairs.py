"""Key pairs of users, whose secret keys are sealed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    """Create the table; no user had a key pair before."""
    op.create_table(
        "key_pairs",
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("api_key", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("old_api_key", sa.Text),
        sa.Column("old_secret", sa.Text),
        sa.Column("old_expires_at", sa.REAL),
        sa.Column("created_at", sa.REAL, nullable=False),
        sa.Column("expires_at", sa.REAL),
        sa.Column("last_used_at", sa.REAL),
        sa.PrimaryKeyConstraint("user_name", "name", name="pk_key_pairs"),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_key_pairs_user_name_users", ondelete="CASCADE"),
        sa.UniqueConstraint("api_key", name="uq_key_pairs_api_key"),
    )
