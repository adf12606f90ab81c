"""The turns of groups in their service: which group scales, and which requests wait."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column; no earlier request waits."""
    op.add_column("groups", sa.Column("turn", sa.Text, nullable=False, server_default='{"type":"Turn"}'))
