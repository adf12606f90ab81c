"""Make, change and delete domains and accounts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from operator import attrgetter

from config.document.overlay import OFFERED
from config.errors import DeclarationError, Refused
from config.model.where import dotted
from config.units import AccountId, DomainId
from handler.engine.declared import judge_alone
from handler.engine.engine import Engine
from handler.engine.quotas import Usage
from handler.identity.accounts import Account, AccountQuota, Domain, path_of
from handler.identity.grants import Grants
from handler.operations.lookup import NoSuch, nearest
from handler.users.accounts import KnownAccounts

_NAMED = 5
"""Of what an account still has, in a refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedAccount:
    """An account, and where it is."""

    account: Account
    domain: Domain
    path: str
    """Of its domain, from the root of the tree."""
    used: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedDomain:
    """A domain, and where it is."""

    domain: Domain
    path: str


class AccountAdmin:
    """Keeps domains and accounts, and shows of them what is a caller's."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def all(self, grants: Grants) -> tuple[PlacedAccount, ...]:
        """Return the caller's accounts, sorted."""
        return tuple(self._placed(account) for account in self._known.all() if grants.holds(account.id))

    def domains(self, grants: Grants) -> tuple[PlacedDomain, ...]:
        """Return the domains of the caller's accounts, sorted by path; all, if all accounts are the caller's."""
        own = {placed.domain.id for placed in self.all(grants)}
        shown = [each for each in self._known.domains.values() if grants.groups is None or each.id in own]
        return tuple(sorted(map(self._placed_domain, shown), key=attrgetter("path")))

    def account(self, id: AccountId) -> PlacedAccount:
        """Return one account.

        Raises:
            NoSuch: there is none.
        """
        known = [account.id for account in self._known.all()]
        if id not in known:
            raise NoSuch(f"there is no account {id}{nearest(id, known)}")
        return self._placed(self._known.account(id))

    async def add_domain(self, id: DomainId, parent: DomainId) -> PlacedDomain:
        """Make a domain.

        Raises:
            NoSuch: there is no such parent.
            Refused: the name is taken or no name.
        """
        self._check(parent)
        return self._placed_domain(await self._known.add_domain(id, parent))

    async def delete_domain(self, id: DomainId) -> None:
        """Delete a domain that holds nothing. Raises as `add_domain`."""
        self._check(id)
        await self._known.delete_domain(id)

    async def add(self, id: AccountId, domain: DomainId, quota: AccountQuota, uses: Collection[str]) -> PlacedAccount:
        """Make an account. Raises as `add_domain`, and as `set_uses`."""
        self._check(domain)
        async with self._engine.changing:
            offered = await asyncio.to_thread(self._offered, uses)
            newest = self._engine.declared().revision
            return self._placed(await self._known.add(id, domain, quota, offered, after_revision=newest))

    async def set_quota(self, id: AccountId, changed: Callable[[AccountQuota], AccountQuota]) -> PlacedAccount:
        """Change how much an account may declare: ``changed`` of what it may now. Raises as `add_domain`."""
        self.account(id)
        return self._placed(await self._known.set_quota(id, changed))

    async def set_uses(self, id: AccountId, uses: Collection[str]) -> PlacedAccount:
        """Change what of the root account's an account may name in its declarations.

        Raises:
            NoSuch: there is no such account.
            Refused: one of the words stands for nothing that can be used, or the account uses what is left out.
        """
        self.account(id)
        async with self._engine.changing:
            offered = await asyncio.to_thread(self._offered, uses)
            await asyncio.to_thread(self._check_uses, id, offered)
            return self._placed(await self._known.set_uses(id, offered))

    async def delete(self, id: AccountId) -> None:
        """Delete an account that has nothing any more. Raises as `add_domain`."""
        self.account(id)
        async with self._engine.changing:
            await self._known.delete(id, lambda: self._holdings(id))

    def _placed(self, account: Account) -> PlacedAccount:
        domain = self._known.domain(account.domain)
        used, path = self._engine.quotas.usage(account.id), path_of(domain.id, self._known.domains)
        return PlacedAccount(account=account, domain=domain, path=path, used=used)

    def _placed_domain(self, domain: Domain) -> PlacedDomain:
        return PlacedDomain(domain=domain, path=path_of(domain.id, self._known.domains))

    def _holdings(self, id: AccountId) -> str:
        users = [user.name for user in self._engine.users.users() if user.account == id]
        entities = [dotted(each.key) for each in self._engine.declared().entities.values() if each.account == id]
        groups = sorted(self._engine.ownership.groups_of(frozenset({id})))
        if users:
            return f"users: {', '.join(users[:_NAMED])}"
        return ", ".join([*entities, *(f"group {group}, which is being emptied" for group in groups)][:_NAMED])

    def _offered(self, uses: Collection[str]) -> tuple[str, ...]:
        """Return words for what may be used, sorted.

        Raises:
            Refused: one of them stands for nothing, or needs a group or an alert.
        """
        offers = self._engine.declared().offers(uses)
        for word in uses:
            if word not in offers:
                raise Refused(
                    f"{word} cannot be used by another account: name entries of account root, as profiles.web, that "
                    f"are among the {', '.join(sorted(OFFERED))} and need no group and no alert"
                )
        return tuple(sorted(offers))

    def _check_uses(self, id: AccountId, uses: Collection[str]) -> None:
        declared = self._engine.declared()
        try:
            judge_alone(declared, declared.entities.values(), id, uses, declared.merged.quarantined.keys())
        except DeclarationError as error:
            raise Refused(f"account {id} uses what would be left out: {error.problems[0]}") from error

    def _check(self, domain: DomainId) -> None:
        known = self._known.domains
        if domain not in known:
            raise NoSuch(f"there is no domain {domain}{nearest(domain, known)}")

    @property
    def _known(self) -> KnownAccounts:
        return self._engine.users.accounts
