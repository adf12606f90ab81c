"""Balancers that were made for groups, and by which ids balancers know members."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Create the table and the column; before, nothing was made, and the next look at each balancer tells the ids."""
    op.add_column("members", sa.Column("seats", sa.Text, nullable=False, server_default="[]"))
    op.create_table(
        "bindings",
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("balancer", sa.Text, nullable=False),
        sa.Column("binding", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("group_id", "balancer", name="pk_bindings"),
        sa.ForeignKeyConstraint(["group_id"], ["groups.id"], name="fk_bindings_group_id", ondelete="CASCADE"),
    )
