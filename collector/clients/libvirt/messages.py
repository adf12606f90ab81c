"""Calls of libvirt's daemon and its answers. Pure.

Source: ``src/rpc/virnetprotocol.x``, ``src/remote/remote_protocol.x`` and ``include/libvirt/virterror.h`` of libvirt
9.0. Daemons of any version serve clients of any other, so no number there ever changes its meaning.
"""

from __future__ import annotations

import enum
import struct
import uuid
from dataclasses import dataclass

from collector.clients.libvirt.xdr import Garbled, Unpacker, number, text
from collector.clients.quoting import shown
from config.causes import FailureCause
from config.errors import DriverError, Engaged, Permanent, Transient
from config.units import Seconds

PROGRAM, VERSION = 0x20008086, 1
KEEPALIVE = 0x6B656570
PING, PONG = 1, 2
LONGEST = 1 << 25
"""Bytes of a message; libvirt sends at most 32 MiB."""
_HEADER = struct.Struct(">IIiIII")
HEADED = 4 + _HEADER.size


class MessageType(enum.IntEnum):
    """What a message is."""

    CALL = 0
    REPLY = 1
    EVENT = 2
    STREAM = 3


class Status(enum.IntEnum):
    """How a call or a stream goes on."""

    OK = 0
    ERROR = 1
    CONTINUE = 2


class Procedure(enum.IntEnum):
    """What is called; the names are those of libvirt's API."""

    CONNECT_OPEN = 1
    NODE_GET_INFO = 6
    DOMAIN_GET_INFO = 16
    DOMAIN_LOOKUP_BY_UUID = 24
    NETWORK_LOOKUP_BY_NAME = 46
    AUTH_LIST = 66
    AUTH_POLKIT = 70
    STORAGE_POOL_LOOKUP_BY_NAME = 84
    STORAGE_VOL_CREATE_XML = 93
    STORAGE_VOL_DELETE = 94
    STORAGE_VOL_LOOKUP_BY_NAME = 95
    STORAGE_VOL_GET_XML_DESC = 99
    CONNECT_GET_LIB_VERSION = 157
    DOMAIN_CREATE_WITH_FLAGS = 196
    STORAGE_VOL_UPLOAD = 208
    DOMAIN_GET_STATE = 212
    DOMAIN_UNDEFINE_FLAGS = 231
    DOMAIN_DESTROY_FLAGS = 234
    DOMAIN_SHUTDOWN_FLAGS = 258
    DOMAIN_SET_METADATA = 264
    DOMAIN_GET_METADATA = 265
    CONNECT_LIST_ALL_DOMAINS = 273
    DOMAIN_DEFINE_XML_FLAGS = 350
    DOMAIN_INTERFACE_ADDRESSES = 353

    @property
    def words(self) -> str:
        """As messages name it: ``domain create with flags``."""
        return self.name.lower().replace("_", " ")


class Fault(enum.IntEnum):
    """Errors of libvirt that mean more than that something failed."""

    NO_MEMORY = 2
    NO_SUPPORT = 3
    INVALID_ARG = 8
    OS_TYPE = 16
    XML_ERROR = 27
    OPERATION_DENIED = 29
    XML_DETAIL = 35
    NO_DOMAIN = 42
    NO_NETWORK = 43
    AUTH_FAILED = 45
    NO_STORAGE_POOL = 49
    NO_STORAGE_VOL = 50
    OPERATION_INVALID = 55
    CONFIG_UNSUPPORTED = 67
    OPERATION_TIMEOUT = 68
    ARGUMENT_UNSUPPORTED = 74
    AUTH_CANCELLED = 79
    NO_DOMAIN_METADATA = 80
    OPERATION_UNSUPPORTED = 84
    AGENT_UNRESPONSIVE = 86
    RESOURCE_BUSY = 87
    ACCESS_DENIED = 88
    STORAGE_VOL_EXIST = 90
    CPU_INCOMPATIBLE = 91
    XML_INVALID_SCHEMA = 92
    AUTH_UNAVAILABLE = 94
    AGENT_UNSYNCED = 97


