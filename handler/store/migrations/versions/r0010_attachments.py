"""Balancers that groups were put behind by a person, and those that members are to leave though they stay."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the table and the column; no earlier member was attached or detached."""
    op.add_column("members", sa.Column("detaching", sa.Text, nullable=False, server_default="[]"))
    op.create_table(
        "attachments",
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("balancer", sa.Text, nullable=False),
        sa.Column("port", sa.Integer, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
        sa.PrimaryKeyConstraint("group_id", "balancer", name="pk_attachments"),
        sa.ForeignKeyConstraint(["group_id"], ["groups.id"], name="fk_attachments_group_id", ondelete="CASCADE"),
    )
