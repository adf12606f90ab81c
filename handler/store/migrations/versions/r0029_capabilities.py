"""Webhooks that execute a policy or have groups looked at."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Add the columns; the webhooks that are there go on as they did."""
    op.add_column("hooks", sa.Column("policy", sa.Text))
    op.add_column("hooks", sa.Column("observes", sa.Boolean, nullable=False, server_default=sa.false()))
