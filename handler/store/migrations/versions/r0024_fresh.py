"""Groups that were never known before, and the names of all that were: a sequence for each of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Add the column; every group that is there is known, and so is its name from now on."""
    op.add_column("groups", sa.Column("fresh", sa.Boolean, nullable=False, server_default=sa.false()))
    op.execute(
        "INSERT INTO sequences (group_id, last) "
        "SELECT id, 0 FROM groups WHERE id NOT IN (SELECT group_id FROM sequences)"
    )
