"""What each member was made of: the oldest profile may leave first."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the column; what members of before were made of is not known."""
    op.add_column("members", sa.Column("profile", sa.Text))
