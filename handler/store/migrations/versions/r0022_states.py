"""Since when each member is in its state."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Create the table; what members' records do not say begins with the next pass."""
    op.create_table(
        "states",
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("member", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
        sa.PrimaryKeyConstraint("group_id", "member", name="pk_states"),
        sa.ForeignKeyConstraint(["group_id"], ["groups.id"], name="fk_states_group_id", ondelete="CASCADE"),
    )
