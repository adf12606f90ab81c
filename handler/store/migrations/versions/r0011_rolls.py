"""What groups declared before, which of it is in force, rolls, and what each group was when nothing was left to do."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Create the tables; what was declared so far becomes the first revision at the next start."""
    op.create_table(
        "definitions",
        _group("definitions"),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("converged_at", sa.REAL),
        sa.PrimaryKeyConstraint("group_id", "number", name="pk_definitions"),
    )
    op.create_table(
        "pins",
        _group("pins"),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("group_id", name="pk_pins"),
    )
    op.create_table(
        "rolls",
        _group("rolls"),
        sa.Column("roll", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("group_id", name="pk_rolls"),
    )
    op.create_table(
        "converged",
        _group("converged"),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("definition", sa.Integer, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
        sa.PrimaryKeyConstraint("group_id", name="pk_converged"),
    )


def _group(table: str) -> sa.Column[str]:
    owner = sa.ForeignKey("groups.id", name=f"fk_{table}_group_id", ondelete="CASCADE")
    return sa.Column("group_id", sa.Text, owner, nullable=False)
