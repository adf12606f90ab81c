"""Byte streams to libvirt's daemons: a unix socket, TLS, or the program ``ssh``. Blocks, within a deadline."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, assert_never

from collector.clients.libvirt.address import Address, SshAddress, TlsAddress, UnixAddress, chosen
from collector.clients.quoting import shown
from config.model.access import BY_SYSTEM, Trust
from config.units import Seconds

_NAMES = ThreadPoolExecutor(8, thread_name_prefix="names-of-libvirt")
"""Names are looked up here: the system's resolver waits half a minute for a silent name server."""
_ACCEPTED = b"\x01"
"""What a daemon sends first, within TLS, once it has accepted the client's certificate."""
_OF_SSH = ("PATH", "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "LANG", "LC_ALL")
"""Variables that ``ssh`` gets: those of Trimtab may be secrets."""
_SHOWN = 500
"""Bytes of what ``ssh`` complains of."""


class Overdue(OSError):
    """The deadline has passed."""


class Unreadable(OSError):
    """A file with certificates or a key cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What certificates are trusted, and which is shown."""

    trust: Trust = BY_SYSTEM
    certificate: str | None = None
    key: str | None = None


def _elapsed() -> Seconds:
    """Return the real time: a socket waits by no other."""
    return time.monotonic()  # noqa: TID251  see above


@dataclass(slots=True)
class Deadline:
    """When a conversation must have ended."""

    at: Seconds
    """By the monotonic clock."""

    @classmethod
    def within(cls, span: Seconds) -> Deadline:
        """Return the deadline that is so far away."""
        return cls(_elapsed() + span)

    @property
    def left(self) -> Seconds:
        """How much time is left.

        Raises:
            Overdue: none.
        """
        left = self.at - _elapsed()
        if left <= 0:
            raise Overdue("no answer in time")
        return left


@dataclass
class Stream:
    """An open connection. Only one thread uses it at a time."""

    socket: socket.socket
    program: subprocess.Popen[bytes] | None = None
    complaints: IO[bytes] | None = None
    """What the program writes beside its output."""
    _rest: bytearray = field(default_factory=bytearray)

    def send(self, data: bytes, deadline: Deadline) -> None:
        """Send everything. Raises `OSError`."""
        self.socket.settimeout(deadline.left)
        with self._explained():
            self.socket.sendall(data)

    def receive(self, length: int, deadline: Deadline) -> bytes:
        """Read exactly so many bytes. Raises `OSError`, also when the other side has ended."""
        with self._explained():
            while len(self._rest) < length:
                self.socket.settimeout(deadline.left)
                more = self.socket.recv(1 << 16)
                if not more:
                    raise ConnectionResetError("the connection was closed")
                self._rest += more
        taken = bytes(self._rest[:length])
        del self._rest[:length]
        return taken

    def close(self) -> None:
        """End the connection, and the program that carries it."""
        with contextlib.suppress(OSError):
            self.socket.close()
        if self.program is not None:
            self.program.kill()
            self.program.wait()
        if self.complaints is not None:
            self.complaints.close()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Say in words what failed: that it took too long, or what ``ssh`` complains of."""
        try:
            yield
        except TimeoutError:
            raise Overdue("no answer in time") from None
        except OSError as error:
            raise type(error)(self._complaint() or _words(error)) from None

    def _complaint(self) -> str:
        if self.complaints is None or self.program is None:
            return ""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.program.wait(timeout=1.0)
        self.complaints.seek(0)
        lines = self.complaints.read(_SHOWN).decode(errors="replace").split("\n")
        return "; ".join(shown(line.strip()) for line in lines if line.strip())


def opened(address: Address, identity: Identity, deadline: Deadline) -> Stream:
    """Open a connection.

    Raises:
        OSError: it cannot be opened, or not in time; the words say why.
    """
    try:
        match address:
            case UnixAddress():
                return _unix(chosen(address, lambda path: Path(path).exists()), deadline)
            case TlsAddress():
                return _tls(address, identity, deadline)
            case SshAddress():
                return _ssh(address)
            case _:
                assert_never(address)
    except TimeoutError:
        raise Overdue("no answer in time") from None
    except ssl.SSLError as error:
        raise ConnectionRefusedError(f"TLS: {error.reason or error}") from None
    except (Overdue, Unreadable):
        raise
    except OSError as error:
        raise ConnectionRefusedError(_words(error)) from None


def _unix(path: str, deadline: Deadline) -> Stream:
    with contextlib.ExitStack() as unless_connected:
        connection = unless_connected.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        connection.settimeout(deadline.left)
        try:
            connection.connect(path)
        except OSError as error:
            raise ConnectionRefusedError(f"{path}: {_words(error)}") from None
        unless_connected.pop_all()
        return Stream(connection)


def _tls(address: TlsAddress, identity: Identity, deadline: Deadline) -> Stream:
    context = _context(identity)
    with contextlib.ExitStack() as unless_connected:
        plain = unless_connected.enter_context(_connected(address, deadline))
        plain.settimeout(deadline.left)
        secured = unless_connected.enter_context(context.wrap_socket(plain, server_hostname=address.host))
        stream = Stream(secured)
        if stream.receive(1, deadline) != _ACCEPTED:
            raise ConnectionRefusedError("the daemon did not accept the client's certificate")
        unless_connected.pop_all()
        return stream


def _context(identity: Identity) -> ssl.SSLContext:
    place = identity.trust.ca
    try:
        context = ssl.create_default_context(cafile=place)
        place = identity.certificate
        if place is not None:
            context.load_cert_chain(place, identity.key)
    except OSError as error:
        raise Unreadable(f"the certificates in {place} cannot be used: {_words(error)}") from None
    if identity.trust.insecure:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _connected(address: TlsAddress, deadline: Deadline) -> socket.socket:
    """Connect; a name server that does not answer takes no longer than the deadline."""
    look = _NAMES.submit(socket.getaddrinfo, address.host, address.port, type=socket.SOCK_STREAM)
    places = look.result(timeout=deadline.left)
    refused: OSError | None = None
    for _, _, _, _, place in places:
        try:
            return socket.create_connection((str(place[0]), int(place[1])), timeout=deadline.left)
        except OSError as error:
            refused = error
    raise refused or ConnectionRefusedError("the host has no address")


def _ssh(address: SshAddress) -> Stream:
    ours, theirs = socket.socketpair()
    complaints = tempfile.TemporaryFile()  # noqa: SIM115  # the stream closes it
    with theirs:
        try:
            program = subprocess.Popen(  # its arguments are the file's, checked there
                address.command,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=complaints,
                env={name: os.environ[name] for name in _OF_SSH if name in os.environ},
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            complaints.close()
            raise ConnectionRefusedError(f"the program ssh cannot be started: {_words(error)}") from None
    return Stream(ours, program, complaints)


def _words(error: OSError) -> str:
    """Return what went wrong, without the number."""
    return shown(error.strerror or str(error))
