"""Tokens of webhooks: 256 random bits, shown once, kept as a salted hash.

A plain SHA-256 is enough: 2²⁵⁶ tokens cannot be tried, so nothing has to be slow. A token is searched among all
that are valid, each compared in constant time, whether or not one matches: the time taken reveals nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace

from config.model.access import SecretRef
from config.model.effects import EffectKind
from config.units import GroupId, HookId, Instant, PolicyId
from handler.ports.alerts import StoredHook, TokenHash
from trigger.verdicts import Direction

_NAME = re.compile(r"[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?", re.ASCII)
_LONGEST = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWebhook:
    """What a new webhook is to be."""

    name: str
    groups: tuple[GroupId, ...] = ()
    """Empty: every group."""
    effects: tuple[EffectKind, ...] = tuple(EffectKind)
    directions: tuple[Direction, ...] = tuple(Direction)
    hmac_secret: SecretRef | None = None
    pushes: bool = False
    """It brings values of its groups, and no alerts."""
    policy: PolicyId | None = None
    """It executes this policy of its one group, and takes no alerts."""
    observes: bool = False
    """It brings events of a cloud about its groups, and no alerts."""


def mint() -> str:
    """Make a token, fit for a URL."""
    return secrets.token_urlsafe(32)


def mint_id() -> HookId:
    """Make the id of a webhook; it is no secret."""
    return HookId(f"hook-{secrets.token_hex(4)}")


def is_name(name: str) -> bool:
    """Whether a webhook may be called so: lower-case letters, digits, dashes and underscores, at most 64."""
    return _NAME.fullmatch(name) is not None


def hashed(token: str) -> TokenHash:
    """What is kept of a token."""
    salt = secrets.token_bytes(16)
    return TokenHash(salt=salt.hex(), digest=_digest(salt, token).hex())


def holder(hooks: Iterable[StoredHook], token: str, now: Instant) -> StoredHook | None:
    """Return the webhook of a token that is valid: not revoked, and, if it is the old one of two, not expired.

    Looks at every webhook, whichever fits.
    """
    found: StoredHook | None = None
    offered = token if len(token) <= _LONGEST else ""
    for hook in hooks:
        fits = _fits(hook.token, offered)
        fits_old = hook.old_token is not None and _fits(hook.old_token, offered)
        lives_old = hook.old_until is None or now < hook.old_until
        if hook.revoked_at is None and (fits or (fits_old and lives_old)):
            found = hook
    return found


def rotated(hook: StoredHook, token: TokenHash) -> StoredHook:
    """Give a new token; the one before lives until the next rotation or `finished`, those before it end now."""
    return replace(hook, token=token, old_token=hook.token, old_until=None)


def finished(hook: StoredHook) -> StoredHook:
    """End the old token."""
    return replace(hook, old_token=None, old_until=None)


def _fits(known: TokenHash, offered: str) -> bool:
    digest = _digest(bytes.fromhex(known.salt), offered)
    return hmac.compare_digest(digest, bytes.fromhex(known.digest))


def _digest(salt: bytes, token: str) -> bytes:
    return hashlib.sha256(salt + token.encode("utf-8", "surrogatepass")).digest()
