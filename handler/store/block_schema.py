"""The tables of packed history: each row is a block of many rows of one group (`handler.store.row_blocks`).

``last_begun`` is the newest instant from which a row of the block counts, ``last_at`` the newest until which one does.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, LargeBinary, Table

from handler.store.columns import METADATA, NUMBER, SECONDS, group_column


def _blocks_of(row: str, *further: Column[float]) -> Table:
    return Table(
        f"{row}_blocks",
        METADATA,
        Column("id", NUMBER, primary_key=True),
        group_column(),
        Column("first_at", SECONDS, nullable=False),
        Column("last_begun", SECONDS, nullable=False),
        Column("last_at", SECONDS, nullable=False),
        Column(f"{row}s", Integer, key="rows", nullable=False),
        *further,
        Column("body", LargeBinary, nullable=False),
        Index(None, "group", "first_at"),
        Index(None, "last_at"),
    )


span_blocks = _blocks_of("span")
decision_blocks = _blocks_of("decision", Column("resized_at", SECONDS))
"""``resized_at``: when the newest change of a desired size in the block was decided."""
given_blocks = _blocks_of("given")
