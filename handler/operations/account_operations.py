"""Operations on domains and accounts. The installation's admins make them: an account's quota bounds its own."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le, Len

from config.units import ROOT_DOMAIN, AccountId, DomainId
from handler.identity.accounts import AccountQuota
from handler.identity.rights import Verb
from handler.operations.address import ABOUT, STAYS, installation, over

if TYPE_CHECKING:
    from handler.identity.actors import Actor
    from handler.operations.account_admin import PlacedAccount, PlacedDomain
    from handler.operations.facade import Operations
    from handler.operations.outcomes import Shown

NewAccount = Annotated[AccountId, Len(1, 64)]
NewDomain = Annotated[DomainId, Len(1, 64)]
AtMost = Annotated[int, Ge(0), Le(1_000_000)] | None
LIMIT_STAYS = -1
"""A limit of a quota that a change leaves as it is."""
Uses = Annotated[tuple[Annotated[str, Len(1, 200)], ...], Len(0, 1000)]
_USES = {ABOUT: "What of account root's it may name, as profiles.web; with what that needs."}
_GROUPS = {ABOUT: "The most groups that it may declare; null: any number."}
_MEMBERS = {ABOUT: "The most that the max of its groups may add up to; null: any number."}
_LEFT_OUT = "Left out: as before."


@over("POST", "/domains", "add_domain", verb=Verb.USERS, on=installation, body="DomainBody", tag="users", status=201)
class AddDomain:
    """Make a domain."""

    name: NewDomain
    parent: DomainId = field(default=ROOT_DOMAIN, metadata={ABOUT: "The domain that it is in."})

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        return shown_domain(await operations.accounts.add_domain(self.name, self.parent))


@over("DELETE", "/domains/{domain}", "delete_domain", verb=Verb.USERS, on=installation, tag="users")
class DeleteDomain:
    """Delete a domain that holds neither accounts nor domains."""

    domain: DomainId

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        await operations.accounts.delete_domain(self.domain)
        return {"domain": self.domain, "deleted": True}


@over("POST", "/accounts", "add_account", verb=Verb.USERS, on=installation, body="AccountBody", tag="users", status=201)
class AddAccount:
    """Make an account."""

    name: NewAccount
    domain: DomainId = field(default=ROOT_DOMAIN, metadata={ABOUT: "The domain that it is in."})
    max_groups: AtMost = field(default=None, metadata=_GROUPS)
    max_members: AtMost = field(default=None, metadata=_MEMBERS)
    uses: Uses = field(default=(), metadata=_USES)

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        quota = AccountQuota(groups=self.max_groups, members=self.max_members)
        return shown_account(await operations.accounts.add(self.name, self.domain, quota, self.uses))


@over("PUT", "/accounts/{account}/quota", "set_quota", verb=Verb.USERS, on=installation, body="QuotaBody", tag="users")
class SetQuota:
    """Change how much an account may declare; what it has already stays, and so does a limit that is left out."""

    account: AccountId
    max_groups: AtMost = field(default=LIMIT_STAYS, metadata={ABOUT: f"{_GROUPS[ABOUT]} {_LEFT_OUT}", STAYS: True})
    max_members: AtMost = field(default=LIMIT_STAYS, metadata={ABOUT: f"{_MEMBERS[ABOUT]} {_LEFT_OUT}", STAYS: True})

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        before = operations.accounts.account(self.account).account.quota
        changed = await operations.accounts.set_quota(self.account, self._changed)
        return {**shown_account(changed), "before": {"groups": before.groups, "members": before.members}}

    def _changed(self, before: AccountQuota) -> AccountQuota:
        return AccountQuota(
            groups=before.groups if self.max_groups == LIMIT_STAYS else self.max_groups,
            members=before.members if self.max_members == LIMIT_STAYS else self.max_members,
        )


@over("PUT", "/accounts/{account}/uses", "set_uses", verb=Verb.USERS, on=installation, body="UsesBody", tag="users")
class SetUses:
    """Change what of account root's an account may name in its declarations."""

    account: AccountId
    uses: Uses = field(metadata=_USES)

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        before = operations.accounts.account(self.account).account.uses
        return {
            **shown_account(await operations.accounts.set_uses(self.account, self.uses)),
            "before": {"uses": before},
        }


@over("DELETE", "/accounts/{account}", "delete_account", verb=Verb.USERS, on=installation, tag="users")
class DeleteAccount:
    """Delete an account that has nothing any more."""

    account: AccountId

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        await operations.accounts.delete(self.account)
        return {"account": self.account, "deleted": True}


AccountOperation = AddDomain | DeleteDomain | AddAccount | SetQuota | SetUses | DeleteAccount


def shown_account(placed: PlacedAccount) -> Shown:
    """Return an account as everyone with the right sees it."""
    account, domain = placed.account, placed.domain
    return {
        "account": account.id,
        "uuid": account.uuid,
        "domain": domain.id,
        "domain_uuid": domain.uuid,
        "path": placed.path,
        "quota": {"groups": account.quota.groups, "members": account.quota.members},
        "used": {"groups": placed.used.groups, "members": placed.used.members},
        "uses": account.uses,
        "created_at": account.created_at,
    }


def shown_domain(placed: PlacedDomain) -> Shown:
    """Return a domain as everyone with the right sees it."""
    domain = placed.domain
    return {
        "domain": domain.id,
        "uuid": domain.uuid,
        "parent": domain.parent,
        "path": placed.path,
        "created_at": domain.created_at,
    }
