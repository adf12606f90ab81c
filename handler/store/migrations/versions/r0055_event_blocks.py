"""Older decisions and their inputs in compressed blocks; what is there is packed by the next pruning."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from handler.store.columns import NUMBER

revision = "0055"
down_revision = "0052"


def upgrade() -> None:
    """Create the tables, and an index by which the inputs of one group are found."""
    op.create_table(
        "decision_blocks",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("first_at", sa.REAL, nullable=False),
        sa.Column("last_begun", sa.REAL, nullable=False),
        sa.Column("last_at", sa.REAL, nullable=False),
        sa.Column("decisions", sa.Integer, nullable=False),
        sa.Column("resized_at", sa.REAL),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_decision_blocks"),
    )
    op.create_table(
        "given_blocks",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("first_at", sa.REAL, nullable=False),
        sa.Column("last_begun", sa.REAL, nullable=False),
        sa.Column("last_at", sa.REAL, nullable=False),
        sa.Column("givens", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_given_blocks"),
    )
    for table in ("decision_blocks", "given_blocks"):
        op.create_index(f"ix_{table}_group_id_first_at", table, ["group_id", "first_at"])
        op.create_index(f"ix_{table}_last_at", table, ["last_at"])
    op.create_index("ix_givens_group_id", "givens", ["group_id"])
