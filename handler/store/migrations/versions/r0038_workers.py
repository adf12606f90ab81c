"""Workers on one store: their lease, who they are, and the windows that they hand over."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from handler.store.columns import NUMBER

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    """Create the tables; before, one daemon at a time ran over a store."""
    op.create_table(
        "lease",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("epoch", NUMBER, nullable=False),
        sa.Column("process", sa.Text, nullable=False),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("renewals", NUMBER, nullable=False),
        sa.Column("span", sa.REAL, nullable=False),
        sa.Column("expires_at", sa.REAL, nullable=False),
        sa.Column("declaration", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_lease"),
    )
    op.create_table(
        "workers",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("process", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("started_at", sa.REAL, nullable=False),
        sa.Column("seen_at", sa.REAL, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_workers"),
    )
    op.create_table(
        "checkpoints",
        sa.Column("slot", sa.Text, nullable=False),
        sa.Column("ring", NUMBER, autoincrement=False, nullable=False),
        sa.Column("place", NUMBER, autoincrement=False, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("slot", "ring", "place", name="pk_checkpoints"),
    )
