"""What the builds were made with that failed in a row."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add the column; a back-off of before ends by itself, within 15 minutes."""
    op.add_column("groups", sa.Column("builds_of", sa.Text))
