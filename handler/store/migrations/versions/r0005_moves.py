"""Changes of size that guards count: most in a span of time, flap damping."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column; what moved before is not known, and counts for nothing."""
    op.add_column("groups", sa.Column("moves", sa.Text, nullable=False, server_default="[]"))
