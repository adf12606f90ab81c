"""The section ``listen``, as it is written."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, ClassVar, Self

from pydantic import Field, PlainValidator, model_validator
from pydantic_core import PydanticCustomError

from config.document.addresses import Listen
from config.document.declared import Declared, must, worded
from config.document.declared import key as may
from config.document.scalars import AbsolutePath, Given
from config.model.daemon import HOST, PORT, Clients, ListenOn, Tls

_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*", re.ASCII)
_EXPOSED = (
    "other machines reach {address}: give certificate and key, or behind_proxy with the addresses of a proxy that "
    "encrypts; without both, listen on 127.0.0.1"
)


def read_network(value: object) -> str:
    """Read the addresses of proxies.

    Raises:
        ValueError: says what was expected.
    """
    try:
        return str(ipaddress.ip_network(value if isinstance(value, str) else "", strict=True))
    except ValueError:
        raise ValueError("an address or a network, such as 192.0.2.10 or 192.0.2.0/28") from None


def read_host_name(value: object) -> str:
    """Read a name that clients may use in the Host header.

    Raises:
        ValueError: says what was expected.
    """
    name = value.lower() if isinstance(value, str) else ""
    if not _NAME.fullmatch(name):
        raise ValueError("a host name without a port, such as trimtab.example.org")
    return name


Network = Annotated[str, PlainValidator(read_network), worded("network", "CIDR notation", type="string")]
HostName = Annotated[str, PlainValidator(read_host_name), worded("host name", type="string")]


class ClientsDocument(Declared):
    """Certificates of clients."""

    authority: AbsolutePath = must(
        "A file with the certificates of the authority that signs those of clients, PEM.", "/etc/trimtab/clients.pem"
    )
    required: bool = may("Whether a client must show one.", False, default=True)


class BehindProxyDocument(Declared):
    """A proxy before Trimtab that encrypts what clients send."""

    trusted: Annotated[list[Network], Field(min_length=1)] = must(
        "Its addresses. No other address may connect, and the proxy's X-Forwarded-For says which client it is.",
        ["192.0.2.10"],
    )


class ListenDocument(Declared):
    """The TCP address for the API, the console and webhooks. Changes of the address need a restart."""

    together: ClassVar[tuple[str, ...]] = ("certificate", "key")

    address: Annotated[Listen | None, Given] = may(
        "Address and port. Beyond this machine it needs TLS or a proxy, and users.",
        "0.0.0.0:8460",
        left_out="127.0.0.1:8460, or as --host and --port say",
    )
    certificate: Annotated[AbsolutePath | None, Given] = may(
        "A file with the certificate and those that lead to its authority, PEM. It is read again when it changes.",
        "/etc/trimtab/tls.pem",
        left_out="no TLS",
    )
    key: Annotated[AbsolutePath | None, Given] = may(
        "A file with the private key, PEM, that only Trimtab's user can read.",
        "/etc/trimtab/tls.key",
        left_out="none: it goes with certificate",
    )
    clients: Annotated[ClientsDocument | None, Given] = may(
        "Which certificates clients must show.", {"authority": "/etc/trimtab/clients.pem"}, left_out="none is asked for"
    )
    behind_proxy: Annotated[BehindProxyDocument | None, Given] = may(
        "A proxy that encrypts, and its addresses.", {"trusted": ["192.0.2.10"]}, left_out="there is none"
    )
    names: list[HostName] = may(
        "Names in the Host header, besides those of the certificate and of this machine.",
        ["trimtab.example.org"],
        default=[],
    )

    @model_validator(mode="after")
    def _protected(self) -> Self:
        if self.clients is not None and self.certificate is None:
            raise PydanticCustomError("sentence", "clients needs certificate beside it", {"key": "clients"})
        settings = self.settings
        if settings.is_exposed and not settings.is_protected:
            message = _EXPOSED.format(address=f"{settings.host}:{settings.port}")
            raise PydanticCustomError("sentence", "{message}", {"message": message, "key": "address"})
        return self

    @property
    def settings(self) -> ListenOn:
        """As the daemon sees it."""
        clients = None if self.clients is None else Clients(
            authority=self.clients.authority, required=self.clients.required
        )  # fmt: skip
        tls = None
        if self.certificate is not None and self.key is not None:
            tls = Tls(certificate=self.certificate, key=self.key, clients=clients)
        return ListenOn(
            host=HOST if self.address is None else self.address.host,
            port=PORT if self.address is None else self.address.port,
            tls=tls,
            trusted=() if self.behind_proxy is None else tuple(self.behind_proxy.trusted),
            names=tuple(self.names),
        )
