"""Bearer tokens of users: 256 random bits, shown once, kept as a hash.

A plain SHA-256 is enough: 2²⁵⁶ tokens cannot be tried, so nothing has to be slow. A token is looked up by its hash,
which a caller cannot choose, so the time of the look-up reveals nothing about tokens or names.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import uuid

from config.errors import Refused

PREFIX = "trimtab_"
"""Tokens begin with it, so that programs that search files for secrets recognise them."""
_LONGEST = 128
_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?", re.ASCII)


def mint() -> str:
    """Make a token."""
    return PREFIX + secrets.token_urlsafe(32)


def new_uuid() -> str:
    """Make a UUID of an account, a domain or a user, for clients that know them by one."""
    return str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))


def digest_of(token: str) -> str:
    """Return what is kept of a token; of one that is too long to be one, the hash of nothing."""
    offered = token if len(token) <= _LONGEST else ""
    return hashlib.sha256(offered.encode("utf-8", "surrogatepass")).hexdigest()


def check_name(name: str, kind: str) -> None:
    """Refuse what cannot name a user or a token.

    Raises:
        Refused: it has other letters, or is too long.
    """
    if _NAME.fullmatch(name) is None:
        raise Refused(f"{name[:70]!r} cannot name a {kind}: lower-case letters, digits, '.', '-' and '_', at most 64")
