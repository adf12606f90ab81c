"""Calls that keep failing, member by member: how often, and until when they are not made again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the column; nothing is known to have failed."""
    op.add_column("members", sa.Column("attempts", sa.Text, nullable=False, server_default="[]"))
