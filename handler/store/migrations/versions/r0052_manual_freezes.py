"""Freezes of persons beside the signals of alerts: who froze a group, and why."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"


def upgrade() -> None:
    """Add the columns; what there is already is of alerts."""
    for name in ("by", "because"):
        op.add_column("signals", sa.Column(name, sa.Text, nullable=False, server_default=sa.text("''")))
