"""How clouds of libvirt are written in YAML, and what a profile may say of a domain."""

from __future__ import annotations

import re
import urllib.parse
from typing import Annotated, ClassVar, Self
from xml.etree import ElementTree

from pydantic import Field, PlainValidator, Strict, model_validator
from pydantic_core import PydanticCustomError

from config.document.declared import key as may
from config.document.declared import worded
from config.document.scalars import AbsolutePath, Given, Name, PositiveSpan
from config.document.sources import TrustingDocument
from config.model.libvirt import AddressSource, LibvirtHost

_EXPECTED = "libvirt's address of a host, such as qemu:///system, qemu+tls://HOST/system or qemu+ssh://USER@HOST/system"
_SCHEME = r"(qemu|test)(\+(unix|tls|ssh))?"
_LOCAL = {"", "unix"}
_PATHS = {"qemu": {"/system", "/session"}, "test": {"/default"}}
_HOST = r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?|[0-9a-fA-F:.]{2,45}"
_USER = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}"


def read_uri(value: object) -> str:
    """Read libvirt's own address of a host, of the kinds that are spoken here.

    Raises:
        ValueError: says what was expected.

    >>> read_uri("qemu+ssh://fleet@h2.example.org:2222/system")
    'qemu+ssh://fleet@h2.example.org:2222/system'
    """
    if not isinstance(value, str) or not re.fullmatch(r"[!-~]{1,2000}", value):
        raise ValueError(_EXPECTED)
    try:
        parts = urllib.parse.urlsplit(value)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ValueError(_EXPECTED) from error
    driver, _, transport = parts.scheme.partition("+")
    if transport == "tcp":
        raise ValueError("qemu+tls or qemu+ssh: plain TCP neither hides nor protects what is sent")
    if not re.fullmatch(_SCHEME, parts.scheme) or parts.path not in _PATHS[driver] or parts.fragment or port == 0:
        raise ValueError(_EXPECTED)
    _check_host(parts, host, local=transport in _LOCAL)
    _check_parameters(parts.query, local=transport in _LOCAL)
    return value


def _check_host(parts: urllib.parse.SplitResult, host: str, *, local: bool) -> None:
    if local and parts.netloc:
        raise ValueError(f"{_EXPECTED}: another host is reached by +tls or +ssh")
    if parts.password is not None or (parts.username is not None and not parts.scheme.endswith("+ssh")):
        raise ValueError("an address without user and password: only ssh takes a user, and finds the key by itself")
    if not local and not re.fullmatch(_HOST, host):
        raise ValueError(_EXPECTED)
    if parts.username is not None and not re.fullmatch(_USER, parts.username):
        raise ValueError(_EXPECTED)


def _check_parameters(query: str, *, local: bool) -> None:
    """Refuse parameters of libvirt's library: certificates are keys of their own, and ssh has its own settings."""
    try:
        given = urllib.parse.parse_qs(query, strict_parsing=bool(query), keep_blank_values=True)
    except ValueError as error:
        raise ValueError(_EXPECTED) from error
    sockets = given.pop("socket", [])
    if given or (sockets and (not local or len(sockets) > 1 or not sockets[0].startswith("/"))):
        raise ValueError("an address without parameters; of a host of this machine, ?socket=/PATH may be written")


Uri = Annotated[
    str, PlainValidator(read_uri), worded("libvirt's address of a host", type="string", pattern=rf"^{_SCHEME}://")
]


_MOST_MEMORY = 1000


def read_memory(value: object) -> float:
    """Read a percentage of a host's memory, as a share.

    Raises:
        ValueError: says what was expected.

    >>> read_memory("150%")
    1.5
    """
    match = re.fullmatch(r"(?P<percent>[0-9]{1,4})\s*%", value) if isinstance(value, str) else None
    if match is None or not 1 <= int(match["percent"]) <= _MOST_MEMORY:
        raise ValueError(f"a percentage from 1% to {_MOST_MEMORY}%, such as 90%")
    return int(match["percent"]) / 100


_MEMORY = worded("percentage", f"1% to {_MOST_MEMORY}%", type="string", pattern=r"^[0-9]{1,4}\s*%$")


