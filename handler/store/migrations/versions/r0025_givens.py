"""What decisions were given that follows from no sample: replay repeats them by it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from handler.store.columns import NUMBER

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Create the table; decisions of before stay without."""
    op.create_table(
        "givens",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
        sa.Column("given", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_givens"),
    )
    op.create_index("ix_givens_at", "givens", ["at"])
