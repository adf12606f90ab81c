"""Removals that get stuck, machines that were given, and what was abandoned."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the columns and the table: members of before were all made here, and nothing was ever abandoned."""
    op.add_column("members", sa.Column("given", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("members", sa.Column("removal_at", sa.REAL))
    op.add_column("members", sa.Column("removal_tried_at", sa.REAL))
    op.create_table(
        "abandoned",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("cloud", sa.Text, nullable=False),
        sa.Column("server_id", sa.Text),
        sa.Column("at", sa.REAL, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_abandoned"),
    )
