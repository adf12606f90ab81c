"""Domains, accounts, and the account of each user."""

from __future__ import annotations

import secrets
import uuid

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"

_ROOT_DOMAIN = "d5a50268-0437-58cb-9c74-0c9cc8d217c2"
_ROOT_ACCOUNT = "758dd98a-a98b-5a45-8e27-1954a8a512ff"
"""The same in every installation, so that clients still know them if a store is lost."""


def upgrade() -> None:
    """Create the tables with the root of both; the users that are there belong to it."""
    domains = op.create_table(
        "domains",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("uuid", sa.Text, nullable=False),
        sa.Column("parent", sa.Text),
        sa.Column("created_at", sa.REAL, nullable=False),
        sa.ForeignKeyConstraint(["parent"], ["domains.id"], name="fk_domains_parent_domains"),
        sa.PrimaryKeyConstraint("id", name="pk_domains"),
        sa.UniqueConstraint("uuid", name="uq_domains_uuid"),
    )
    accounts = op.create_table(
        "accounts",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("uuid", sa.Text, nullable=False),
        sa.Column("domain", sa.Text, nullable=False),
        sa.Column("groups_at_most", sa.Integer),
        sa.Column("members_at_most", sa.Integer),
        sa.Column("created_at", sa.REAL, nullable=False),
        sa.ForeignKeyConstraint(["domain"], ["domains.id"], name="fk_accounts_domain_domains"),
        sa.PrimaryKeyConstraint("id", name="pk_accounts"),
        sa.UniqueConstraint("uuid", name="uq_accounts_uuid"),
    )
    op.bulk_insert(domains, [{"id": "ROOT", "uuid": _ROOT_DOMAIN, "created_at": 0.0}])
    op.bulk_insert(accounts, [{"id": "root", "uuid": _ROOT_ACCOUNT, "domain": "ROOT", "created_at": 0.0}])
    _place_users()


def _place_users() -> None:
    op.add_column("users", sa.Column("uuid", sa.Text, nullable=False, server_default=""))
    op.add_column("users", sa.Column("account", sa.Text, nullable=False, server_default="root"))
    op.add_column("users", sa.Column("display_name", sa.Text, nullable=False, server_default=""))
    users = sa.table("users", sa.column("name"), sa.column("uuid"), sa.column("display_name"))
    connection = op.get_bind()
    for name in connection.execute(sa.select(users.c.name)).scalars().all():
        given = {"uuid": str(uuid.UUID(bytes=secrets.token_bytes(16), version=4)), "display_name": name}
        connection.execute(sa.update(users).where(users.c.name == name).values(given))
