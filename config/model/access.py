"""How to reach what is measured: secrets by reference, agents, and the servers that answer for whole groups."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import NewType, get_args, get_type_hints

from config.units import Seconds, SourceId


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRef:
    """Where a secret is kept; never the secret itself. Resolved by `config.settings` when it is used."""

    env: str | None = None
    file: str | None = None
    credential: str | None = None
    """A credential of the service, as systemd hands it over."""
    vault: str | None = None
    """The path of a secret in the vault (`VaultAccess`). Exactly one of the four is set."""
    field: str | None = None
    """Which field of the vault's secret it is; set with ``vault``."""

    @property
    def place(self) -> str:
        """What messages call it: the place, never the secret."""
        if self.env is not None:
            return f"the environment variable {self.env}"
        if self.vault is not None:
            return f"the field {self.field} of {self.vault} in the vault"
        return f"the file {self.file}" if self.credential is None else f"the credential {self.credential}"


def secrets_in(value: object) -> Iterator[SecretRef]:
    """Yield every reference to a secret in a value of the model, as often as it stands there."""
    if isinstance(value, SecretRef):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from secrets_in(each)
    elif isinstance(value, Mapping):
        yield from secrets_in(tuple(value.values()))
    else:
        for name in _holders(type(value)):  # type: ignore[arg-type]  # a class can be hashed
            yield from secrets_in(getattr(value, name))


@cache
def _holders(kind: type) -> tuple[str, ...]:
    """Name the fields of a class that may hold a reference, by their types: of most classes few or none."""
    if not is_dataclass(kind):
        return ()
    hints = get_type_hints(kind)
    return tuple(field.name for field in fields(kind) if not _is_plain(hints[field.name]))


def _is_plain(hint: object) -> bool:
    """Whether values of a type are words, numbers, words of a closed list, or collections of these."""
    if isinstance(hint, NewType):
        return _is_plain(hint.__supertype__)
    if isinstance(hint, type) and issubclass(hint, str | int | float | enum.Enum | NoneType):
        return True
    parts = [part for part in get_args(hint) if part is not Ellipsis]
    return bool(parts) and all(map(_is_plain, parts))


# SNMP: how to speak with the agents of a profile's members.


class SnmpLibrary(enum.Enum):
    """Which library speaks SNMP."""

    GUFO = "gufo"
    PYSNMP = "pysnmp"
    """Where gufo-snmp has no wheel, and as a second opinion; 58 times the processor time."""


class SnmpVersion(enum.Enum):
    """Of the protocol."""

    V1 = "1"
    V2C = "2c"
    V3 = "3"


class AuthProtocol(enum.Enum):
    """What a v3 message is signed with. Source: RFC 3414 (md5, sha), RFC 7860 (the others)."""

    MD5 = "md5"
    SHA = "sha"
    SHA224 = "sha224"
    SHA256 = "sha256"
    SHA384 = "sha384"
    SHA512 = "sha512"


class PrivProtocol(enum.Enum):
    """What a v3 message is encrypted with. Source: RFC 3414 (des), RFC 3826 (aes); the others: Blumenthal's draft."""

    DES = "des"
    AES = "aes"
    AES192 = "aes192"
    AES256 = "aes256"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnmpUser:
    """A user of SNMP v3's user-based security. Passwords have at least eight characters (RFC 3414, 11.2)."""

    name: str
    auth: tuple[AuthProtocol, SecretRef] | None = None
    """``None``: noAuthNoPriv."""
    priv: tuple[PrivProtocol, SecretRef] | None = None
    """Never without ``auth``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnmpAccess:
    """How to speak SNMP with a profile's members."""

    port: int = 161
    version: SnmpVersion = SnmpVersion.V2C
    community: SecretRef | None = None
    """Of v1 and v2c. ``None``: ``public``."""
    user: SnmpUser | None = None
    """Of v3, and then always."""
    engine: SnmpLibrary = SnmpLibrary.GUFO


PUBLIC = SnmpAccess()
"""As agents are delivered."""


# HTTP: credentials that Trimtab sends, and certificates that it trusts.


@dataclass(frozen=True, slots=True, kw_only=True)
class Basic:
    """A user name and a password (RFC 7617)."""

    user: str
    password: SecretRef


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerToken:
    """A token (RFC 6750)."""

    token: SecretRef


Credentials = Basic | BearerToken


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Which server certificates are trusted."""

    ca: str | None = None
    """A file of certificates in PEM; ``None``: those that the system trusts."""
    insecure: bool = False
    """Accept any certificate: for appliances without a valid one. Never together with ``ca``."""


BY_SYSTEM = Trust()
"""The certificates that the system trusts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAccess:
    """What goes with every request to one place."""

    credentials: Credentials | None = None
    trust: Trust = BY_SYSTEM
    body_limit: int | None = None
    """Bytes that an answer may have, unpacked; ``None``: as many as this kind of source allows by itself."""


OPEN = HttpAccess()
"""No credentials, and the certificates that the system trusts."""


# The vault: the one server that keeps secrets for us.


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultToken:
    """A token that was made for Trimtab."""

    token: SecretRef


@dataclass(frozen=True, slots=True, kw_only=True)
class AppRole:
    """A role that Trimtab logs in as, for a token of its own."""

    role_id: str
    secret_id: SecretRef
    mount: str = "approle"
    """Where the method is enabled, below ``auth/``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultAccess:
    """HashiCorp Vault, or OpenBao."""

    url: str
    login: VaultToken | AppRole
    namespace: str | None = None
    trust: Trust = BY_SYSTEM
    timeout: Seconds = 5.0
    """For each request."""
    refresh: Seconds = 300.0
    """After it a secret is read again, or after half of its lease if that is sooner."""


# Sources: servers that answer for whole groups, declared once and named by counters.


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusServer:
    """Prometheus, or what speaks its query API (Thanos, Mimir, VictoriaMetrics)."""

    id: SourceId
    url: str
    """What ``/api/v1/query`` is added to."""
    access: HttpAccess = OPEN
    timeout: Seconds = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HaproxyStats:
    """HAProxy's statistics page, in its CSV form."""

    id: SourceId
    url: str
    """Of the page itself, without ``;csv``."""
    backend: str
    access: HttpAccess = OPEN
    timeout: Seconds = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NetscalerStats:
    """A NetScaler's statistics over NITRO. At least one of the two names is set."""

    id: SourceId
    url: str
    """``https://NSIP``; what ``/nitro/v1`` is added to."""
    user: str
    password: SecretRef
    virtual_server: str | None = None
    """The lbvserver that answers for the group."""
    service_group: str | None = None
    """The service group that holds our members. ``None``: services that are bound to the virtual server."""
    trust: Trust = BY_SYSTEM
    timeout: Seconds = 5.0


ServerSource = PrometheusServer | HaproxyStats | NetscalerStats
"""Closed union of the entries of ``sources``."""
