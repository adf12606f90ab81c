"""Accounts and the tree of domains that they are in: to which accounts a user's role extends.

Every user belongs to one account. Account `ROOT_ACCOUNT` has the file and everything that was there before accounts
were: its users act on the whole installation. Users of any other account act on what is that account's.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from config.units import ROOT_ACCOUNT, AccountId, DomainId, Instant
from handler.identity.rights import UserRole


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A place in the tree, for accounts and further domains."""

    id: DomainId
    """Its name, which is the only one in the installation and never changes."""
    uuid: str
    """For clients that know domains by a UUID, such as those of CloudStack."""
    parent: DomainId | None
    """``None``: it is `ROOT_DOMAIN`."""
    created_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountQuota:
    """How much an account may declare; ``None``: any number."""

    groups: int | None = None
    members: int | None = None
    """The sum of the max of its groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What users and declarations belong to."""

    id: AccountId
    """Its name, which is the only one in the installation and never changes."""
    uuid: str
    """For clients that know accounts by a UUID, such as those of CloudStack."""
    domain: DomainId
    quota: AccountQuota
    uses: tuple[str, ...] = ()
    """What of account `ROOT_ACCOUNT` it may name in its declarations, as ``profiles.web``: with all that this needs."""
    created_at: Instant
    after_revision: int = 0
    """The newest revision of what is declared over the API when it was made: those until then are no revisions of its
    own, but of an earlier account with its name. A time would not do, as a clock may be set back."""


class CloudStackRole(enum.Enum):
    """The three types of role that CloudStack has; the values are its words."""

    ROOT_ADMIN = "Admin"
    DOMAIN_ADMIN = "DomainAdmin"
    USER = "User"


def cloudstack_role(role: UserRole, account: AccountId) -> CloudStackRole:
    """Return what CloudStack calls a user with this role in this account.

    >>> cloudstack_role(UserRole.TUNER, AccountId("shop")), cloudstack_role(UserRole.ADMIN, AccountId("shop"))
    (<CloudStackRole.USER: 'User'>, <CloudStackRole.DOMAIN_ADMIN: 'DomainAdmin'>)
    """
    if role is not UserRole.ADMIN:
        return CloudStackRole.USER
    return CloudStackRole.ROOT_ADMIN if account == ROOT_ACCOUNT else CloudStackRole.DOMAIN_ADMIN


def reach_of(
    role: UserRole, account: Account, accounts: Collection[Account], domains: Mapping[DomainId, Domain]
) -> frozenset[AccountId] | None:
    """Return the accounts that a role in one account extends to; ``None``: all of them, and the daemon itself.

    An admin's extends to the accounts of the domain and of all domains below it, any other role's to its own account.
    """
    if account.id == ROOT_ACCOUNT:
        return None
    if role is not UserRole.ADMIN:
        return frozenset({account.id})
    return frozenset(each.id for each in accounts if account.domain in line_of(each.domain, domains))


def line_of(domain: DomainId, domains: Mapping[DomainId, Domain]) -> tuple[DomainId, ...]:
    """Return a domain and the domains above it, from the root of the tree down."""
    return tuple(reversed(tuple(_upwards(domain, domains))))


def path_of(domain: DomainId, domains: Mapping[DomainId, Domain]) -> str:
    """Return the path of a domain, such as ``ROOT/retail/shop``."""
    return "/".join(line_of(domain, domains))


def _upwards(domain: DomainId | None, domains: Mapping[DomainId, Domain]) -> Iterator[DomainId]:
    while domain is not None:
        yield domain
        domain = domains[domain].parent
