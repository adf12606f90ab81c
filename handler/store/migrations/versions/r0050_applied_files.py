"""The file that a person applies for all daemons over the store."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from handler.store.columns import NUMBER

revision = "0050"
down_revision = "0044"


def upgrade() -> None:
    """Create the table; before, each daemon went by its own machine's file."""
    op.create_table(
        "applied_files",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("revision", NUMBER, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("sealed", sa.Text),
        sa.PrimaryKeyConstraint("name", name="pk_applied_files"),
    )
