"""Sessions of v3 over gufo-snmp: its codec, and round it what it leaves to others; v1 and v2c have one of our own.

Measured on version 0.13: of an answer it looks at ids and at nothing else. Error-status and OIDs are dropped, of an OID
that comes twice the last value is taken, objects that the agent does not have are left out, and signatures are not
looked at. It skips what answers another request, and goes on to the next datagram, whatever that is. The receive buffer
has 4,080 bytes. What is cut off in the wrong place panics, with lines on stderr.

So it never sees the network: one end of a pair (`_Wire`) takes the place of its socket, and through it gufo-snmp is
given one datagram at a time, which was looked at before.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from gufo.snmp import NoSuchInstance, SnmpAuthError, SnmpError, User
from gufo.snmp._fast import GetIter, SnmpV3ClientSocket, get_localized_key
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

from collector.samples import Reply
from collector.snmp import messages
from collector.snmp.agents import Agent, Community
from collector.snmp.agents import User as OurUser
from collector.snmp.conversation import DATAGRAM, Talk, unsent
from collector.snmp.engine import FAULT, REPORTS, STATUSES, Cure, Trouble, Varbinds, silence
from collector.snmp.messages import NO_VALUES, Binding, Message, dotted
from collector.snmp.plain_codec import GARBAGE
from collector.snmp.plain_engine import PlainSession
from collector.snmp.varbinds import Pairs, of_get, of_walk, unasked, valueless
from config.model.access import AuthProtocol, PrivProtocol
from config.units import Seconds

_LARGEST = 4080
"""Bytes of an answer that gufo-snmp can hold."""
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


class _Seen(NamedTuple):
    """A datagram that has been looked at."""

    datagram: bytes
    message: Message


_Receive = Callable[[_Seen], Varbinds | Trouble]
"""Has gufo-snmp decode the datagram that it was given, and says what it means. Raises `BlockingIOError` where that
answers another request."""


class _Wire:
    """What all sockets of gufo-snmp send to and receive from in place of the network, one at a time."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._ours.setblocking(False)
        self._theirs.setblocking(False)

    def tap(self, opened: SnmpV3ClientSocket) -> None:
        """Take a socket of gufo-snmp off the network, for ever."""
        os.dup2(self._theirs.fileno(), opened.get_fd(), inheritable=False)

    def sent(self, send: Callable[[], None]) -> bytes:
        """Have gufo-snmp send something, and keep it."""
        send()
        return self._ours.recv(DATAGRAM)

    def give(self, datagram: bytes) -> None:
        """Let gufo-snmp receive this next. What it left there before is thrown away."""
        self._ours.send(datagram)

    def clear(self) -> None:
        """Take back what gufo-snmp has not received."""
        while True:
            try:
                self._theirs.recv(1)
            except BlockingIOError:
                return

    def close(self) -> None:
        """Give back both ends."""
        self._ours.close()
        self._theirs.close()


