"""Members that were taken for gone and may come back: when they were first missed, and what size they lowered."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Add the columns; of those that are gone already, it is not known whether they were lost or left."""
    op.add_column("members", sa.Column("lost_at", sa.REAL))
    op.add_column("groups", sa.Column("shrunk", sa.Text))
