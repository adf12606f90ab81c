"""The audit trail."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from handler.store.columns import NUMBER

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Create the table; what was done before is in the history only."""
    op.create_table(
        "audit",
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
        sa.Column("line", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
    )
    op.create_index("ix_audit_at", "audit", ["at"])
