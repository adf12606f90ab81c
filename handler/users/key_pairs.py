"""Users' key pairs of a running daemon: an API key that a request names, and a secret key that signs it.

A signature can only be checked with the secret key itself, so the store keeps it sealed instead of hashed, and it is
opened for each check. A pair allows what its user's role and groups allow.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from config.errors import Refused, TrimtabError
from config.units import Instant
from handler import logs
from handler.identity.actors import Actor, Origin, Way
from handler.ports.credentials import KeyPairStore, PairKey, SigningKey, StoredKeyPair
from handler.sealing.boxes import RowName
from handler.sealing.seal import Seal
from handler.users.known import KnownUsers
from handler.users.tokens import PREFIX, check_name

PAIRS_AT_MOST = 100
"""Of one user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedKeyPair:
    """A pair as it is shown, this one time."""

    api_key: str
    secret_key: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resealed:
    """What a rotation of the seal's key did."""

    key: str | None
    """The id of the key that everything is sealed under now."""
    resealed: int
    shut: int
    """Secrets that could not be opened, and stay as they are."""


class KnownKeyPairs:
    """Kept in memory as they are on disk, with their secrets sealed; only the event loop writes."""

    def __init__(self, store: KeyPairStore, users: KnownUsers, seal: Seal, now: Callable[[], Instant]) -> None:
        self._store, self._users, self._seal, self._now = store, users, seal, now
        self._pairs: dict[PairKey, StoredKeyPair] = {}
        self._holders: dict[str, PairKey] = {}
        """By API keys."""
        self._used: dict[PairKey, Instant] = {}
        users.follow(self._forget_deleted)

    async def load(self) -> None:
        """Read the store. Raises `StoreError`."""
        self._pairs = {(pair.user, pair.name): pair for pair in await asyncio.to_thread(self._store.key_pairs)}
        self._index()
        shut = sum(not self.opens(pair) for pair in self._pairs.values())
        if shut:
            logs.warn("key_pairs_shut", pairs=shut, key_in=self._seal.where, remedy="trimtab seal status")

    async def flush(self) -> None:
        """Write when pairs were last used. Raises `StoreError`."""
        used, self._used = self._used, {}
        if used:
            for key in used.keys() & self._pairs.keys():
                self._pairs[key] = replace(self._pairs[key], last_used_at=used[key])
            await asyncio.to_thread(self._store.use_key_pairs, used)

    # Signatures

    def signing_key(self, api_key: str) -> SigningKey | None:
        """Return the pair with this API key; ``None``: there is none that is accepted now.

        Raises:
            Refused: its secret key cannot be opened.
            StoreError: its secret key was altered in the store.
        """
        key = self._holders.get(api_key)
        if key is None:
            return None
        pair = self._pairs[key]
        is_old = api_key != pair.api_key
        sealed, expires_at = (pair.old_secret, pair.old_expires_at) if is_old else (pair.secret, pair.expires_at)
        if sealed is None or (expires_at is not None and self._now() >= expires_at):
            return None
        secret = self._seal.open(sealed, _row(pair, api_key))
        return SigningKey(api_key=api_key, user=pair.user, pair=pair.name, secret=secret, expires_at=expires_at)

    def signed(self, key: SigningKey, peer: str) -> Actor | None:
        """Return the user whose pair signed a request from ``peer``, and record the use; ``None``: not accepted now."""
        found = self._users.actor(key.user, Origin(way=Way.SIGNATURE, peer=peer, credential=key.pair))
        if found is not None:
            self._used[key.user, key.pair] = self._now()
        return found

    # Pairs

    def pairs(self, user: str | None = None) -> tuple[StoredKeyPair, ...]:
        """Return every pair, or those of one user, with their last uses."""
        return tuple(
            replace(pair, last_used_at=self._used.get(key, pair.last_used_at))
            for key, pair in sorted(self._pairs.items())
            if user is None or key[0] == user
        )

    def pair(self, user: str, name: str) -> StoredKeyPair:
        """Return one pair.

        Raises:
            Refused: there is no such user, or it has no such pair.
        """
        self._users.user(user)
        if (user, name) not in self._pairs:
            raise Refused(f"{user} has no key pair {name}")
        return self._pairs[user, name]

    def opens(self, pair: StoredKeyPair) -> bool:
        """Tell whether the seal has the key for a pair; for the old one of a rotation it may be lost."""
        return self._seal.opens(pair.secret)

    async def new(self, user: str, name: str, expires_at: Instant | None) -> IssuedKeyPair:
        """Make a pair and return it; its secret key is never shown again.

        Raises:
            Refused: there is no such user, the name is taken or no name, the user has too many, or nothing can be
                sealed.
            StoreError: it could not be written.
        """
        async with self._users.turn:
            self._users.user(user)
            check_name(name, "key pair")
            if (user, name) in self._pairs:
                raise Refused(f"{user} has a key pair {name} already: rotate it, or choose another name")
            if len(self.pairs(user)) >= PAIRS_AT_MOST:
                raise Refused(f"{user} has {PAIRS_AT_MOST} key pairs already: revoke one")
            made = await self._minted()
            pair = StoredKeyPair(
                user=user, name=name, api_key=made.api_key, secret="", created_at=self._now(), expires_at=expires_at
            )
            await self._save((self._with(pair, made),))
        logs.say("key_pair_made", user=user, pair=name)
        return made

    async def rotate(self, user: str, name: str, ends: Callable[[StoredKeyPair], Instant | None]) -> IssuedKeyPair:
        """Return a new pair in place of one; the old one stays valid until `finish` or the next rotation.

        ``ends`` returns when the new one expires, of the old one. Raises as `new`.
        """
        async with self._users.turn:
            before, made = self.pair(user, name), await self._minted()
            older = replace(
                before, old_api_key=before.api_key, old_secret=before.secret, old_expires_at=before.expires_at
            )
            newer = replace(older, created_at=self._now(), expires_at=ends(before))
            await self._save((self._with(newer, made),))
        logs.say("key_pair_rotated", user=user, pair=name)
        return made

    async def finish(self, user: str, name: str) -> None:
        """End the old pair of a rotation. Raises as `new`."""
        async with self._users.turn:
            before = self.pair(user, name)
            await self._save((replace(before, old_api_key=None, old_secret=None, old_expires_at=None),))
        logs.say("key_pair_rotation_finished", user=user, pair=name)

    async def revoke(self, user: str, name: str) -> None:
        """Delete a pair, and the one before it. Raises as `new`."""
        async with self._users.turn:
            self.pair(user, name)
            await asyncio.to_thread(self._store.delete_key_pair, (user, name))
            del self._pairs[user, name]
            self._used.pop((user, name), None)  # a new one of this name has not been used
            self._index()
        logs.say("key_pair_revoked", user=user, pair=name)

    async def reseal(self, others: Callable[[], Awaitable[None]]) -> Resealed:
        """Have a new key of the seal, seal every secret under it, and forget the keys before it.

        ``others`` seals what else there is, besides key pairs, under the newest key.

        Each key is on disk before anything is sealed under it, and stays there until nothing is: a rotation that is
        interrupted loses no secret, and the next one ends it.

        Raises:
            Refused: the keys cannot be read or written.
            StoreError: the secrets could not be written; they stay as they were.
        """
        async with self._users.turn:
            await asyncio.to_thread(self._seal.renew)
            tried = [self._resealed(pair) for pair in self._pairs.values() if self.opens(pair)]
            anew = tuple(pair for pair in tried if pair is not None)
            await self._save(anew)
            await others()
            done = Resealed(key=self._seal.key, resealed=len(anew), shut=len(self._pairs) - len(anew))
            await asyncio.to_thread(self._seal.retire)
        logs.say("seal_rotated", key=done.key, resealed=done.resealed, shut=done.shut)
        return done

    def _resealed(self, pair: StoredKeyPair) -> StoredKeyPair | None:
        """Return a pair with its secrets under the newest key; ``None``: one of them was altered."""
        try:
            return replace(
                pair,
                secret=self._again(pair, pair.api_key, pair.secret),
                old_secret=pair.old_secret
                if pair.old_secret is None or pair.old_api_key is None or not self._seal.opens(pair.old_secret)
                else self._again(pair, pair.old_api_key, pair.old_secret),
            )
        except TrimtabError as error:
            logs.warn("key_pair_shut", user=pair.user, pair=pair.name, error=str(error))
            return None

    def _again(self, pair: StoredKeyPair, api_key: str, sealed: str) -> str:
        row = _row(pair, api_key)
        return self._seal.seal(self._seal.open(sealed, row), row)

    async def _minted(self) -> IssuedKeyPair:
        await asyncio.to_thread(self._seal.prepare, holds_secrets=bool(self._pairs))
        return IssuedKeyPair(api_key=secrets.token_urlsafe(32), secret_key=PREFIX + secrets.token_urlsafe(32))

    def _with(self, pair: StoredKeyPair, made: IssuedKeyPair) -> StoredKeyPair:
        sealed = self._seal.seal(made.secret_key, _row(pair, made.api_key))
        return replace(pair, api_key=made.api_key, secret=sealed)

    async def _save(self, pairs: tuple[StoredKeyPair, ...]) -> None:
        await asyncio.to_thread(self._store.save_key_pairs, pairs)
        self._pairs |= {(pair.user, pair.name): pair for pair in pairs}
        self._index()

    def _index(self) -> None:
        named = ((key, api_key) for key, pair in self._pairs.items() for api_key in (pair.api_key, pair.old_api_key))
        self._holders = {api_key: key for key, api_key in named if api_key is not None}

    def _forget_deleted(self, user: str) -> None:
        """Drop the pairs of a user that is no more: the store has dropped them with it."""
        if not self._users.has(user):
            self._pairs = {key: pair for key, pair in self._pairs.items() if key[0] != user}
            self._used = {key: at for key, at in self._used.items() if key[0] != user}
            self._index()


def _row(pair: StoredKeyPair, api_key: str) -> RowName:
    return "key_pairs", pair.user, pair.name, api_key
