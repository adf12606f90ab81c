"""What belongs to the daemon itself: where it listens besides its unix socket, its store, and who logs persons in."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from config.model.access import BY_SYSTEM, SecretRef, Trust
from config.units import Seconds

HOST = "127.0.0.1"
PORT = 8460


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """Which clients may connect at all: those with a certificate of this authority."""

    authority: str
    """Absolute path of its certificates, PEM."""
    required: bool = True
    """False: a client may also have none; one that is shown must be good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """The certificate that the daemon shows. Both files are read again when they change."""

    certificate: str
    """Absolute path of the certificate and those that lead to its authority, PEM."""
    key: str = field(repr=False)
    """Absolute path of its private key, PEM."""
    clients: Clients | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenOn:
    """One TCP address for the API, the console and webhooks."""

    host: str = HOST
    port: int = PORT
    tls: Tls | None = None
    trusted: tuple[str, ...] = ()
    """Networks of the proxies before it, in CIDR notation: only they may connect, and they say which client it is.
    Empty: there is no proxy."""
    names: tuple[str, ...] = ()
    """Host names by which clients know it, besides those of the certificate and of this machine; lower case."""

    @property
    def is_exposed(self) -> bool:
        """Whether other machines can reach it."""
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host != "localhost"

    @property
    def is_protected(self) -> bool:
        """Whether what is sent is encrypted, by the daemon or by a proxy before it."""
        return self.tls is not None or bool(self.trusted)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresqlPlace:
    """A database of a PostgreSQL server."""

    url: str
    """As libpq reads it, without a password."""
    password: SecretRef | None = None
    """``None``: the server asks for none, or libpq finds it (a password file, a certificate)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcProvider:
    """The provider of identities that persons log in with (OpenID Connect), and the users that they are then."""

    issuer: str
    """Its name, which is an address; its settings are below it."""
    client_id: str
    client_secret: SecretRef | None = None
    """``None``: a public client, which PKCE alone protects."""
    claim: str
    """What is looked up in ``users``: text, or a list of texts."""
    users: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Value of the claim → user of Trimtab, in the order of the file."""
    scopes: tuple[str, ...] = ("openid",)
    trust: Trust = BY_SYSTEM
    timeout: Seconds = 10.0
    """For each request to it."""
