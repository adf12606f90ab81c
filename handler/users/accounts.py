"""The domains and accounts of a running daemon: made, changed and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

from config.errors import Refused
from config.units import ROOT_ACCOUNT, ROOT_DOMAIN, AccountId, DomainId, Instant
from handler import logs
from handler.identity.accounts import Account, AccountQuota, Domain, line_of
from handler.ports.identity import AccountStore
from handler.users.tokens import check_name, new_uuid

ACCOUNTS_AT_MOST = 10_000
DOMAINS_AT_MOST = 10_000
DEEPEST = 16
"""Domains within each other, the root included."""


class KnownAccounts:
    """Kept in memory as they are on disk; only the event loop writes. Changes are durable before they count."""

    def __init__(self, store: AccountStore, now: Callable[[], Instant], turn: asyncio.Lock) -> None:
        """Make them; ``turn`` is held while something is written, so that nothing that is deleted is used meanwhile."""
        self._store = store
        self._now = now
        self._turn = turn
        self._domains: dict[DomainId, Domain] = {}
        self._accounts: dict[AccountId, Account] = {}

    async def load(self) -> None:
        """Read the store. Raises `StoreError`."""
        self._domains = {domain.id: domain for domain in await asyncio.to_thread(self._store.domains)}
        self._accounts = {account.id: account for account in await asyncio.to_thread(self._store.accounts)}

    @property
    def domains(self) -> Mapping[DomainId, Domain]:
        """Return every domain."""
        return self._domains

    def all(self) -> tuple[Account, ...]:
        """Return every account, sorted by id."""
        return tuple(self._accounts[name] for name in sorted(self._accounts))

    def named(self, id: AccountId) -> Account | None:
        """Return one account; ``None``: there is none."""
        return self._accounts.get(id)

    def account(self, id: AccountId) -> Account:
        """Return one account.

        Raises:
            Refused: there is none.
        """
        if id not in self._accounts:
            raise Refused(f"there is no account {id}")
        return self._accounts[id]

    def domain(self, id: DomainId) -> Domain:
        """Return one domain.

        Raises:
            Refused: there is none.
        """
        if id not in self._domains:
            raise Refused(f"there is no domain {id}")
        return self._domains[id]

    async def add_domain(self, id: DomainId, parent: DomainId) -> Domain:
        """Make a domain.

        Raises:
            Refused: the name is taken or no name, there is no such parent, or there are too many.
            StoreError: it could not be written.
        """
        async with self._turn:
            check_name(id, "new domain")
            self.domain(parent)
            if id in self._domains:
                raise Refused(f"there is a domain {id} already: names of domains are unique in the installation")
            if len(self._domains) >= DOMAINS_AT_MOST or len(line_of(parent, self._domains)) >= DEEPEST:
                raise Refused(f"there may be {DOMAINS_AT_MOST} domains, {DEEPEST} within each other")
            made = Domain(id=id, uuid=new_uuid(), parent=parent, created_at=self._now())
            await asyncio.to_thread(self._store.save_domain, made)
            self._domains[id] = made
        logs.say("domain_added", domain=id, parent=parent)
        return made

    async def delete_domain(self, id: DomainId) -> None:
        """Delete a domain that holds nothing.

        Raises:
            Refused: there is none, it is the root, or accounts or domains are in it.
            StoreError: it could not be written.
        """
        async with self._turn:
            self.domain(id)
            if id == ROOT_DOMAIN:
                raise Refused(f"domain {id} is the root of the tree, which stays")
            below = [f"domain {each.id}" for each in self._domains.values() if each.parent == id]
            inside = [f"account {each.id}" for each in self._accounts.values() if each.domain == id]
            if below or inside:
                raise Refused(f"domain {id} has {', '.join(sorted(below + inside)[:5])}: delete that first")
            await asyncio.to_thread(self._store.delete_domain, id)
            del self._domains[id]
        logs.say("domain_deleted", domain=id)

    async def add(
        self,
        id: AccountId,
        domain: DomainId,
        quota: AccountQuota,
        uses: tuple[str, ...] = (),
        *,
        after_revision: int = 0,
    ) -> Account:
        """Make an account, with the revisions after ``after_revision`` as its own.

        Raises:
            Refused: the name is taken or no name, there is no such domain, or there are too many.
            StoreError: it could not be written.
        """
        async with self._turn:
            check_name(id, "new account")
            self.domain(domain)
            if id in self._accounts:
                raise Refused(f"there is an account {id} already: names of accounts are unique in the installation")
            if len(self._accounts) >= ACCOUNTS_AT_MOST:
                raise Refused(f"there are {ACCOUNTS_AT_MOST} accounts already")
            made = Account(
                id=id,
                uuid=new_uuid(),
                domain=domain,
                quota=quota,
                uses=uses,
                created_at=self._now(),
                after_revision=after_revision,
            )
            await self._save(made)
        logs.say("account_added", account=id, domain=domain)
        return made

    async def set_quota(self, id: AccountId, changed: Callable[[AccountQuota], AccountQuota]) -> Account:
        """Change how much an account may declare; ``changed`` returns the quota after the one before.

        Raises:
            Refused: there is none, or it is the installation's own.
            StoreError: it could not be written.
        """
        async with self._turn:
            before = self.account(id)
            if id == ROOT_ACCOUNT:
                raise Refused(f"account {id} has what the file declares: it has no quota")
            quota = changed(before.quota)
            after = replace(before, quota=quota)
            await self._save(after)
        logs.say("account_quota", account=id, groups=quota.groups, members=quota.members)
        return after

    async def set_uses(self, id: AccountId, uses: tuple[str, ...]) -> Account:
        """Change what of the root account's an account may name. Raises as `set_quota`."""
        async with self._turn:
            if id == ROOT_ACCOUNT:
                raise Refused(f"account {id} has all of that itself")
            changed = replace(self.account(id), uses=uses)
            await self._save(changed)
        logs.say("account_uses", account=id, uses=", ".join(uses))
        return changed

    async def delete(self, id: AccountId, holdings: Callable[[], str]) -> None:
        """Delete an account; ``holdings`` returns what it still has, as text, or nothing.

        Raises:
            Refused: there is none, it is the installation's own, or it has something.
            StoreError: it could not be written.
        """
        async with self._turn:
            self.account(id)
            if id == ROOT_ACCOUNT:
                raise Refused(f"account {id} has what the file declares: it stays")
            if held := holdings():
                raise Refused(f"account {id} has {held}: delete that first")
            await asyncio.to_thread(self._store.delete_account, id)
            del self._accounts[id]
        logs.say("account_deleted", account=id)

    async def _save(self, account: Account) -> None:
        await asyncio.to_thread(self._store.save_account, account)
        self._accounts[account.id] = account
