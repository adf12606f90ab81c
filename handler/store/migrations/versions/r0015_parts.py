"""What each member has beside its machine: it goes when the member goes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the column; members of before have no parts."""
    op.add_column("members", sa.Column("parts", sa.Text, nullable=False, server_default="[]"))
