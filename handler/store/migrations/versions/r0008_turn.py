"""Where groups stand among those of their service: who scales, and which wishes wait for their turn."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column; before it nobody waited."""
    op.add_column("groups", sa.Column("turn", sa.Text, nullable=False, server_default='{"type":"Turn"}'))
