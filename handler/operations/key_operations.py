"""Operations on users' key pairs, and on the key that their secrets are sealed under."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from handler.identity.rights import Verb
from handler.operations.address import ABOUT, installation, its_credentials, over
from handler.operations.user_operations import AS_BEFORE, DAYS_90, ROTATED, Lasts, Named, lasting

if TYPE_CHECKING:
    from handler.identity.actors import Actor
    from handler.operations.facade import Operations
    from handler.operations.outcomes import Shown
    from handler.ports.credentials import StoredKeyPair

_SECONDS = {ABOUT: "Seconds until it expires; null: never."}


@over(
    "POST", "/users/{user}/keys", "new_key_pair", verb=Verb.USERS, on=its_credentials, body="KeyPairBody", tag="users",
    status=201, secret=True,
)  # fmt: skip
class NewKeyPair:
    """Make a pair of API key and secret key of a user; the secret key is shown only once, in the answer."""

    user: str
    name: Named
    lasts: Lasts = field(default=DAYS_90, metadata=_SECONDS)

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        made = await operations.keys.new(self.user, self.name, self.lasts)
        return {**_shown(operations, self.user, self.name), "secret_key": made.secret_key}


@over(
    "POST", "/users/{user}/keys/{pair}/rotate", "rotate_key_pair", verb=Verb.USERS, on=its_credentials,
    body="RotateKeyPairBody", may_be_bare=True, tag="users", secret=True,
)  # fmt: skip
class RotateKeyPair:
    """Make a new pair in place of one, shown only once; with ``finish``, only end the old pair."""

    user: str
    pair: str
    finish: bool = field(default=False, metadata={ABOUT: "Only end the old pair."})
    lasts: Lasts = field(default=AS_BEFORE, metadata=ROTATED)

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        if self.finish:
            await operations.keys.finish(self.user, self.pair)
            return {"user": self.user, "name": self.pair, "finished": True}
        made = await operations.keys.rotate(self.user, self.pair, lambda old: lasting(old, self.lasts))
        return {**_shown(operations, self.user, self.pair), "secret_key": made.secret_key}


@over("DELETE", "/users/{user}/keys/{pair}", "revoke_key_pair", verb=Verb.USERS, on=its_credentials, tag="users")
class RevokeKeyPair:
    """Delete a pair, and the one before it."""

    user: str
    pair: str

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        await operations.keys.revoke(self.user, self.pair)
        return {"user": self.user, "name": self.pair, "revoked": True}


@over("POST", "/seal/rotate", "rotate_seal", verb=Verb.STORE, on=installation)
class RotateSeal:
    """Seal every secret of the store under a new key, and forget the keys before it."""

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        done = await operations.keys.reseal()
        return {
            "key": done.key,
            "resealed": done.resealed,
            "shut": done.shut,
            "where": operations.keys.seal().where,
            "workers_without": operations.keys.workers_without(),
        }


KeyOperation = NewKeyPair | RotateKeyPair | RevokeKeyPair | RotateSeal


def _shown(operations: Operations, user: str, name: str) -> Shown:
    pair = operations.keys.pair(user, name)
    return shown_key_pair(pair, opens=operations.keys.opens(pair))


def shown_key_pair(pair: StoredKeyPair, *, opens: bool) -> Shown:
    """Return a pair without its secret key."""
    return {
        "user": pair.user,
        "name": pair.name,
        "api_key": pair.api_key,
        "created_at": pair.created_at,
        "expires_at": pair.expires_at,
        "rotating": pair.old_api_key is not None,
        "last_used_at": pair.last_used_at,
        "opens": opens,
    }
