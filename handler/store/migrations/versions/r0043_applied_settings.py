"""What persons applied last of settings, so that they can go back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0038"


def upgrade() -> None:
    """Create the table; before, settings were applied by an editor and a reload."""
    op.create_table(
        "applied_settings",
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("applied", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("group_id", name="pk_applied_settings"),
        sa.ForeignKeyConstraint(["group_id"], ["groups.id"], name="fk_applied_settings_group_id", ondelete="CASCADE"),
    )
