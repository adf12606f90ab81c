"""The port to stored accounts, users and their tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from config.units import AccountId, DomainId, GroupId, Instant, Seconds
from handler.identity.accounts import Account, Domain
from handler.identity.audit import AuditEntry, AuditRow
from handler.identity.grants import Anonymous
from handler.identity.rights import UserRole, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredUser:
    """A person or a program that may ask the daemon for something."""

    name: str
    """What it is called in the whole installation: in addresses, tokens and the history. It never changes."""
    display_name: str
    """Unique in its account; in account `ROOT_ACCOUNT` it is the name."""
    uuid: str
    """For clients that know users by a UUID, such as those of CloudStack."""
    account: AccountId
    role: UserRole
    groups: tuple[GroupId, ...] | None = None
    """The only groups that exist for this user; ``None``: all those that its account and role extend to."""
    created_at: Instant
    disabled_at: Instant | None = None
    """Since when its tokens are not accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredToken:
    """A bearer token of a user, identified by the user and its name. It never allows more than the user's role does."""

    user: str
    name: str
    digest: str = field(repr=False)
    """SHA-256 of the token, in hex."""
    old_digest: str | None = field(default=None, repr=False)
    """That of the token before, which is valid until the rotation is finished, or it expires."""
    old_expires_at: Instant | None = None
    """When the token before expires; ``None``: never."""
    groups: tuple[GroupId, ...] | None = None
    """Only these of the user's groups; ``None``: all of them."""
    verbs: tuple[Verb, ...] | None = None
    """Only these of the role's verbs; ``None``: all of them."""
    created_at: Instant
    expires_at: Instant | None = None
    """From then on it is not accepted; ``None``: it does not expire."""
    last_used_at: Instant | None = None


TokenKey = tuple[str, str]
"""A user's name and a token's."""


class AccountStore(Protocol):
    """The part of the store for domains and accounts. The roots of both are always there."""

    def domains(self) -> tuple[Domain, ...]:
        """Return every domain, sorted by id."""
        ...

    def accounts(self) -> tuple[Account, ...]:
        """Return every account, sorted by id."""
        ...

    def save_domain(self, domain: Domain) -> None:
        """Insert or replace a domain."""
        ...

    def save_account(self, account: Account) -> None:
        """Insert or replace an account."""
        ...

    def delete_domain(self, id: DomainId) -> None:
        """Delete a domain, which holds neither accounts nor domains."""
        ...

    def delete_account(self, id: AccountId) -> None:
        """Delete an account, which has neither users nor groups."""
        ...


class IdentityStore(AccountStore, Protocol):
    """The part of the store for accounts, users and tokens."""

    def anonymous(self) -> Anonymous | None:
        """Return what requests without a credential may do; ``None``: users were never begun with."""
        ...

    def save_anonymous(self, allowed: Anonymous) -> None:
        """Write what requests without a credential may do."""
        ...

    def users(self) -> tuple[StoredUser, ...]:
        """Return every user, sorted by name."""
        ...

    def begin_users(self, first: StoredUser, allowed: Anonymous) -> None:
        """Write the first user, and what requests without a credential may do from now on, in one transaction."""
        ...

    def save_user(self, user: StoredUser) -> None:
        """Insert or replace a user."""
        ...

    def delete_user(self, name: str) -> None:
        """Delete a user and its tokens."""
        ...

    def tokens(self) -> tuple[StoredToken, ...]:
        """Return every token, sorted by user and name."""
        ...

    def save_token(self, token: StoredToken) -> None:
        """Insert or replace a token; its last use only ever moves forward."""
        ...

    def delete_token(self, key: TokenKey) -> None:
        """Delete a token, and the one before it."""
        ...

    def use_tokens(self, used: Mapping[TokenKey, Instant]) -> None:
        """Write when tokens were last used, in one transaction; unknown ones are left out."""
        ...


class AuditStore(Protocol):
    """The part of the store for the audit trail: rows are only ever added."""

    def append_audit(self, entries: Sequence[AuditEntry], copied: AuditRow | None) -> Sequence[AuditRow]:
        """Add entries in one transaction, and return their rows.

        The chain goes on after the store's last row, or after ``copied``, the copy's last, if that goes further.
        """
        ...

    def last_audit(self) -> AuditRow | None:
        """Return the last row; ``None``: there is none."""
        ...

    def audit_after(self, number: int, limit: int) -> Sequence[AuditRow]:
        """Return the rows after a number, oldest first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCall:
    """A request with an idempotency key, and its answer."""

    caller: str
    """What the key belongs to (`user_caller`, `handler.operations.repeats.caller_of`)."""
    key: str
    """A digest of the key."""
    fingerprint: str
    """A digest of everything that the request asks for."""
    at: Instant
    status: int | None = None
    """That it was answered with; ``None``: it was not answered, or the answer could not be written."""
    body: str | None = field(default=None, repr=False)
    """That it was answered with, as JSON; ``None``: it is not kept."""


class CallStore(Protocol):
    """The part of the store for requests with an idempotency key."""

    def begin_call(self, call: StoredCall, lasts: Seconds, at_most: int) -> StoredCall | None:
        """Return what is kept of the first request with this caller and key; ``None``: this is it, and is written.

        Rows older than ``lasts`` are deleted first, and then the caller's oldest beyond ``at_most``.
        """
        ...

    def end_call(self, caller: str, key: str, status: int, body: str | None) -> None:
        """Write a request's answer; ``body`` is ``None`` if it is not kept."""
        ...

    def forget_call(self, caller: str, key: str) -> None:
        """Delete the row of a request that was not carried out."""
        ...

    def calls(self) -> tuple[StoredCall, ...]:
        """Return every row, sorted by caller and key."""
        ...


def user_caller(name: str) -> str:
    """Return what the keys of a user belong to."""
    return f"user {name}"
