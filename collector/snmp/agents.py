"""Which agent to ask, and with which identity: what a session is kept for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from config.errors import TrimtabError
from config.model.access import AuthProtocol, PrivProtocol, SecretRef, SnmpAccess, SnmpLibrary, SnmpVersion

HASHES: Mapping[AuthProtocol, str] = MappingProxyType(
    {
        AuthProtocol.MD5: "md5",
        AuthProtocol.SHA: "sha1",
        AuthProtocol.SHA224: "sha224",
        AuthProtocol.SHA256: "sha256",
        AuthProtocol.SHA384: "sha384",
        AuthProtocol.SHA512: "sha512",
    }
)
"""What `hashlib` calls them."""

_STRETCHED = 1 << 20
"""Bytes over which a password is repeated before it is hashed. Source: RFC 3414, A.2."""
_KEPT_KEYS = 256


@dataclass(frozen=True, slots=True)
class Community:
    """Who we are to an agent of v1 or v2c."""

    version: SnmpVersion
    name: str = field(repr=False)

    @property
    def silence(self) -> str:
        """What no answer may mean."""
        return "no answer, which is also what a wrong community gets"


@dataclass(frozen=True, slots=True)
class User:
    """Who we are to an agent of v3. Keys are master keys, which are neither passwords nor of one agent."""

    name: str
    auth: tuple[AuthProtocol, bytes] | None = field(default=None, repr=False)
    priv: tuple[PrivProtocol, bytes] | None = field(default=None, repr=False)

    @property
    def silence(self) -> str:
        """What no answer may mean."""
        return "no answer" if self.priv is None else "no answer, which is also what a wrong password of priv gets"


Identity = Community | User


class Agent(NamedTuple):
    """One agent as one of its callers."""

    address: str
    """Numeric, or a name."""
    port: int
    engine: SnmpLibrary
    identity: Identity


class Identities:
    """Reads secrets, and derives the keys of v3 once: that takes as long as hundreds of requests."""

    def __init__(self) -> None:
        self._keys: dict[tuple[AuthProtocol, bytes], bytes] = {}

    def of(self, access: SnmpAccess, read_secret: Callable[[SecretRef], str]) -> Identity | str:
        """Return the identity with which a profile's members are asked; a text: why there is none.

        Args:
            access: of the profile.
            read_secret: raises `TrimtabError` or `OSError` where the secret is not there.
        """
        try:
            if access.user is None:
                name = "public" if access.community is None else read_secret(access.community)
                return Community(access.version, name)
            if access.user.auth is None:
                return User(access.user.name)
            protocol, password = access.user.auth
            auth = protocol, self._key(protocol, read_secret(password))
            if access.user.priv is None:
                return User(access.user.name, auth)
            cipher, password = access.user.priv
            return User(access.user.name, auth, (cipher, self._key(protocol, read_secret(password))))
        except (TrimtabError, OSError) as error:
            return str(error)

    def _key(self, protocol: AuthProtocol, password: str) -> bytes:
        secret = password.encode()
        known = protocol, hashlib.sha256(secret).digest()
        if known not in self._keys:
            if len(self._keys) >= _KEPT_KEYS:
                self._keys.clear()
            self._keys[known] = master_key(protocol, secret)
        return self._keys[known]


def master_key(protocol: AuthProtocol, password: bytes) -> bytes:
    """Derive the key that a password stands for.

    >>> master_key(AuthProtocol.MD5, b"maplesyrup").hex()
    '9faf3283884e92834ebc9847d8edd963'

    Source: RFC 3414, A.2 and A.3, whose example this is.
    """
    if not password:
        return b""
    repeated = (password * (_STRETCHED // len(password) + 1))[:_STRETCHED]
    return hashlib.new(HASHES[protocol], repeated, usedforsecurity=False).digest()
