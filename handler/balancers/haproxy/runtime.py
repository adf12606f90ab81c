"""The runtime API of one HAProxy process (2.6 or later), for one of its backends.

Source: HAProxy management guide 2.6, section 9.3; the texts of answers are those of HAProxy 2.6.12.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import TypeVar

from collector.clients.circuits import Circuits, Sending, sending
from config.causes import FailureCause
from config.errors import NotFound, Permanent, Transient
from config.units import MemberName, Seconds
from handler.balancers.exchange import Address, exchange
from handler.balancers.haproxy.conversation import conversation
from handler.balancers.haproxy.parsing import (
    HaproxyProcess,
    HaproxyServer,
    ServerLoad,
    UnreadableAnswer,
    of_backend,
    read_algorithm,
    read_backends,
    read_loads,
    read_process,
    read_servers,
)

_WITHIN: Seconds = 2.0
_LONGEST_ANSWER = 16 * 1024 * 1024
"""Bytes; a server takes some 500 in ``show stat``."""

_BACKEND_LINES, _SERVER_LINES = 2, 4
"""Kinds of lines of ``show stat``."""

_OLDEST = (2, 6)
_NO_BACKEND = frozenset({"No such backend.", "Can't find backend.", "No such proxy."})
NO_SERVER = "No such server."
PUT_BACK = "put it back into its configuration, or take the group from the balancer (trimtab detach GROUP BALANCER)"
_NAME = re.compile(r"[A-Za-z0-9_.:-]+")

_Read = TypeVar("_Read")


class Runtime:
    """Sends commands to one process, and reads its answers. Needs a stats socket with ``level admin``.

    Every call raises `Transient` if there is no answer or an unknown one, and `Permanent` if a person must first fix
    the socket, the backend or HAProxy itself.

    Args:
        socket: a path, or ``host:port``.
        backend: the backend that is changed.
        within: how long an answer may take in total.
        circuits: those of all endpoints.
        ask: sends a command and returns the complete answer, or raises `OSError`; on a new connection each, if
            left out.
    """

    def __init__(
        self,
        socket: str,
        backend: str,
        *,
        within: Seconds = _WITHIN,
        circuits: Circuits | None = None,
        ask: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self.socket = socket
        self.backend = backend
        self._within = within
        self._circuits = circuits
        self._ask = ask or self._ask_alone
        self._talks = ask is not None
        self._is_cut = False
        """This connection can no longer be used."""

    @contextmanager
    def conversation(self) -> Iterator[Runtime]:
        """The same process for several commands, on one connection. Not for several threads.

        Raises:
            Transient: there is no connection.
        """
        talk = conversation(_address(self.socket), within=self._within, at_most=_LONGEST_ANSWER)
        with ExitStack() as stack:
            with self._heard() as one:
                ask = stack.enter_context(talk)
                one.answered()
            yield Runtime(self.socket, self.backend, within=self._within, circuits=self._circuits, ask=ask)

    def process(self) -> HaproxyProcess:
        """Return the process that answers, if its version is sufficient."""
        process = self.read("show info", read_process)
        if process.version < _OLDEST:
            version = ".".join(map(str, process.version))
            raise Permanent(f"HAProxy at {self.socket} is {version}: servers can be added from 2.6 on")
        return process

    def servers(self) -> Mapping[str, HaproxyServer]:
        """Return the backend's servers by name, in HAProxy's order."""
        return self.read(f"show servers state {self.named()}", read_servers)

    def loads(self) -> Mapping[str, ServerLoad]:
        """Return the statistics of each server; none that HAProxy does not show."""
        loads = self._statistics(_BACKEND_LINES | _SERVER_LINES, read_loads)
        return {} if loads is None else loads

    def algorithm(self) -> str:
        """Return the backend's ``balance``."""
        algorithm = self._statistics(_BACKEND_LINES, read_algorithm)
        if algorithm is None:
            raise Transient(f"HAProxy at {self.socket} shows no statistics of backend {self.backend}")
        return algorithm

    def _statistics(self, kinds: int, reader: Callable[[str], _Read]) -> _Read | None:
        """Read the backend's statistics, first by its name, which may be that of a frontend; ``None``: not shown."""

        def own(answer: str) -> _Read | None:
            lines = of_backend(answer, self.backend)
            return None if lines is None else reader(lines)

        by_name = self.read(f"show stat {self.named()} {kinds} -1", own)
        return self.read(f"show stat -1 {kinds} -1", own) if by_name is None else by_name

    def named(self) -> str:
        """Return the backend's name, checked for use in a command: a blank or a semicolon would begin another one."""
        if _NAME.fullmatch(self.backend) is None:
            raise Permanent(f"{self.backend!r} is not a name that a backend can have: letters, digits and _ . : - only")
        return self.backend

    def must_be_silent(self, command: str) -> None:
        """Send a command whose success is an empty answer."""
        if text := self.run(command):
            raise self.unexpected(command, text)

    def run(self, command: str) -> str:
        """Send a command and return HAProxy's answer, without blank lines."""
        return self._answer(command).strip()

    def read(self, command: str, reader: Callable[[str], _Read]) -> _Read:
        """Send a command and decode its answer strictly."""
        try:
            return reader(self._answer(command))
        except UnreadableAnswer as problem:
            raise Transient(f"HAProxy at {self.socket}: {problem}") from problem

    def unexpected(self, command: str, text: str) -> Transient:
        """Return the error for an unknown answer."""
        return Transient(f"HAProxy at {self.socket} answered {command!r} with {text[:200]!r}", retry_after=1.0)

    def _without_backend(self) -> Permanent:
        """Return the error for a missing backend: `NotFound` if the process lists other backends and not this one."""
        message = f"HAProxy at {self.socket} has no backend {self.backend}"
        others = self.read("show backend", read_backends)
        if not others or self.backend in others:
            message = f"{message}, and lists {'it all the same' if others else 'no other backend either'}"
            return Permanent(message, cause=FailureCause.POOL, remedy=PUT_BACK)
        count = f"{len(others)} other{'' if len(others) == 1 else 's'}"
        return NotFound(f"{message}, and lists {count}", cause=FailureCause.POOL, remedy=PUT_BACK)

    def _ask_alone(self, command: bytes) -> bytes:
        return exchange(_address(self.socket), command, within=self._within, at_most=_LONGEST_ANSWER)

    @contextmanager
    def _sending(self) -> Iterator[Sending]:
        """Wrap one exchange: report a missing answer to the circuit."""
        with sending(self._circuits, f"HAProxy at {self.socket}", self._within) as one:
            try:
                yield one
            except PermissionError:
                one.answered()  # it is there, but refuses us
                raise
            except OSError as problem:
                one.failed(type(problem).__name__)
                self._is_cut = self._talks
                raise

    @contextmanager
    def _heard(self) -> Iterator[Sending]:
        """Translate a socket's errors."""
        try:
            with self._sending() as one:
                yield one
        except PermissionError as problem:
            message = f"{self.socket} may not be opened by this user"
            raise Permanent(message, cause=FailureCause.CREDENTIALS, remedy="join the socket's group") from problem
        except (FileNotFoundError, ConnectionRefusedError) as problem:
            message = f"HAProxy does not answer at {self.socket}: nothing listens there"
            raise Transient(message, remedy=opening(self.socket)) from problem
        except OSError as problem:
            raise Transient(f"HAProxy does not answer at {self.socket}: {_words(problem)}") from problem

    def _answer(self, command: str) -> str:
        if self._is_cut:  # the circuit knows that already
            raise Transient(f"HAProxy does not answer at {self.socket}: the connection is not in order any more")
        with self._heard() as one:
            raw = self._ask(f"{command}\n".encode())
            one.answered(None if raw else "an empty answer")
        answer = raw.decode(errors="replace")
        if not answer.endswith("\n"):  # also an empty one, which would pass for the success of a silent command
            raise Transient(f"HAProxy at {self.socket}: an answer without its end: {answer[-80:]!r}")
        text = answer.strip()
        if text in _NO_BACKEND:
            raise self._without_backend()
        if text == "Permission denied":
            message = f"HAProxy at {self.socket} refused `{command}`"
            raise Permanent(message, cause=FailureCause.CREDENTIALS, remedy="its stats socket needs `level admin`")
        return answer


def numeric(member: MemberName, address: str) -> IPv4Address | IPv6Address:
    """Return the address in the form that HAProxy accepts at run time.

    Raises:
        Permanent: it is a host name.
    """
    try:
        return ip_address(address)
    except ValueError as problem:
        raise Permanent(f"{member} has the address {address!r}: HAProxy is given IP addresses only") from problem


def opening(socket: str) -> str:
    """Say how to have HAProxy listen at a socket."""
    return f"check that it runs, with `stats socket {socket} level admin` in its section global"


def _words(problem: OSError) -> str:
    if isinstance(problem, TimeoutError):
        return "too slow"
    return problem.strerror or str(problem) or type(problem).__name__


def _address(socket: str) -> Address:
    if "/" in socket or ":" not in socket:
        return Path(socket)
    host, _, port = socket.rpartition(":")
    if not port.isdecimal():
        raise Permanent(f"{socket!r} is neither a path nor host:port")
    return host.strip("[]"), int(port)
