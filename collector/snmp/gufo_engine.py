"""Sessions over gufo-snmp: its codec, and round it what it leaves to others.

Its sockets are driven here and not by its own session, which costs more processor time than the codec, allows no look
at an answer before it is decoded, and cannot tell the end of a table from an error. Measured on version 0.13: the
error-status of an answer is dropped; objects that the agent does not have are left out; signatures of v3 are not
looked at; the receive buffer has 4,080 bytes; what is cut off in the wrong place panics, with a line on stderr.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from errno import ECONNREFUSED

from gufo.snmp import NoSuchInstance, SnmpAuthError, SnmpError, User
from gufo.snmp._fast import GetIter, SnmpV1ClientSocket, SnmpV2cClientSocket, SnmpV3ClientSocket, get_localized_key
from gufo.snmp.user import (
    Aes128Key,
    Aes192Key,
    Aes256Key,
    BaseAuthKey,
    BasePrivKey,
    DesKey,
    KeyType,
    Md5Key,
    Sha1Key,
    Sha224Key,
    Sha256Key,
    Sha384Key,
    Sha512Key,
)
from gufo.snmp.utils import format_sock_addr

from collector.samples import Reply
from collector.snmp import messages
from collector.snmp.agents import Agent, Community, Identity
from collector.snmp.agents import User as OurUser
from collector.snmp.engine import FAULT, NO_SUCH_NAME, REPORTS, STATUSES, Cure, Trouble, Varbinds, silence
from config.access import AuthProtocol, PrivProtocol, SnmpVersion
from config.units import Seconds

_LARGEST = 4080
"""Bytes of an answer that gufo-snmp can hold."""
_DATAGRAM = 65536
_NOT_IN_TIME_WINDOW = 2
_UNKNOWN_ENGINE = 4
_AUTH: dict[AuthProtocol, type[BaseAuthKey]] = {
    AuthProtocol.MD5: Md5Key,
    AuthProtocol.SHA: Sha1Key,
    AuthProtocol.SHA224: Sha224Key,
    AuthProtocol.SHA256: Sha256Key,
    AuthProtocol.SHA384: Sha384Key,
    AuthProtocol.SHA512: Sha512Key,
}
_PRIV: dict[PrivProtocol, type[BasePrivKey]] = {
    PrivProtocol.DES: DesKey,
    PrivProtocol.AES: Aes128Key,
    PrivProtocol.AES192: Aes192Key,
    PrivProtocol.AES256: Aes256Key,
}

_Socket = SnmpV1ClientSocket | SnmpV2cClientSocket | SnmpV3ClientSocket
_Receive = Callable[[bytes], Varbinds | Trouble]
"""Takes the next datagram off the socket, which has been looked at and is given, and says what it means. Raises
`BlockingIOError` where it answers another request."""


class GufoLibrary:
    """Opens sessions over gufo-snmp; they share one look at what arrives."""

    def __init__(self) -> None:
        self._buffer = bytearray(_DATAGRAM)

    async def open(self, agent: Agent, address: str, patience: Seconds) -> GufoSession | Trouble:
        """Begin to speak with an agent; with one of v3, find out who it is."""
        try:
            opened = _opened(agent.identity, format_sock_addr(address, agent.port))
        except OSError as error:
            return Trouble(reply=Reply.UNREACHABLE, said=str(error))
        session = GufoSession(opened, agent, self._buffer)
        if isinstance(opened, SnmpV3ClientSocket) and isinstance(agent.identity, OurUser):
            try:
                trouble = await session.introduce(opened, agent.identity, patience)
            except BaseException:
                session.close()
                raise
            if trouble is not None:
                session.close()
                return trouble
        return session

    async def close(self) -> None:
        """Nothing is shared that must be given back."""


class GufoSession:
    """A conversation with one agent, on a socket of its own.

    Args:
        opened: connected to the agent.
        agent: whom it is connected to.
        buffer: for a whole datagram; may be shared, since nothing stays in it.
    """

    def __init__(self, opened: _Socket, agent: Agent, buffer: bytearray) -> None:
        self._socket = opened
        self._loop = asyncio.get_running_loop()
        self._view = memoryview(buffer)
        self._agent = agent
        self._silence = silence(agent)
        self._peer = _Borrowed(socket.AF_INET, socket.SOCK_DGRAM, 0, fileno=opened.get_fd())
        self._signed: tuple[AuthProtocol, bytes] | None = None
        self._known = False
        self._receive: _Receive | None = None
        self._answer: asyncio.Future[Varbinds | Trouble] | None = None
        self._loop.add_reader(opened.get_fd(), self._readable)

    async def get(self, oids: Sequence[str], patience: Seconds) -> Varbinds | Trouble:
        """Ask for these objects in one request."""
        opened = self._socket
        if len(oids) == 1:  # one that does not exist and one that cannot be read look alike in a larger answer
            return await self._exchange(
                lambda: opened.send_get(oids[0]), lambda seen: self._one(oids[0], seen), patience
            )
        return await self._exchange(
            lambda: opened.send_get_many(list(oids)), lambda seen: self._many(oids, seen), patience
        )

    async def after(self, oid: str, most: int, patience: Seconds) -> Varbinds | Trouble:
        """Ask for up to ``most`` objects that follow an OID; v1 has no way to ask for more than one."""
        if isinstance(self._socket, SnmpV1ClientSocket):
            return await self._exchange(lambda: self._next(oid), self._following, patience)
        place = GetIter(oid, most)
        answer = await self._exchange(lambda: self._socket.send_get_bulk(place), self._following, patience)
        if answer is FAULT:  # encrypted and without values: the end, or an error
            answer = await self._exchange(lambda: self._next(oid), self._end, patience)
        return answer

    def close(self) -> None:
        """Give back the socket."""
        self._loop.remove_reader(self._socket.get_fd())
        self._peer.detach()
        if self._answer is not None and not self._answer.done():
            self._answer.cancel()

    async def introduce(self, opened: SnmpV3ClientSocket, user: OurUser, patience: Seconds) -> Trouble | None:
        """Learn the agent's engine id and clock, and make the user's keys its own. Source: RFC 3414, section 4."""

        def learn(_: bytes) -> Varbinds:
            opened.recv_refresh()
            return {}

        met = await self._exchange(opened.send_refresh, learn, patience)
        if isinstance(met, Trouble):
            said = "no answer" if met.cure is Cure.PATIENCE else met.said
            return replace(met, said=said)
        keys = _keys(user)
        opened.set_keys(user.name, keys.get_auth_alg(), keys.get_auth_key(), keys.get_priv_alg(), keys.get_priv_key())
        self._known = True
        if user.priv is not None:
            self._silence = _DEAF
        if user.auth is not None:
            protocol, master = user.auth
            self._signed = protocol, get_localized_key(_AUTH[protocol].AUTH_ALG, master, opened.get_engine_id())
        return None

    async def _exchange(self, send: Callable[[], None], receive: _Receive, patience: Seconds) -> Varbinds | Trouble:
        answer = await self._attempt(send, receive, patience)
        if answer is _CLOCK:  # the report has told the agent's clock
            answer = await self._attempt(send, receive, patience)
        if self._silence is _DEAF and self._known and not isinstance(answer, Trouble):
            self._silence = silence(self._agent)
        return answer

    async def _attempt(self, send: Callable[[], None], receive: _Receive, patience: Seconds) -> Varbinds | Trouble:
        answer: asyncio.Future[Varbinds | Trouble] = self._loop.create_future()
        self._answer = answer
        self._receive = receive
        try:
            send()
        except (OSError, SnmpError) as error:
            return _trouble(error)
        timer = self._loop.call_later(patience, self._settle, self._silence)
        try:
            return await answer
        finally:
            timer.cancel()
            self._answer = self._receive = None  # a circle would keep the socket open until it is collected

    def _settle(self, answer: Varbinds | Trouble) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    def _readable(self) -> None:
        """Look at what has arrived; what is late, forged or for another request is thrown away."""
        try:
            length = self._peer.recv_into(self._view, 0, socket.MSG_PEEK | socket.MSG_TRUNC)
        except BlockingIOError:
            return
        except OSError as error:
            self._settle(_trouble(error))
            return
        seen = bytes(self._view[:length])
        refused = self._refused(seen)
        if refused is None and self._receive is not None and self._answer is not None:
            with contextlib.suppress(BlockingIOError):
                self._settle(_received(self._receive, seen))
            return
        self._peer.recv(1)
        if refused is not None and refused is not _NOT_THEIRS:
            self._settle(refused)

    def _refused(self, seen: bytes) -> Trouble | None:
        """Say why a datagram must not be decoded; ``None``: it may."""
        if len(seen) > _LARGEST:
            return _TOO_LONG
        if not self._known:
            return None
        message = messages.read(seen)
        if message is None:
            return _GARBAGE
        if message.report == _UNKNOWN_ENGINE:
            return _STRANGER
        if message.signature is None:
            return None if self._signed is None or message.report is not None else _NOT_THEIRS
        true = self._signed is not None and messages.authentic(seen, message.signature, *self._signed)
        return None if true else _NOT_THEIRS

    def _one(self, oid: str, seen: bytes) -> Varbinds | Trouble:
        try:
            raw = self._socket.recv_get()
        except NoSuchInstance:
            return {oid: None}
        return {oid: raw} if raw is not None else _fault(seen)

    def _many(self, oids: Sequence[str], seen: bytes) -> Varbinds | Trouble:
        found = self._socket.recv_get_many()
        if all(oid in found for oid in oids):
            return found
        message = messages.read(seen)
        if message is not None and (message.status or (message.status is None and not found)):
            return _fault(seen)
        return {oid: found.get(oid) for oid in oids}

    def _next(self, oid: str) -> None:
        self._socket.send_get_next(GetIter(oid))

    def _following(self, seen: bytes) -> Varbinds | Trouble:
        found = self._socket.recv_get_many()
        if found:
            return found
        trouble = _fault(seen)
        ended = trouble is STATUSES[NO_SUCH_NAME] or trouble is _NO_FAULT
        return {} if ended else trouble

    def _end(self, _: bytes) -> Varbinds | Trouble:
        try:
            return STATUSES[5] if self._socket.recv_get() is None else FAULT
        except NoSuchInstance:
            return {}


class _Borrowed(socket.socket):
    """A second handle of a descriptor that gufo-snmp owns and closes."""

    def __del__(self) -> None:
        self.detach()


_TOO_LONG = Trouble(reply=Reply.MALFORMED, said=f"the answer is longer than {_LARGEST} bytes", cure=Cure.SPLIT)
_GARBAGE = Trouble(reply=Reply.MALFORMED, said="the answer cannot be read", cure=Cure.SPLIT)
_STRANGER = Trouble(reply=Reply.AUTH, said="the agent has another engine id than before", cure=Cure.RENEWAL)
_CLOCK = Trouble(reply=Reply.AUTH, said=REPORTS[_NOT_IN_TIME_WINDOW])
_NOT_THEIRS = Trouble(reply=Reply.AUTH, said="not signed by the agent")
_DEAF = Trouble(
    reply=Reply.AUTH,
    said="the agent says who it is, but not more: look at priv, a wrong password of which is met by silence",
    cure=Cure.PATIENCE,
)
_NO_FAULT = Trouble(reply=Reply.NO_SUCH_COUNTER, said="")


def _opened(identity: Identity, address: str) -> _Socket:
    if isinstance(identity, Community):
        kind = SnmpV1ClientSocket if identity.version is SnmpVersion.V1 else SnmpV2cClientSocket
        return kind(address, identity.name, 0, 0, 0, 0)
    return SnmpV3ClientSocket(address, b"", "", 0, b"", 0, b"", 0, 0, 0, 0)


def _keys(user: OurUser) -> User:
    auth = None if user.auth is None else _AUTH[user.auth[0]](user.auth[1], KeyType.Master)
    priv = None if user.priv is None else _PRIV[user.priv[0]](user.priv[1], KeyType.Master)
    return User(user.name, auth_key=auth, priv_key=priv)


def _fault(seen: bytes) -> Trouble:
    """Say why an answer brings nothing."""
    message = messages.read(seen)
    if message is None:
        return _GARBAGE
    if message.status is None:
        return FAULT
    return STATUSES.get(message.status, FAULT) if message.status else _NO_FAULT


def _received(receive: _Receive, seen: bytes) -> Varbinds | Trouble:
    try:
        return receive(seen)
    except BlockingIOError:
        raise
    except SnmpAuthError:
        message = messages.read(seen)
        report = None if message is None else message.report
        if report == _NOT_IN_TIME_WINDOW:
            return _CLOCK
        return STATUSES[16] if report is None else Trouble(reply=Reply.AUTH, said=REPORTS.get(report, "not believed"))
    except (SnmpError, RuntimeError, ValueError, OSError) as error:
        return _trouble(error)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # Rust's panics are no Exception, and have no name to import
            raise
        return _GARBAGE


_ERRNO = re.compile(r"os error (\d+)")


def _trouble(error: Exception) -> Trouble:
    if isinstance(error, TimeoutError | ConnectionRefusedError) or _errno(error) == ECONNREFUSED:
        return Trouble(reply=Reply.REFUSED, said="nobody listens at this port")
    if isinstance(error, OSError):
        return Trouble(reply=Reply.UNREACHABLE, said=str(error))
    return replace(_GARBAGE, said=f"the answer cannot be read: {error}")


def _errno(error: Exception) -> int:
    """gufo-snmp keeps the number of an error of the system in its text only."""
    found = _ERRNO.search(str(error))
    return int(found[1]) if found else 0
