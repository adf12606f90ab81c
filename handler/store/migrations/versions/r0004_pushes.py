"""Webhooks through which values come in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column; those that are there take alerts, as they did."""
    op.add_column("hooks", sa.Column("pushes", sa.Boolean, nullable=False, server_default=sa.false()))
