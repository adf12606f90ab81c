"""Make, rotate and revoke users' key pairs, and rotate the key that their secrets are sealed under."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from config.errors import Refused
from config.units import Instant, Seconds
from handler.engine.applying import AppliedFiles
from handler.engine.engine import Engine
from handler.identity.grants import Grants
from handler.operations.lookup import NoSuch, nearest
from handler.ports.credentials import SigningKeys, StoredKeyPair
from handler.users.key_pairs import IssuedKeyPair, Resealed


@dataclass(frozen=True, slots=True, kw_only=True)
class SealStatus:
    """The key of the seal, and what can be opened."""

    key: str | None
    """The id of the newest key; ``None``: there is none yet."""
    where: str
    """Where the keys are kept."""
    trouble: str | None
    """Why they cannot be read; ``None``: they can, or none was needed so far."""
    sealed: int
    """Key pairs in the store."""
    shut: tuple[str, ...]
    """Those that cannot be opened, as ``USER NAME``."""


class KeyAdmin:
    """Keeps key pairs. A secret key is shown once, when it is made."""

    def __init__(self, engine: Engine, applying: AppliedFiles) -> None:
        self._engine, self._applying = engine, applying

    @property
    def signing(self) -> SigningKeys:
        """Return the pairs that signatures are checked by."""
        return self._engine.credentials.key_pairs

    def pairs(self, user: str | None, grants: Grants) -> tuple[StoredKeyPair, ...]:
        """Return the pairs of the caller's users, or those of one user.

        Raises:
            NoSuch: there is no such user.
        """
        own = {each.name for each in self._engine.users.users() if grants.holds(each.account)}
        if user is not None and user not in own:
            raise NoSuch(f"there is no user {user}{nearest(user, own)}")
        return tuple(pair for pair in self._engine.credentials.key_pairs.pairs(user) if pair.user in own)

    def pairs_of(self, user: str) -> tuple[StoredKeyPair, ...]:
        """Return the pairs of one user, for itself."""
        return tuple(self._engine.credentials.key_pairs.pairs(user))

    def opens(self, pair: StoredKeyPair) -> bool:
        """Tell whether the seal has the keys for a pair."""
        return self._engine.credentials.key_pairs.opens(pair)

    def pair(self, user: str, name: str) -> StoredKeyPair:
        """Return one pair. Raises as `rotate`."""
        self._known(user, name)
        return self._engine.credentials.key_pairs.pair(user, name)

    async def new(self, user: str, name: str, lasts: Seconds | None) -> IssuedKeyPair:
        """Make a pair and return it, this one time.

        Raises:
            NoSuch: there is no such user.
            Refused: the name is taken or no name, or nothing can be sealed.
        """
        self._known_user(user)
        return await self._engine.credentials.key_pairs.new(user, name, self._ends(lasts))

    async def rotate(self, user: str, name: str, lasts: Callable[[StoredKeyPair], Seconds | None]) -> IssuedKeyPair:
        """Return a new pair in place of one, which is given; the old one stays valid until `finish`.

        Raises:
            NoSuch: there is no such user, or it has no such pair.
            Refused: nothing can be sealed.
        """
        self._known(user, name)
        return await self._engine.credentials.key_pairs.rotate(user, name, lambda old: self._ends(lasts(old)))

    async def finish(self, user: str, name: str) -> None:
        """End the old pair of a rotation. Raises as `rotate`."""
        self._known(user, name)
        await self._engine.credentials.key_pairs.finish(user, name)

    async def revoke(self, user: str, name: str) -> None:
        """Delete a pair. Raises as `rotate`."""
        self._known(user, name)
        await self._engine.credentials.key_pairs.revoke(user, name)

    def seal(self) -> SealStatus:
        """Return the key of the seal, and what it cannot open."""
        seal, pairs = self._engine.credentials.seal, self._engine.credentials.key_pairs.pairs()
        shut = tuple(f"{pair.user} {pair.name}" for pair in pairs if not self.opens(pair))
        return SealStatus(key=seal.key, where=seal.where, trouble=seal.trouble, sealed=len(pairs), shut=shut)

    async def reseal(self) -> Resealed:
        """Seal every secret under a new key.

        Raises:
            Refused: no key can be read or written, or nothing was sealed so far.
        """
        engine = self._engine
        async with engine.changing:
            if not engine.credentials.key_pairs.pairs() and engine.declared().applied is None:
                raise Refused("nothing is sealed: the first key pair makes a key (trimtab user key new)")
            return await engine.credentials.key_pairs.reseal(self._applying.reseal)

    def workers_without(self) -> tuple[str, ...]:
        """Return the other workers of the store, to whose machines a person copies a key that this one has made."""
        cluster = self._engine.parts.cluster
        if cluster is None or self._engine.catalogue().seal is not None:
            return ()
        status = cluster.status()
        return tuple(each.name for each in status.workers if each.name != status.worker)

    def _ends(self, lasts: Seconds | None) -> Instant | None:
        return None if lasts is None else Instant(self._engine.parts.clock().wall + lasts)

    def _known_user(self, user: str) -> None:
        names = [known.name for known in self._engine.users.users()]
        if user not in names:
            raise NoSuch(f"there is no user {user}{nearest(user, names)}")

    def _known(self, user: str, name: str) -> None:
        self._known_user(user)
        names = [pair.name for pair in self._engine.credentials.key_pairs.pairs(user)]
        if name not in names:
            raise NoSuch(f"{user} has no key pair {name}{nearest(name, names)}")
