"""One connection to a libvirt daemon: calls, several at a time, and uploads. Blocks, each within a deadline."""

from __future__ import annotations

import select
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from collector.clients.libvirt.address import Place
from collector.clients.libvirt.messages import (
    HEADED,
    KEEPALIVE,
    LONGEST,
    PING,
    PONG,
    Header,
    LibvirtError,
    MessageType,
    Procedure,
    Status,
    error_of,
    frame,
    header_of,
)
from collector.clients.libvirt.transport import Deadline, Identity, Stream, opened
from collector.clients.libvirt.xdr import Garbled, Unpacker, maybe, number

_AT_ONCE = 4
"""Calls under way on one connection. A daemon takes five, as it is delivered (``max_client_requests``)."""
_CHUNK = 1 << 18
"""Bytes of one message of an upload."""
_NONE, _POLKIT = 0, 2
"""Kinds of authentication; of the others, SASL needs what is not spoken here."""

Call = tuple[Procedure, bytes]


@dataclass(frozen=True, slots=True)
class _Message:
    header: Header
    body: bytes


class SaslNeeded(Exception):
    """The daemon wants a user and a password."""


class Connection:
    """Calls of one thread at a time; after any `OSError` or `Garbled`, it must be closed."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._serial = stream, 0

    @classmethod
    def to(cls, place: Place, identity: Identity, deadline: Deadline) -> Connection:
        """Connect and log in.

        Raises:
            OSError: not possible, or not in time.
            Garbled: the other side is not libvirt.
            SaslNeeded: it is, and wants a user.
        """
        connection = cls(opened(place.address, identity, deadline))
        try:
            connection._log_in(place.name, deadline)
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def is_usable(self) -> bool:
        """Whether the other side has not ended it meanwhile; one with unread bytes is not used again either."""
        poll = select.poll()
        poll.register(self._stream.socket, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        """End it."""
        self._stream.close()

    def call(self, procedure: Procedure, body: bytes, deadline: Deadline) -> Unpacker | LibvirtError:
        """Make one call."""
        (answer,) = self.every([(procedure, body)], deadline)
        return answer

    def every(self, calls: Sequence[Call], deadline: Deadline) -> tuple[Unpacker | LibvirtError, ...]:
        """Make many calls, some at a time, and return their answers in order."""
        answers: dict[int, Unpacker | LibvirtError] = {}
        first = self._serial + 1
        for procedure, body in calls:
            if self._serial + 1 - first - len(answers) >= _AT_ONCE:
                self._take(answers, first, deadline)
            self._send(procedure, body, deadline)
        while len(answers) < len(calls):
            self._take(answers, first, deadline)
        return tuple(answers[number] for number in range(first, first + len(calls)))

    def upload(self, procedure: Procedure, body: bytes, data: bytes, deadline: Deadline) -> LibvirtError | None:
        """Make a call that data follows; return what it was refused with."""
        answer = self.call(procedure, body, deadline)
        if isinstance(answer, LibvirtError):
            return answer
        for chunk in _chunks(data):
            self._stream.send(self._part(procedure, chunk, Status.CONTINUE), deadline)
        self._stream.send(self._part(procedure, b"", Status.OK), deadline)
        return self._finished(deadline)

    def _part(self, procedure: Procedure, chunk: bytes, status: Status) -> bytes:
        header = Header(procedure=procedure, serial=self._serial, type=MessageType.STREAM, status=status)
        return frame(header, chunk)

    def _finished(self, deadline: Deadline) -> LibvirtError | None:
        while True:
            message = self._message(deadline)
            if message.header.type != MessageType.STREAM or message.header.serial != self._serial:
                continue
            if message.header.status == Status.ERROR:
                return error_of(message.body)
            if message.header.status == Status.OK:
                return None

    def _log_in(self, name: str, deadline: Deadline) -> None:
        kinds = self._must(Procedure.AUTH_LIST, b"", deadline)
        offered = kinds.every(kinds.number)
        if _POLKIT in offered and _NONE not in offered:
            self._must(Procedure.AUTH_POLKIT, b"", deadline)
        elif offered and _NONE not in offered:
            raise SaslNeeded
        self._must(Procedure.CONNECT_OPEN, maybe(name) + number(0), deadline)

    def _must(self, procedure: Procedure, body: bytes, deadline: Deadline) -> Unpacker:
        answer = self.call(procedure, body, deadline)
        if isinstance(answer, LibvirtError):
            raise NotOpened(answer)
        return answer

    def _send(self, procedure: Procedure, body: bytes, deadline: Deadline) -> None:
        self._serial += 1
        self._stream.send(frame(Header(procedure=procedure, serial=self._serial), body), deadline)

    def _take(self, answers: dict[int, Unpacker | LibvirtError], first: int, deadline: Deadline) -> None:
        """Read one answer to a call that has none yet."""
        while True:
            message = self._message(deadline)
            serial = message.header.serial
            if message.header.type == MessageType.REPLY and first <= serial <= self._serial and serial not in answers:
                refused = message.header.status == Status.ERROR
                answers[serial] = error_of(message.body) if refused else Unpacker(message.body)
                return

    def _message(self, deadline: Deadline) -> _Message:
        length = int.from_bytes(self._stream.receive(4, deadline))
        if not HEADED <= length <= LONGEST:
            raise Garbled(f"a message of {length} bytes")
        data = self._stream.receive(length - 4, deadline)
        message = _Message(header_of(data[: HEADED - 4]), data[HEADED - 4 :])
        if message.header.program == KEEPALIVE and message.header.procedure == PING:
            pong = Header(procedure=PONG, serial=0, type=MessageType.EVENT, program=KEEPALIVE)
            self._stream.send(frame(pong, b""), deadline)
        return message


class NotOpened(Exception):
    """The daemon refused to be logged in to, or to open what it was asked for."""

    def __init__(self, error: LibvirtError) -> None:
        super().__init__(error.message)
        self.error = error


def _chunks(data: bytes) -> Iterator[bytes]:
    return (data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK))
