"""The revision after which an account's own ones begin; until now the time of its making told that."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0057"
down_revision = "0056"


def upgrade() -> None:
    """Add the column; for accounts that are there, the newest revision from before they were made."""
    op.add_column("accounts", sa.Column("after_revision", sa.Integer, nullable=False, server_default=sa.text("0")))
    op.execute(
        "UPDATE accounts SET after_revision = COALESCE("
        "(SELECT max(number) FROM entity_revisions WHERE entity_revisions.at < accounts.created_at), 0)"
    )
