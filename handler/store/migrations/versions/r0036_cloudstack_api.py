"""What CloudStack's query API keeps: the ids of entities there, and its jobs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    """Create the tables. Entities get their ids when they are first listed."""
    op.create_table(
        "cloudstack_handles",
        sa.Column("section", sa.Text, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("uuid", sa.Text, nullable=False),
        sa.Column("made_at", sa.REAL, nullable=False),
        sa.Column("details", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("section", "id", name="pk_cloudstack_handles"),
        sa.UniqueConstraint("uuid", name="uq_cloudstack_handles_uuid"),
    )
    op.create_table(
        "cloudstack_jobs",
        sa.Column("uuid", sa.Text, nullable=False),
        sa.Column("command", sa.Text, nullable=False),
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("account", sa.Text, nullable=False),
        sa.Column("made_at", sa.REAL, nullable=False),
        sa.Column("ended_at", sa.REAL, nullable=False),
        sa.Column("code", sa.Integer, nullable=False),
        sa.Column("result", sa.Text, nullable=False),
        sa.Column("section", sa.Text),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("uuid", name="pk_cloudstack_jobs"),
    )
    op.create_index("ix_cloudstack_jobs_ended_at", "cloudstack_jobs", ["ended_at"])
