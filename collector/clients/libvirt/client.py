"""Calls to one host's libvirt for its drivers: each within one deadline; blocks."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar
from uuid import UUID

from collector.clients.circuits import Circuits, sending
from collector.clients.libvirt.address import place_of
from collector.clients.libvirt.connection import Call, Connection, NotOpened, SaslNeeded
from collector.clients.libvirt.messages import (
    DomainRef,
    Interface,
    LibvirtError,
    PoolRef,
    Procedure,
    VolumeRef,
    domain_ref,
    interface_of,
    pool_ref,
    volume_ref,
)
from collector.clients.libvirt.transport import Deadline, Identity, Unreadable
from collector.clients.libvirt.xdr import Garbled, Unpacker, hyper, maybe, number, text
from collector.clients.quoting import shown
from config.causes import FailureCause
from config.errors import Permanent, Transient, Unanswered
from config.units import Seconds

_IDLE = 2
"""Connections that are kept for the next calls."""
_ACTIVE = 1
_ELEMENT = 2
"""The metadata of a domain that is an element of one's own."""
_LIVE, _CONFIG = 1, 2
"""What a change of metadata concerns: the running domain, and the one that starts next time."""

T = TypeVar("T")
Read = Callable[[Unpacker], T]


class LibvirtClient:
    """Calls one daemon; failures are `Transient` or `Permanent`. Any thread may call.

    Args:
        about: cloud and host, for messages.
        uri: where it is.
        identity: certificates, where it is reached by TLS.
        timeout: for one answer, or for those of many calls together.
        circuits: those of all endpoints.
    """

    def __init__(
        self, about: str, uri: str, identity: Identity, timeout: Seconds, circuits: Circuits | None = None
    ) -> None:
        self._about, self._uri, self._identity = about, uri, identity
        self._timeout, self._circuits = timeout, circuits
        self._turn = threading.Lock()
        self._idle: list[Connection] = []
        weakref.finalize(self, _end, self._idle)  # a cloud that leaves the file has no other end

    # What the host is.

    def version(self) -> str:
        """Return the version of its libvirt."""
        number = self._ask(Procedure.CONNECT_GET_LIB_VERSION, b"", Unpacker.hyper)
        return f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}"

    def memory(self) -> int:
        """Return how many bytes of memory it has."""

        def read(reader: Unpacker) -> int:
            for _ in range(32):  # the processor's name, a word for each letter
                reader.number()
            return reader.hyper() * 1024

        return self._ask(Procedure.NODE_GET_INFO, b"", read)

    def has_network(self, name: str) -> None:
        """Raise `LibvirtMissing` if there is no such network."""
        self._ask(Procedure.NETWORK_LOOKUP_BY_NAME, text(name), Unpacker.text)

    # Domains.

    def domains(self) -> tuple[DomainRef, ...]:
        """List all domains, those that are off included."""
        return self._listed(0)

    def running(self) -> tuple[DomainRef, ...]:
        """List the domains that have a running emulator."""
        return self._listed(_ACTIVE)

    def _listed(self, flags: int) -> tuple[DomainRef, ...]:
        return self._ask(
            Procedure.CONNECT_LIST_ALL_DOMAINS,
            number(1) + number(flags),
            lambda reader: reader.every(lambda: domain_ref(reader)),
        )

    def sizes(self, domains: Sequence[DomainRef]) -> tuple[int | LibvirtError, ...]:
        """Return how many bytes of memory each domain may have."""
        calls = [(Procedure.DOMAIN_GET_INFO, domain.packed) for domain in domains]

        def read(reader: Unpacker) -> int:
            reader.number()
            return reader.hyper() * 1024

        return self._every(calls, read)

    def domain(self, id: UUID) -> DomainRef:
        """Return a domain; raises `LibvirtMissing`."""
        return self._ask(Procedure.DOMAIN_LOOKUP_BY_UUID, id.bytes, domain_ref)

    def metadata(self, domains: Sequence[DomainRef], namespace: str) -> tuple[str | LibvirtError, ...]:
        """Return each domain's element of a namespace."""
        about = number(_ELEMENT) + maybe(namespace) + number(0)
        calls = [(Procedure.DOMAIN_GET_METADATA, domain.packed + about) for domain in domains]
        return self._every(calls, Unpacker.text)

    def states(self, domains: Sequence[DomainRef]) -> tuple[tuple[int, int] | LibvirtError, ...]:
        """Return each domain's state, and the reason of it."""
        calls = [(Procedure.DOMAIN_GET_STATE, domain.packed + number(0)) for domain in domains]
        return self._every(calls, lambda reader: (reader.number(), reader.number()))

    def interfaces(self, domains: Sequence[DomainRef], source: int) -> tuple[tuple[Interface, ...] | LibvirtError, ...]:
        """Return each domain's interfaces with their addresses, as a source has them."""
        about = number(source) + number(0)
        calls = [(Procedure.DOMAIN_INTERFACE_ADDRESSES, domain.packed + about) for domain in domains]
        return self._every(calls, lambda reader: reader.every(lambda: interface_of(reader)))

    def define(self, xml: str) -> DomainRef:
        """Define a domain, or define it anew."""
        return self._ask(Procedure.DOMAIN_DEFINE_XML_FLAGS, text(xml) + number(0), domain_ref)

    def start(self, domain: DomainRef) -> None:
        """Start a domain."""
        self._ask(Procedure.DOMAIN_CREATE_WITH_FLAGS, domain.packed + number(0), domain_ref)

    def shut_down(self, domain: DomainRef) -> None:
        """Ask the guest to shut down."""
        self._do(Procedure.DOMAIN_SHUTDOWN_FLAGS, domain.packed + number(0))

    def switch_off(self, domain: DomainRef) -> None:
        """End the domain at once."""
        self._do(Procedure.DOMAIN_DESTROY_FLAGS, domain.packed + number(0))

    def undefine(self, domain: DomainRef, flags: int) -> None:
        """Forget a domain that is off."""
        self._do(Procedure.DOMAIN_UNDEFINE_FLAGS, domain.packed + number(flags))

    def write(self, domain: DomainRef, element: str | None, key: str, namespace: str, *, running: bool) -> None:
        """Write a domain's element of a namespace; ``None`` removes it."""
        affected = _CONFIG | (_LIVE if running else 0)
        written = number(_ELEMENT) + maybe(element) + maybe(key) + maybe(namespace) + number(affected)
        self._do(Procedure.DOMAIN_SET_METADATA, domain.packed + written)

    # Storage.

    def pool(self, name: str) -> PoolRef:
        """Return a storage pool; raises `LibvirtMissing`."""
        return self._ask(Procedure.STORAGE_POOL_LOOKUP_BY_NAME, text(name), pool_ref)

    def volume(self, pool: PoolRef, name: str) -> VolumeRef:
        """Return a volume; raises `LibvirtMissing`."""
        return self._ask(Procedure.STORAGE_VOL_LOOKUP_BY_NAME, pool.packed + text(name), volume_ref)

    def volume_xml(self, volume: VolumeRef) -> str:
        """Return what libvirt knows of a volume."""
        return self._ask(Procedure.STORAGE_VOL_GET_XML_DESC, volume.packed + number(0), Unpacker.text)

    def create_volume(self, pool: PoolRef, xml: str) -> VolumeRef:
        """Create a volume."""
        return self._ask(Procedure.STORAGE_VOL_CREATE_XML, pool.packed + text(xml) + number(0), volume_ref)

    def delete_volume(self, volume: VolumeRef) -> None:
        """Delete a volume."""
        self._do(Procedure.STORAGE_VOL_DELETE, volume.packed + number(0))

    def upload(self, volume: VolumeRef, data: bytes) -> None:
        """Write the content of a volume."""
        procedure = Procedure.STORAGE_VOL_UPLOAD
        body = volume.packed + hyper(0) + hyper(len(data)) + number(0)
        with self._connected(procedure.words) as (connection, deadline):
            refused = connection.upload(procedure, body, data, deadline)
        if refused is not None:
            raise refused.failure(f"{self._about}: {procedure.words}")

    # Calling.

    def _do(self, procedure: Procedure, body: bytes) -> None:
        self._ask(procedure, body, lambda _: None)

    def _ask(self, procedure: Procedure, body: bytes, read: Read[T]) -> T:
        (answer,) = self._every([(procedure, body)], read)
        if isinstance(answer, LibvirtError):
            raise answer.failure(f"{self._about}: {procedure.words}")
        return answer

    def _every(self, calls: Sequence[Call], read: Read[T]) -> tuple[T | LibvirtError, ...]:
        if not calls:
            return ()
        with self._connected(calls[0][0].words) as (connection, deadline):
            answers = connection.every(calls, deadline)
            return tuple(answer if isinstance(answer, LibvirtError) else read(answer) for answer in answers)

    @contextlib.contextmanager
    def _connected(self, what: str) -> Iterator[tuple[Connection, Deadline]]:
        """Lend a connection. It is kept if nothing fails."""
        with sending(self._circuits, self._uri, self._timeout) as sent:
            deadline = Deadline.within(self._timeout)
            connection = None
            try:
                connection = self._taken() or Connection.to(place_of(self._uri), self._identity, deadline)
                yield connection, deadline
            except NotOpened as refused:
                sent.answered()
                raise refused.error.failure(f"{self._about}: {self._uri} cannot be opened") from None
            except SaslNeeded:
                sent.answered()
                message = f"{self._about}: refused: {self._uri} wants a user by SASL, which is not spoken here"
                raise Permanent(message, cause=FailureCause.CREDENTIALS, remedy=_OTHER_WAY) from None
            except Unreadable as error:
                sent.answered()
                raise Permanent(f"{self._about}: {error}", cause=FailureCause.CREDENTIALS, remedy=_READABLE) from None
            except (OSError, Garbled) as error:
                if connection is not None:
                    connection.close()
                raise self._unanswered(what, error, sent.failed, called=connection is not None) from None
            sent.answered()
            self._put_back(connection)

    def _unanswered(self, what: str, error: Exception, report: Callable[[str], None], *, called: bool) -> Transient:
        words = shown(f"{error}" if isinstance(error, OSError) else f"the answer cannot be read: {error}")
        report(words)
        if called:
            return Unanswered(f"{self._about}: {what}: {words}")
        return Transient(f"{self._about} is not reached at {self._uri}: {words}")

    def _taken(self) -> Connection | None:
        """Take a connection that is still good."""
        while True:
            with self._turn:
                connection = self._idle.pop() if self._idle else None
            if connection is None or connection.is_usable:
                return connection
            connection.close()

    def _put_back(self, connection: Connection) -> None:
        with self._turn:
            keep = len(self._idle) < _IDLE
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()


def _end(connections: list[Connection]) -> None:
    while connections:
        connections.pop().close()


_OTHER_WAY = "use a unix socket, TLS with certificates (qemu+tls) or ssh (qemu+ssh)"
_READABLE = "keep certificates and key where the file names them, readable for Trimtab"
