"""The ports to users' credentials but tokens: passwords as hashes, key pairs, and what checks a signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from config.units import Instant
from handler.identity.actors import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPassword:
    """A user's password, as its hash."""

    user: str
    hash: str = field(repr=False)
    """Argon2id in PHC's form, with its parameters and salt (RFC 9106)."""
    changed_at: Instant


class PasswordStore(Protocol):
    """The part of the store for passwords; a user's goes with it."""

    def passwords(self) -> tuple[StoredPassword, ...]:
        """Return every password, sorted by user."""
        ...

    def save_password(self, password: StoredPassword) -> None:
        """Insert or replace a user's password."""
        ...

    def delete_password(self, user: str) -> None:
        """Delete a user's password."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKeyPair:
    """An API key and its secret key, of one user; identified by the user and a name."""

    user: str
    name: str
    api_key: str
    """What a request names. No two pairs have the same."""
    secret: str = field(repr=False)
    """What a request is signed with, sealed (`handler.sealing.boxes`) for the row of this API key."""
    old_api_key: str | None = None
    """That of the pair before, which is valid until the rotation is finished, or it expires."""
    old_secret: str | None = field(default=None, repr=False)
    old_expires_at: Instant | None = None
    """When the pair before expires; ``None``: never."""
    created_at: Instant
    expires_at: Instant | None = None
    """From then on it is not accepted; ``None``: it does not expire."""
    last_used_at: Instant | None = None


PairKey = tuple[str, str]
"""A user's name and a pair's."""


class KeyPairStore(Protocol):
    """The part of the store for key pairs."""

    def key_pairs(self) -> tuple[StoredKeyPair, ...]:
        """Return every pair, sorted by user and name."""
        ...

    def save_key_pairs(self, pairs: tuple[StoredKeyPair, ...]) -> None:
        """Insert or replace pairs in one transaction; a last use only ever moves forward."""
        ...

    def delete_key_pair(self, key: PairKey) -> None:
        """Delete a pair, and the one before it."""
        ...

    def use_key_pairs(self, used: Mapping[PairKey, Instant]) -> None:
        """Write when pairs were last used, in one transaction; unknown ones are left out."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """What the signature of a request is compared by."""

    api_key: str
    user: str
    pair: str
    """The pair's name."""
    secret: str = field(repr=False)
    expires_at: Instant | None


class SigningKeys(Protocol):
    """Finds the secret key of a signed request, and the actor of one whose signature is right."""

    def signing_key(self, api_key: str) -> SigningKey | None:
        """Return the pair with this API key; ``None``: there is none that is accepted now.

        Raises:
            Refused: its secret key cannot be opened.
            StoreError: its secret key was altered in the store.
        """
        ...

    def signed(self, key: SigningKey, peer: str) -> Actor | None:
        """Return the user whose pair signed a request from ``peer``, and record the use; ``None``: not accepted now."""
        ...
