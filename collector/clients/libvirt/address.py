"""Addresses of libvirt's daemons. Pure.

Source: libvirt.org, "Connection URIs" and "Remote support".
"""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TLS_PORT: Final = 16514
_DAEMONS = ("virtqemud-sock", "libvirt-sock")
"""Sockets of the daemon of QEMU alone, and of the one of all drivers; the first that exists is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnixAddress:
    """A daemon of this machine; the first of these sockets that is there."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsAddress:
    """A daemon that listens with TLS."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SshAddress:
    """A daemon that is reached by the program ``ssh``, which runs libvirt's helper there."""

    host: str
    port: int | None
    user: str | None
    uri: str
    """What the helper is told to connect to."""

    @property
    def command(self) -> tuple[str, ...]:
        """The program and its arguments. It must ask nothing: there is no terminal.

        >>> SshAddress(host="h2", port=None, user="fleet", uri="qemu:///system").command[-5:]
        ('-l', 'fleet', '--', 'h2', 'virt-ssh-helper qemu:///system')
        """
        port = () if self.port is None else ("-p", str(self.port))
        user = () if self.user is None else ("-l", self.user)
        options = ("-T", "-e", "none", "-o", "BatchMode=yes")
        return ("ssh", *options, *port, *user, "--", self.host, f"virt-ssh-helper {self.uri}")


Address = UnixAddress | TlsAddress | SshAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a daemon is, and what it is asked to open."""

    address: Address
    name: str


def place_of(uri: str, environment: Mapping[str, str] = os.environ) -> Place:
    """Return where a URI leads, which `config.document.libvirt` has accepted.

    >>> place_of("qemu+tls://h1.example.org/system")
    Place(address=TlsAddress(host='h1.example.org', port=16514), name='qemu:///system')
    >>> place_of("qemu:///system?socket=/run/l.sock").address.paths
    ('/run/l.sock',)
    >>> place_of("qemu:///session", {"XDG_RUNTIME_DIR": "/run/user/7"}).address.paths
    ('/run/user/7/libvirt/virtqemud-sock', '/run/user/7/libvirt/libvirt-sock')
    """
    parts = urllib.parse.urlsplit(uri)
    driver, _, transport = parts.scheme.partition("+")
    name = f"{driver}://{parts.path}"
    if transport == "tls":
        return Place(address=TlsAddress(host=parts.hostname or "", port=parts.port or TLS_PORT), name=name)
    if transport == "ssh":
        address = SshAddress(host=parts.hostname or "", port=parts.port, user=parts.username, uri=name)
        return Place(address=address, name=name)
    socket = urllib.parse.parse_qs(parts.query).get("socket")
    paths = tuple(socket) if socket else _sockets(parts.path == "/session", environment)
    return Place(address=UnixAddress(paths=paths), name=name)


def _sockets(session: bool, environment: Mapping[str, str]) -> tuple[str, ...]:
    user = environment.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    directory = Path(user if session else "/run") / "libvirt"
    return tuple(str(directory / name) for name in _DAEMONS)


def chosen(address: UnixAddress, is_there: Callable[[str], bool]) -> str:
    """Return the first socket that is there, or the last one, so that the error names it.

    >>> chosen(UnixAddress(paths=("/run/a", "/run/b")), {"/run/a"}.__contains__)
    '/run/a'
    """
    return next((path for path in address.paths if is_there(path)), address.paths[-1])
