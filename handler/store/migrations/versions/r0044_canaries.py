"""Settings that are tried beside the declared ones, day after day."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "canaries",
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("canary", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("group_id", name="pk_canaries"),
        sa.ForeignKeyConstraint(["group_id"], ["groups.id"], name="fk_canaries_group_id", ondelete="CASCADE"),
    )
