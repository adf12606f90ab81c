"""An index of the steps that have no result yet."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Create the index: a daemon that starts looks for calls during which an earlier one ended."""
    is_open = sa.text("result IS NULL")
    op.create_index("ix_steps_open", "steps", ["group_id"], sqlite_where=is_open, postgresql_where=is_open)
