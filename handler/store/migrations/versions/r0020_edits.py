"""What the file said, and what was edited in it for each group."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from handler.store.columns import NUMBER

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Create the tables; the next file that is taken has nothing to be compared with."""
    op.create_table(
        "statements",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_statements"),
    )
    op.create_table(
        "edits",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("edits", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_edits"),
    )
    op.create_index("ix_edits_group_id_at", "edits", ["group_id", "at"])
