"""How long quiet times, and what alerts signal, were declared to last: no clock makes them longer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Add the columns; of what runs already the length is not known."""
    op.add_column("quiets", sa.Column("lasts", sa.REAL))
    op.add_column("signals", sa.Column("lasts", sa.REAL))
