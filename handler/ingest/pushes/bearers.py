"""Tokens of members: made out of a key of the installation and the member's name, so none of them is kept anywhere.

A token is ``NAME.MAC``: it says whose it is, and the key proves it. It speaks for that one member; whether that is
still a member is for others to say. Names are never used twice, so an old token never comes to mean somebody else.

Source: RFC 2104 (HMAC), RFC 6234 (SHA-256).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence

from config.units import MemberName

_PURPOSE = b"trimtab member token 1\0"
_LONGEST = 300


def token_of(key: bytes, member: MemberName) -> str:
    """A member's token, fit for a header and for the environment.

    >>> token_of(b"key", MemberName("web-k3f9ab-1"))
    'web-k3f9ab-1.SD4LJQ_kqmoejyK76zJIaCikWakItcIudGAFuF81eiE'
    """
    mac = hmac.digest(key, _PURPOSE + _bytes(member), hashlib.sha256)
    return f"{member}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def bearer_of(keys: Sequence[bytes], token: str) -> MemberName | None:
    """Whose token it is, by any of these keys; each is tried, in constant time, whether or not one fits."""
    offered = token if len(token) <= _LONGEST else ""
    member = MemberName(offered.rpartition(".")[0])
    fits = [hmac.compare_digest(_bytes(token_of(key, member)), _bytes(offered)) for key in keys]
    return member if any(fits) else None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
