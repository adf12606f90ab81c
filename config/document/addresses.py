"""How addresses are written in YAML: endpoints, sockets and URLs. Each type says what it expects, as in `scalars`."""

from __future__ import annotations

import ipaddress
import re
import urllib.parse
from dataclasses import dataclass
from typing import Annotated

from pydantic import PlainValidator

from config.document.declared import worded
from config.document.scalars import LAST_PORT

_HTTP = frozenset({"http", "https"})
_HOST = re.compile(r"(?=.{1,253}\Z)(?=[A-Za-z0-9])[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})*(?<!-)")
"""A name with an empty label, or one of more than 63 characters (RFC 1035, 2.3.4), cannot be looked up at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A host (address or name) and a TCP port."""

    host: str
    port: int


def read_endpoint(value: object) -> Endpoint:
    """Read ``127.0.0.1:8080`` or ``[::1]:8080``.

    Raises:
        ValueError: says what was expected.
    """
    host, _, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    bare = host.removeprefix("[").removesuffix("]")
    if not (re.fullmatch(r"[0-9]{1,5}", port) and 0 < int(port) <= LAST_PORT and _is_host(host, bare)):
        raise ValueError("an address and a port from 1 to 65535, such as 127.0.0.1:8080")
    return Endpoint(host=bare, port=int(port))


def _is_host(host: str, bare: str) -> bool:
    try:
        version = ipaddress.ip_address(bare).version
    except ValueError:
        # Four numbers that are no address are a mistyped one, never a name.
        return host == bare and bool(_HOST.fullmatch(host)) and not re.fullmatch(r"[0-9.]+", host)
    return (host != bare) == (version == 6)  # noqa: PLR2004 the version of IP


Listen = Annotated[
    Endpoint, PlainValidator(read_endpoint), worded("address and port", type="string", pattern=r"^.+:[0-9]{1,5}$")
]


def read_socket(value: object) -> str:
    """Read the place of a runtime socket: an absolute path, or ``host:port``.

    Raises:
        ValueError: says what was expected.
    """
    if isinstance(value, str) and value.startswith("/") and value.isprintable():
        return value
    try:
        read_endpoint(value)
    except ValueError as error:
        raise ValueError("an absolute path or HOST:PORT, such as /run/haproxy/admin.sock") from error
    return str(value)


RuntimeSocket = Annotated[str, PlainValidator(read_socket), worded("absolute path, or HOST:PORT", type="string")]


def read_base(value: object) -> str:
    """Read the address of a server that is asked, or of one of its pages.

    Raises:
        ValueError: says what was expected.
    """
    address, _ = _address(value, "http://127.0.0.1:9090", "these are keys of their own beside it")
    return address


_ADDRESS = {"type": "string", "pattern": r"^https?://[^@/?#\s]+([/?][^#\s]*)?$", "format": "uri"}
BaseUrl = Annotated[str, PlainValidator(read_base), worded("URL", "http or https", **_ADDRESS)]


def read_url(value: object) -> str:
    """Read an address that notices are posted to. No refusal repeats it: its path may be a secret.

    Raises:
        ValueError: says what was expected.
    """
    never = "this file must not hold secrets; secret: signs instead"
    address, parts = _address(value, "https://pager.example.org/trimtab", never)
    if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
        raise ValueError("an https address: plain http, which anyone can read, is for loopback only")
    return address


def _address(
    value: object, example: str, instead: str, schemes: frozenset[str] = _HTTP
) -> tuple[str, urllib.parse.SplitResult]:
    expected = f"an address such as {example}"
    if not isinstance(value, str) or not re.fullmatch(r"[!-~]{1,2000}", value):
        raise ValueError(expected)
    try:
        parts = urllib.parse.urlsplit(value)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ValueError(expected) from error
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"an address without user and password: {instead}")
    if parts.scheme not in schemes or port == 0 or not _is_host(f"[{host}]" if ":" in host else host, host):
        raise ValueError(expected)
    if parts.fragment:
        raise ValueError("an address without #: that part is never sent")
    return value, parts


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


Url = Annotated[str, PlainValidator(read_url), worded("URL", "https; http to this machine", **_ADDRESS)]


def read_bus(value: object) -> str:
    """Read the address of a message bus; its path is the virtual host, with ``/`` in it as ``%2F``.

    Raises:
        ValueError: says what was expected.
    """
    address, parts = _address(value, "amqps://rabbit.example.org:5671/", "these are keys of their own beside it", _AMQP)
    if "/" in parts.path[1:] or parts.query:
        raise ValueError("an address with one virtual host after it and no more, such as amqps://rabbit/nova")
    return address


_AMQP = frozenset({"amqp", "amqps"})
BusUrl = Annotated[
    str,
    PlainValidator(read_bus),
    worded("URL", "amqp or amqps", type="string", pattern=r"^amqps?://[^@/?#\s]+(/[^/?#\s]*)?$", format="uri"),
]