class LibvirtDocument(TrustingDocument):
    """Members are domains of one host with libvirt, or of several."""

    choice: ClassVar[tuple[str, ...]] = ("uri", "hosts")
    choice_of: ClassVar[str] = "the host"
    together: ClassVar[tuple[str, ...]] = ("certificate", "key")
    hidden: ClassVar[frozenset[str]] = frozenset({"uri", "hosts"})

    uri: Annotated[Uri | None, Given] = may("The only host, by libvirt's own address of it.", "qemu:///system")
    hosts: Annotated[Annotated[dict[Name, Uri], Field(min_length=1, max_length=1000)] | None, Given] = may(
        "Several hosts, each by libvirt's own address of it. Members go to the host with the fewest.",
        {"h1": "qemu+tls://h1.example.org/system", "h2": "qemu+ssh://fleet@h2.example.org/system"},
    )
    certificate: Annotated[AbsolutePath | None, Given] = may(
        "A file (PEM) with the certificate that hosts know Trimtab by, over TLS.",
        "/etc/pki/libvirt/clientcert.pem",
        left_out="none is shown",
    )
    key: Annotated[AbsolutePath | None, Given] = may(
        "The file (PEM) with the certificate's private key.",
        "/etc/pki/libvirt/private/clientkey.pem",
        left_out="none: it goes with certificate",
    )
    timeout: PositiveSpan = may("How long an answer of a host may take, all of it.", "15s", default="15s")
    addresses: Annotated[AddressSource, Strict(False)] = may(
        "Where members' addresses are learned from.", "agent", default="leases"
    )

    memory: Annotated[float, PlainValidator(read_memory), _MEMORY] = may(
        "How much memory the guests of a host may have together, of the host's own.", "150%", default="100%"
    )

    @model_validator(mode="after")
    def _each_host_once(self) -> Self:
        uris = list((self.hosts or {}).values())
        twice = next((uri for uri in uris if uris.count(uri) > 1), None)
        if twice is not None:
            raise PydanticCustomError("sentence", "{uri} is written for two hosts", {"uri": twice, "key": "hosts"})
        return self

    @property
    def places(self) -> tuple[LibvirtHost, ...]:
        """The hosts, as the core sees them."""
        if self.uri is not None:
            return (LibvirtHost(name="", uri=self.uri),)
        return tuple(LibvirtHost(name=name, uri=uri) for name, uri in (self.hosts or {}).items())


_VOLUME = r"[^/\s][^/]{0,127}/[^/]{1,255}"


def read_volume(value: object) -> str:
    """Read a volume of a pool.

    Raises:
        ValueError: says what was expected.
    """
    if not isinstance(value, str) or not re.fullmatch(_VOLUME, value) or not value.isprintable():
        raise ValueError("a volume and its pool, as POOL/VOLUME, such as images/debian-12.qcow2")
    return value


VolumeName = Annotated[
    str, PlainValidator(read_volume), worded("volume, as POOL/VOLUME", type="string", pattern=f"^{_VOLUME}$")
]
_OURS = ("name", "uuid", "memory", "currentMemory", "maxMemory", "vcpu", "metadata")
_LONGEST = 2**17


def read_domain(value: object) -> str:
    """Read the XML of a domain that the rest of the profile is put into.

    Raises:
        ValueError: says what was expected.
    """
    expected = "the XML of a <domain>, without a document type"
    if not isinstance(value, str) or len(value) > _LONGEST or "<!DOCTYPE" in value:
        raise ValueError(expected)
    try:
        root = ElementTree.fromstring(value)  # noqa: S314  # without a document type, it has no entities
    except ElementTree.ParseError as error:
        raise ValueError(f"{expected} ({error})") from error
    if root.tag != "domain":
        raise ValueError(expected)
    ours = [tag for tag in _OURS if root.find(tag) is not None]
    if ours:
        raise ValueError(f"{expected} and without {', '.join(ours)}, which Trimtab writes")
    return value


DomainXml = Annotated[str, PlainValidator(read_domain), worded("XML of a domain", type="string", maxLength=_LONGEST)]
