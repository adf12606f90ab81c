"""Users' passwords: hashed with Argon2id, checked in the same time whether or not there is such a user.

Source: RFC 9106 (Argon2id; its second recommended parameters: 64 MiB, three passes, four lanes), NIST SP 800-63B
(length counts, composition does not).
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from config.errors import Refused
from config.units import Instant
from handler import logs
from handler.ports.credentials import PasswordStore, StoredPassword
from handler.users.known import KnownUsers

T = TypeVar("T")
SHORTEST, LONGEST = 12, 256
"""Characters."""
_AT_ONCE = 2
"""Hashes that are made at the same time: each takes 64 MiB and some 50 ms of four threads."""


class KnownPasswords:
    """Kept in memory as they are on disk; a change is durable before it counts."""

    def __init__(
        self,
        store: PasswordStore,
        users: KnownUsers,
        now: Callable[[], Instant],
        hasher: PasswordHasher | None = None,
    ) -> None:
        self._store, self._users, self._now = store, users, now
        self._hasher = PasswordHasher() if hasher is None else hasher
        self._known: dict[str, StoredPassword] = {}
        self._decoy: str | None = None
        """A hash of nothing that anyone knows: what is checked for a name without a password."""
        self._few = asyncio.Semaphore(_AT_ONCE)
        users.follow(self._forget_deleted)

    async def load(self) -> None:
        """Read the store. Raises `StoreError`."""
        self._known = {each.user: each for each in await asyncio.to_thread(self._store.passwords)}

    def has(self, user: str) -> bool:
        """Tell whether a user can log in by password."""
        return user in self._known

    def known(self, user: str) -> StoredPassword | None:
        """Return a user's password as it is now; ``None``: it has none."""
        return self._known.get(user)

    async def give(self, user: str, password: str, *, instead_of: StoredPassword | None = None) -> None:
        """Set a user's password; the user's sessions end.

        Args:
            user: whose.
            password: the new one.
            instead_of: the password that allows the change, as `known` returned it; ``None``: any.

        Raises:
            Refused: there is no such user, the password is too short, too long or the user's name, or the one that
                allows it has been changed.
            StoreError: it could not be written.
        """
        self._users.user(user)
        _check(user, password)
        hashed = await self._threaded(self._hasher.hash, _normal(password))
        async with self._users.turn:
            self._users.user(user)
            if instead_of is not None and self._known.get(user) != instead_of:
                raise Refused("the password was changed meanwhile")
            stored = StoredPassword(user=user, hash=hashed, changed_at=self._now())
            await asyncio.to_thread(self._store.save_password, stored)
            self._known[user] = stored
            self._users.notify(user)
        logs.say("password_changed", user=user)

    async def remove(self, user: str) -> None:
        """Delete a user's password; the user's sessions end.

        Raises:
            Refused: there is no such user, or it has none.
            StoreError: it could not be written.
        """
        async with self._users.turn:
            self._users.user(user)
            if user not in self._known:
                raise Refused(f"{user} has no password")
            await asyncio.to_thread(self._store.delete_password, user)
            del self._known[user]
            self._users.notify(user)
        logs.say("password_removed", user=user)

    async def fits(self, user: str, password: str) -> bool:
        """Tell whether this is the user's password, after the time of one hash in any case."""
        if self._decoy is None:
            self._decoy = await self._threaded(self._hasher.hash, "a user without a password")
        known = self._known.get(user)
        fits = await self._threaded(self._verify, self._decoy if known is None else known.hash, _normal(password))
        return fits and known is not None and self._known.get(user) == known

    def _verify(self, hashed: str, password: str) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _threaded(self, work: Callable[..., T], *given: str) -> T:
        async with self._few:
            return await asyncio.to_thread(work, *given)

    def _forget_deleted(self, user: str) -> None:
        if not self._users.has(user):
            self._known.pop(user, None)


def _check(user: str, password: str) -> None:
    length = len(_normal(password))
    if not SHORTEST <= length <= LONGEST:
        raise Refused(f"a password has {SHORTEST} to {LONGEST} characters: this one has {length}")
    if _normal(password).casefold() == user.casefold():
        raise Refused("a password must not be the user's name")


def _normal(password: str) -> str:
    """Return the one spelling of a password, whichever keyboard it was typed on; at most what `_check` takes, and more.

    What is longer than any password is cut, so that a long text costs no time.
    """
    return unicodedata.normalize("NFKC", password[: 4 * LONGEST])
