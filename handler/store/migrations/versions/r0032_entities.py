"""What is declared over the API, and its revisions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from handler.store.columns import NUMBER

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Create the tables; everything that is declared so far is the file's."""
    op.create_table(
        "entities",
        sa.Column("section", sa.Text, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("section", "id", name="pk_entities"),
    )
    op.create_table(
        "entity_revisions",
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("origin", sa.Text, nullable=False),
        sa.Column("restored", sa.Integer),
        sa.Column("changes", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_entity_revisions"),
    )
