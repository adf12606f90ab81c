"""Since when each member fails the health checks of its balancers: a restart does not begin that time anew."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the column; no earlier member counts as failing."""
    op.add_column("members", sa.Column("failing_since", sa.REAL))
