"""The account of each group and of each entity of the API, and what of the root account's others may use."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    """Add the columns; everything that is there belongs to the root account."""
    op.add_column("groups", sa.Column("account", sa.Text, nullable=False, server_default="root"))
    op.add_column("entities", sa.Column("account", sa.Text, nullable=False, server_default="root"))
    op.add_column("accounts", sa.Column("uses", sa.Text, nullable=False, server_default="[]"))
