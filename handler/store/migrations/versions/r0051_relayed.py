"""Requests that standbys put down for the holder."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from handler.store.columns import NUMBER

revision = "0051"
down_revision = "0050"


def upgrade() -> None:
    """Create the table; before, a standby sent every request away."""
    op.create_table(
        "relayed",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
        sa.Column("epoch", NUMBER, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("taken_up", NUMBER),
        sa.Column("answer", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_relayed"),
    )
