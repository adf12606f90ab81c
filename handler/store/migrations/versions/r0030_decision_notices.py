"""Notices of decisions, beside those of trouble."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    """Add the column; the notices that are there are of trouble."""
    op.add_column("notices", sa.Column("kind", sa.Text, nullable=False, server_default="trouble"))
