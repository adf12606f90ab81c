"""Priorities of workers; until now all had the same."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0056"
down_revision = "0055"


def upgrade() -> None:
    """Add the column."""
    op.add_column("workers", sa.Column("priority", sa.Integer, nullable=False, server_default=sa.text("0")))
