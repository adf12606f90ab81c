"""The store's rows of domains and accounts."""

from __future__ import annotations

from sqlalchemy import Column, Connection, ForeignKey, Integer, RowMapping, Table, Text, UniqueConstraint, delete, text

from config.units import AccountId, DomainId
from handler.identity.accounts import Account, AccountQuota, Domain
from handler.store.columns import METADATA, SECONDS, JsonColumn
from handler.store.rows import named
from handler.store.schema import every
from handler.store.session import StoreSession
from handler.store.upserts import insert_or_update

domains = Table(
    "domains",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("uuid", Text, nullable=False),
    Column("parent", Text, ForeignKey("domains.id")),
    Column("created_at", SECONDS, nullable=False),
    UniqueConstraint("uuid"),
)

accounts = Table(
    "accounts",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("uuid", Text, nullable=False),
    Column("domain", Text, ForeignKey("domains.id"), nullable=False),
    Column("groups_at_most", Integer),
    Column("members_at_most", Integer),
    Column("uses", JsonColumn(tuple[str, ...]), nullable=False, server_default="[]"),
    Column("created_at", SECONDS, nullable=False),
    Column("after_revision", Integer, nullable=False, server_default=text("0")),
    UniqueConstraint("uuid"),
)

_WRITE_DOMAIN = insert_or_update(domains)
_WRITE_ACCOUNT = insert_or_update(accounts)


class AccountRows(StoreSession):
    """Domains and the accounts in them."""

    def domains(self) -> tuple[Domain, ...]:
        """Return every domain, sorted by id."""
        with self._snapshot() as connection:
            rows = connection.execute(every(domains).order_by(domains.c.id)).mappings()
            return tuple(Domain(**named(row)) for row in rows)

    def accounts(self) -> tuple[Account, ...]:
        """Return every account, sorted by id."""
        with self._snapshot() as connection:
            return tuple(map(_account, connection.execute(every(accounts).order_by(accounts.c.id)).mappings()))

    def save_domain(self, domain: Domain) -> None:
        """Insert or replace a domain."""
        row = {"id": domain.id, "uuid": domain.uuid, "parent": domain.parent, "created_at": domain.created_at}
        self._writer.do(lambda connection: _WRITE_DOMAIN.write(connection, row))

    def save_account(self, account: Account) -> None:
        """Insert or replace an account."""
        self._writer.do(lambda connection: _write_account(connection, account))

    def delete_domain(self, id: DomainId) -> None:
        """Delete a domain, which holds neither accounts nor domains."""
        self._writer.do(lambda connection: connection.execute(delete(domains).where(domains.c.id == id)))

    def delete_account(self, id: AccountId) -> None:
        """Delete an account, which has neither users nor groups."""
        self._writer.do(lambda connection: connection.execute(delete(accounts).where(accounts.c.id == id)))


def _account(row: RowMapping) -> Account:
    quota = AccountQuota(groups=row["groups_at_most"], members=row["members_at_most"])
    return Account(**named(row, leaving_out=("groups_at_most", "members_at_most")), quota=quota)


def _write_account(connection: Connection, account: Account) -> None:
    row = {
        "id": account.id,
        "uuid": account.uuid,
        "domain": account.domain,
        "groups_at_most": account.quota.groups,
        "members_at_most": account.quota.members,
        "uses": account.uses,
        "created_at": account.created_at,
        "after_revision": account.after_revision,
    }
    _WRITE_ACCOUNT.write(connection, row)