class GufoLibrary:
    """Opens sessions; they share one look at what arrives."""

    def __init__(self) -> None:
        self._buffer = bytearray(DATAGRAM)
        self._wire: _Wire | None = None

    async def open(self, agent: Agent, address: str, patience: Seconds) -> PlainSession | GufoSession | Trouble:
        """Open a session with an agent; with one of v3, ask for its engine id."""
        if isinstance(agent.identity, Community):
            return self.open_plain(agent, agent.identity, address)
        try:
            talk = Talk(address, agent.port, self._buffer)
        except OSError as error:
            return unsent(error)
        session = GufoSession(agent, agent.identity, talk, self._wired())
        try:
            trouble = await session.introduce(patience)
        except BaseException:
            session.close()
            raise
        if trouble is not None:
            session.close()
            return trouble
        return session

    def open_plain(self, agent: Agent, community: Community, address: str) -> PlainSession | Trouble:
        """Begin to speak with an agent of v1 or v2c, which takes no question."""
        try:
            return PlainSession(agent, community, Talk(address, agent.port, self._buffer))
        except OSError as error:
            return unsent(error)

    async def close(self) -> None:
        """Give back what sessions of v3 shared."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def _wired(self) -> _Wire:
        if self._wire is None:
            self._wire = _Wire()
        return self._wire


class GufoSession:
    """A conversation with one agent as a user of v3.

    Args:
        agent: the agent to ask.
        user: the agent's user of SNMPv3 to ask as.
        talk: with it.
        wire: of all sessions.
    """

    def __init__(self, agent: Agent, user: OurUser, talk: Talk, wire: _Wire) -> None:
        self._agent = agent
        self._user = user
        self._talk = talk
        self._wire = wire
        self._silence = silence(agent)
        self._signed: tuple[AuthProtocol, bytes] | None = None
        self._known = False
        self._socket = SnmpV3ClientSocket(_NOWHERE, b"", "", 0, b"", 0, b"", 0, 0, 0, 0)
        wire.tap(self._socket)

    async def get(self, oids: Sequence[str], patience: Seconds) -> Varbinds | Trouble:
        """Ask for these objects in one request."""
        opened = self._socket
        answer = await self._exchange(
            lambda: opened.send_get_many(list(oids)), lambda seen: self._objects(oids, seen), patience
        )
        if answer is FAULT and len(oids) == 1:  # encrypted and without a value: there is none, or an error
            answer = await self._exchange(
                lambda: opened.send_get(oids[0]), lambda _: {oids[0]: None} if self._ended() else FAULT, patience
            )
        return answer

    async def after(self, oid: str, most: int, patience: Seconds) -> Varbinds | Trouble:
        """Ask for up to ``most`` objects that follow an OID."""
        opened, place = self._socket, GetIter(oid, most)
        answer = await self._exchange(
            lambda: opened.send_get_bulk(place), lambda seen: self._following(oid, most, seen), patience
        )
        if answer is FAULT:  # encrypted and without values: the end, or an error
            answer = await self._exchange(
                lambda: opened.send_get_next(GetIter(oid)), lambda _: {} if self._ended() else STATUSES[5], patience
            )
        return answer

    def close(self) -> None:
        """Give back the socket."""
        self._talk.close()

    async def introduce(self, patience: Seconds) -> Trouble | None:
        """Learn the agent's engine id and clock, and make the user's keys its own. Source: RFC 3414, section 4."""
        opened, user = self._socket, self._user

        def learn(_: _Seen) -> Varbinds:
            opened.recv_refresh()
            return {}

        met = await self._exchange(opened.send_refresh, learn, patience)
        if isinstance(met, Trouble):
            detail = "no answer" if met.cure is Cure.PATIENCE else met.detail
            return replace(met, detail=detail)
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
        if answer is _CLOCK:  # the report has the agent's clock
            answer = await self._attempt(send, receive, patience)
        if self._silence is _DEAF and self._known and not isinstance(answer, Trouble):
            self._silence = silence(self._agent)
        return answer

    async def _attempt(self, send: Callable[[], None], receive: _Receive, patience: Seconds) -> Varbinds | Trouble:
        try:
            request = self._wire.sent(send)
        except (OSError, SnmpError) as error:
            return _unread(error)

        def understand(datagram: bytes) -> Varbinds | Trouble | None:
            message = messages.read(datagram)
            refused = self._refused(datagram, message)
            if refused is None and message is not None:
                return self._decoded(receive, _Seen(datagram, message))
            return None if refused is _NOT_THEIRS else refused

        return await self._talk.ask(request, understand, patience, self._silence)

    def _refused(self, datagram: bytes, message: Message | None) -> Trouble | None:
        """Say why a datagram must not be decoded; ``None``: it may."""
        if len(datagram) > _LARGEST:
            return _TOO_LONG
        if message is None:
            return GARBAGE
        if not self._known:
            return None
        if message.report == _UNKNOWN_ENGINE:
            return _FOREIGN
        if message.signature is None:
            return None if self._signed is None or message.report is not None else _NOT_THEIRS
        true = self._signed is not None and messages.authentic(datagram, message.signature, *self._signed)
        return None if true else _NOT_THEIRS

    def _decoded(self, receive: _Receive, seen: _Seen) -> Varbinds | Trouble | None:
        """Give a datagram to gufo-snmp; ``None``: it answers another request."""
        self._wire.give(seen.datagram)
        try:
            return receive(seen)
        except BlockingIOError:
            return None
        except SnmpAuthError:
            report = seen.message.report
            if report == _NOT_IN_TIME_WINDOW:
                return _CLOCK
            detail = "not believed" if report is None else REPORTS.get(report, "not believed")
            return STATUSES[16] if report is None else Trouble(reply=Reply.AUTH, detail=detail)
        except (SnmpError, RuntimeError, ValueError, OSError) as error:
            return _unread(error)
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # Rust's panics are no Exception, and have no name to import
                raise
            return _PANIC
        finally:
            self._wire.clear()

    def _objects(self, oids: Sequence[str], seen: _Seen) -> Varbinds | Trouble:
        """Take the answer to a question for these objects."""
        bindings = _bindings(seen)
        if isinstance(bindings, Trouble):
            return bindings
        if bindings is None:
            return self._hidden(oids)
        found = self._socket.recv_get_many()
        if seen.message.status:
            return STATUSES.get(seen.message.status, FAULT)
        for oid, tag, _ in bindings:
            if dotted(oid) not in found and tag not in NO_VALUES:
                return valueless(dotted(oid))
        return of_get(oids, [(name, found.get(name)) for name in (dotted(oid) for oid, _, _ in bindings)])

    def _hidden(self, oids: Sequence[str]) -> Varbinds | Trouble:
        """Take an encrypted answer: objects without a value are left out of what is decrypted, and so is a status."""
        found = self._pairs(oids[0])
        trouble = unasked(oids, [oid for oid, _ in found])
        if trouble is not None or not found:
            return trouble or FAULT
        values = dict(found)
        return {oid: values.get(oid) for oid in oids}

    def _following(self, oid: str, most: int, seen: _Seen) -> Varbinds | Trouble:
        """Take the answer to a question for what follows an OID."""
        bindings = _bindings(seen)
        if isinstance(bindings, Trouble):
            return bindings
        if bindings is None:
            return of_walk(most, self._pairs(oid)) or FAULT
        found = self._socket.recv_get_many()
        if seen.message.status:
            return STATUSES.get(seen.message.status, FAULT)
        names = (dotted(at) for at, _, _ in bindings)
        return of_walk(most, [(name, found[name]) for name in names if name in found])

    def _pairs(self, near: str) -> Pairs:
        """Take every object off an answer that has a value, in its order; those of another tree than this OID's end it.

        The dictionary of `recv_get_many` hides an OID that comes twice.
        """
        tree = ".".join(near.split(".")[:2])
        try:
            found = self._socket.recv_get_bulk(GetIter(tree, 1))
        except StopAsyncIteration:
            return []
        return [pair for pair in found if pair is not None]

    def _ended(self) -> bool:
        """Take an answer to a question for one object, and return whether there is none."""
        try:
            self._socket.recv_get()
        except NoSuchInstance:
            return True
        return False


_NOWHERE = "127.0.0.1:9"
"""Where gufo-snmp believes that it is connected to: nothing is ever sent there."""
_PANIC = replace(GARBAGE, detail="the answer cannot be read: gufo-snmp panicked at it")
_TOO_LONG = Trouble(reply=Reply.MALFORMED, detail=f"the answer is longer than {_LARGEST} bytes", cure=Cure.SPLIT)
_FOREIGN = Trouble(reply=Reply.AUTH, detail="the agent has another engine id than before", cure=Cure.RENEWAL)
_CLOCK = Trouble(reply=Reply.AUTH, detail=REPORTS[_NOT_IN_TIME_WINDOW])
_NOT_THEIRS = Trouble(reply=Reply.AUTH, detail="not signed by the agent")
_DEAF = Trouble(
    reply=Reply.AUTH,
    detail="the agent says who it is, but not more: look at priv, a wrong password of which is met by silence",
    cure=Cure.PATIENCE,
)


def _keys(user: OurUser) -> User:
    auth = None if user.auth is None else _AUTH[user.auth[0]](user.auth[1], KeyType.Master)
    priv = None if user.priv is None else _PRIV[user.priv[0]](user.priv[1], KeyType.Master)
    return User(user.name, auth_key=auth, priv_key=priv)


def _bindings(seen: _Seen) -> Sequence[Binding] | Trouble | None:
    """Read the objects of an answer and their values; ``None``: it is encrypted, or a report."""
    objects = seen.message.objects
    if objects is None:
        return None
    found = messages.bindings(seen.datagram, objects)
    return GARBAGE if found is None else found


def _unread(error: Exception) -> Trouble:
    return replace(GARBAGE, detail=f"the answer cannot be read: {error}")
