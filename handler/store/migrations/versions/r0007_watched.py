"""Which times of a group's schedules were answered: none is carried out twice, and none is lost."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column; schedules of before are new, and begin now."""
    op.add_column("groups", sa.Column("watched", sa.Text, nullable=False, server_default="[]"))
