"""Groups whose store may be older than the fleet, until a person confirms it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the column; no group is in doubt."""
    op.add_column("groups", sa.Column("older", sa.Text))
