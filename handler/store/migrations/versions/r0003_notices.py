"""What is to be told of groups in trouble, and what was told."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from handler.store.columns import NUMBER

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the table; nothing that is there changes."""
    op.create_table(
        "notices",
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
        sa.Column("notice", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_at", sa.REAL),
        sa.Column("delivered_at", sa.REAL),
        sa.PrimaryKeyConstraint("number", name="pk_notices"),
        sa.UniqueConstraint("id", name="uq_notices_id"),
    )
    op.create_index("ix_notices_group_id", "notices", ["group_id"])
    op.create_index("ix_notices_next_at", "notices", ["next_at"])