_MISSING = {Fault.NO_DOMAIN, Fault.NO_NETWORK, Fault.NO_STORAGE_POOL, Fault.NO_STORAGE_VOL, Fault.NO_DOMAIN_METADATA}
_REFUSED = {
    Fault.OPERATION_DENIED, Fault.AUTH_FAILED, Fault.AUTH_CANCELLED, Fault.AUTH_UNAVAILABLE, Fault.ACCESS_DENIED,
}  # fmt: skip
_WRONG = {
    Fault.NO_SUPPORT, Fault.INVALID_ARG, Fault.OS_TYPE, Fault.XML_ERROR, Fault.XML_DETAIL, Fault.XML_INVALID_SCHEMA,
    Fault.CONFIG_UNSUPPORTED, Fault.ARGUMENT_UNSUPPORTED, Fault.OPERATION_UNSUPPORTED, Fault.CPU_INCOMPATIBLE,
}  # fmt: skip
_BUSY = {Fault.OPERATION_TIMEOUT, Fault.RESOURCE_BUSY}
"""Another call holds the domain; libvirt waits for it for half a minute."""
_SOON: Seconds = 5.0
_CAUSES = {
    Fault.NO_NETWORK: FailureCause.NETWORK,
    Fault.NO_STORAGE_POOL: FailureCause.IMAGE,
    Fault.NO_STORAGE_VOL: FailureCause.IMAGE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LibvirtError:
    """What a daemon answers in place of a result."""

    code: int
    message: str

    def failure(self, about: str) -> DriverError:
        """Return it as a driver raises it, with libvirt's own words.

        >>> type(LibvirtError(code=42, message="Domain not found").failure("kvm: h1")).__name__
        'LibvirtMissing'
        >>> LibvirtError(code=88, message="access denied").failure("kvm: h1: domain define xml flags").cause
        <FailureCause.CREDENTIALS: 'credentials'>
        """
        words = f"{about}: {self.message}"
        if self.code in _MISSING:
            return LibvirtMissing(words, cause=_CAUSES.get(Fault(self.code)))
        if self.code in _REFUSED:
            return LibvirtRefused(f"{about}: refused: {self.message}", cause=FailureCause.CREDENTIALS)
        if self.code in _WRONG:
            return LibvirtRefused(words, cause=FailureCause.LAUNCH_CONFIGURATION)
        if self.code in _BUSY:
            return Engaged(words, retry_after=_SOON)
        return LibvirtFailed(words, self.code)


class LibvirtMissing(Permanent):
    """A definite not-found."""


class LibvirtRefused(Permanent):
    """Not possible as it was asked; nothing was done."""


class LibvirtFailed(Transient):
    """The daemon answered that it failed. Unlike no answer, that ends the call."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What precedes a message's content."""

    procedure: int
    serial: int
    type: int = MessageType.CALL.value
    status: int = Status.OK.value
    program: int = PROGRAM


@dataclass(frozen=True, slots=True)
class DomainRef:
    """How a domain is named in calls."""

    name: str
    uuid: uuid.UUID

    @property
    def packed(self) -> bytes:
        """As an argument. The number of a running domain is not needed to find it."""
        return text(self.name) + self.uuid.bytes + number(-1)


@dataclass(frozen=True, slots=True)
class PoolRef:
    """How a storage pool is named in calls."""

    name: str
    uuid: uuid.UUID

    @property
    def packed(self) -> bytes:
        """As an argument."""
        return text(self.name) + self.uuid.bytes


@dataclass(frozen=True, slots=True)
class VolumeRef:
    """How a volume is named in calls."""

    pool: str
    name: str
    key: str

    @property
    def packed(self) -> bytes:
        """As an argument."""
        return text(self.pool) + text(self.name) + text(self.key)


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface of a guest, and its addresses."""

    name: str
    addresses: tuple[str, ...]


def domain_ref(reader: Unpacker) -> DomainRef:
    """Read a domain."""
    name, own = reader.text(), uuid.UUID(bytes=reader.opaque(16))
    reader.number()
    return DomainRef(name, own)


def pool_ref(reader: Unpacker) -> PoolRef:
    """Read a storage pool."""
    return PoolRef(reader.text(), uuid.UUID(bytes=reader.opaque(16)))


def volume_ref(reader: Unpacker) -> VolumeRef:
    """Read a volume."""
    return VolumeRef(reader.text(), reader.text(), reader.text())


def interface_of(reader: Unpacker) -> Interface:
    """Read an interface with its addresses."""
    name = reader.text()
    reader.maybe(reader.text)

    def address() -> str:
        reader.number()
        value = reader.text()
        reader.number()
        return value

    return Interface(name, reader.every(address))


def frame(header: Header, body: bytes) -> bytes:
    """Write a message: its length, its header and its content."""
    fields = (header.program, VERSION, header.procedure, header.type, header.serial, header.status)
    return number(HEADED + len(body)) + _HEADER.pack(*fields) + body


def header_of(data: bytes) -> Header:
    """Read a header.

    >>> header_of(frame(Header(procedure=23, serial=7), b"")[4:])
    Header(procedure=23, serial=7, type=0, status=0, program=536903814)
    """
    try:
        program, version, procedure, kind, serial, status = _HEADER.unpack(data)
    except struct.error as error:
        raise Garbled("a message without a header") from error
    if program not in {PROGRAM, KEEPALIVE} or version != VERSION:
        raise Garbled("a message of another program")
    return Header(program=program, procedure=procedure, type=kind, serial=serial, status=status)


def error_of(data: bytes) -> LibvirtError:
    """Read what is answered in place of a result; the rest of it repeats the message in parts."""
    reader = Unpacker(data)
    code, _, message = reader.number(), reader.number(), reader.maybe(reader.text)
    return LibvirtError(code=code, message=shown(message or f"error {code}"))
