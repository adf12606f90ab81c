"""The tables of workers on one store: the lease, who they are, and the windows that are handed over."""

from __future__ import annotations

from sqlalchemy import Column, Integer, LargeBinary, Table, Text, text

from handler.store.columns import METADATA, NUMBER, SECONDS

lease = Table(
    "lease",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("epoch", NUMBER, nullable=False),
    Column("process", Text, nullable=False),
    Column("worker", Text, nullable=False),
    Column("renewals", NUMBER, nullable=False),
    Column("span", SECONDS, nullable=False),
    Column("expires_at", SECONDS, nullable=False),
    Column("declaration", Text, nullable=False),
)
"""One row (`handler.leasing.lease`). ``expires_at`` is by the database's clock, ``declaration`` the digest of the file
that the last holder took."""

workers = Table(
    "workers",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("process", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("started_at", SECONDS, nullable=False),
    Column("seen_at", SECONDS, nullable=False),
    Column("problem", Text, nullable=False),
    Column("priority", Integer, nullable=False, server_default=text("0")),
)
"""Each worker, as it last wrote; instants are by the database's clock. ``problem`` is why it cannot take the lease."""

checkpoints = Table(
    "checkpoints",
    METADATA,
    Column("slot", Text, primary_key=True),
    Column("ring", NUMBER, primary_key=True, autoincrement=False),
    Column("place", NUMBER, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)
"""Windows and holds of slots (`handler.store.checkpoint_rows`): ring 0 has the head."""

relayed = Table(
    "relayed",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("worker", Text, nullable=False),
    Column("at", SECONDS, nullable=False),
    Column("epoch", NUMBER, nullable=False),
    Column("request", Text, nullable=False),
    Column("taken_up", NUMBER),
    Column("answer", Text),
)
"""Requests that standbys put down for the holder (`handler.leasing.relaying`). ``at`` is by the database's clock,
``epoch`` that of the lease when it was put down (-1: any holder carries it out), ``taken_up`` that of the holder that
took it up; ``request`` and ``answer`` are sealed."""
