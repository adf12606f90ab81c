"""Ended spans in compressed blocks; the spans that are there are packed by the next pruning."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from handler.store.columns import NUMBER

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "span_blocks",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("first_at", sa.REAL, nullable=False),
        sa.Column("last_begun", sa.REAL, nullable=False),
        sa.Column("last_at", sa.REAL, nullable=False),
        sa.Column("spans", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_span_blocks"),
    )
    op.create_index("ix_span_blocks_group_id_first_at", "span_blocks", ["group_id", "first_at"])
    op.create_index("ix_span_blocks_last_at", "span_blocks", ["last_at"])
