"""Where the daemon listens besides its unix socket, and what protects that."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

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
