"""What policies advised lately: the highest advice of a stabilisation window wins for scale-in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the column; what was advised before is not known, so windows begin anew."""
    observed = sa.Column("observed", sa.Text, nullable=False, server_default='{"type":"Observed"}')
    op.add_column("groups", observed)
