"""One backend of an HAProxy (2.6 or later), steered over its runtime API.

Members are dynamic servers: added in maintenance, enabled when they are ready, drained, deleted. HAProxy forgets them
when it restarts or reloads, which a changed `incarnation` shows; they are then added again.

Source: HAProxy management guide 2.6, section 9.3; the texts of answers were read off HAProxy 2.6.12.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import TypeVar

from config.errors import Permanent, Transient
from config.model import HaproxyBalancer
from config.units import MemberName
from handler.balancers.exchange import Address, exchange
from handler.balancers.haproxy_answers import (
    Load,
    Process,
    Server,
    Unreadable,
    read_algorithm,
    read_loads,
    read_process,
    read_servers,
)
from handler.balancers.names import ours
from handler.launches import LaunchId
from handler.world import Health, Seat

_WITHIN = 2.0
_LONGEST_ANSWER = 16 * 1024 * 1024
"""Bytes; a server takes some 500 in ``show stat``."""

_OLDEST = (2, 6)
_NO_BACKEND = frozenset({"No such backend.", "Can't find backend.", "No such proxy."})
_NO_SERVER = "No such server."
_NOT_DYNAMIC = "Backend must use a dynamic load balancing to support dynamic servers."
_BACKEND_NAME = re.compile(r"[A-Za-z0-9_.:-]+")

_Read = TypeVar("_Read")


class HaproxyDriver:
    """The `Balancer` of a `HaproxyBalancer`. Needs a stats socket with ``level admin``."""

    def __init__(self, declaration: HaproxyBalancer) -> None:
        self._socket = declaration.socket
        self._backend = declaration.backend

    def seats(self) -> Mapping[MemberName, Seat]:
        """The backend's servers under launch ids, with their current sessions and what their checks say."""
        loads = self._read(f"show stat {self._named()} 4 -1", read_loads)
        return {
            MemberName(name): _seat(MemberName(name), server, loads.get(name))
            for name, server in self._servers().items()
            if LaunchId.parse(name) is not None
        }

    def occupants(self) -> Mapping[tuple[str, int], str]:
        """Every server of the backend that has an address, dynamic or not."""
        return {
            (str(server.address), server.port): name
            for name, server in self._servers().items()
            if server.address is not None
        }

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Add a server in maintenance. It is health-checked if any server of the backend is.

        One of that name with another address makes way.
        """
        server, target = self._server(member), _numeric(member, address)
        self._process()
        servers = self._servers()
        seated = servers.get(member)
        if seated is not None and (seated.address, seated.port) == (target, port):
            return
        if seated is not None:
            self.leave(member)
        check = " check" if any(other.checked for other in servers.values()) else ""
        where = f"[{target}]:{port}" if isinstance(target, IPv6Address) else f"{target}:{port}"
        match self._tell(f"add server {server} {where}{check}"):
            case "New server registered.":
                return
            case text if text == _NOT_DYNAMIC:
                raise Permanent(self._not_dynamic())
            case text:
                raise self._unexpected("add server", text)

    def enable(self, member: MemberName) -> None:
        """Make the server ready, and start its health check if it has one."""
        server = self._server(member)
        seated = self._servers().get(member)
        if seated is None:
            raise Transient(f"{server} is not a server of {self._socket}: it must join first")
        if seated.checked:
            self._must_be_silent(f"enable health {server}")
        self._must_be_silent(f"set server {server} state ready")

    def drain(self, member: MemberName) -> None:
        """Let the server finish what it has."""
        command = f"set server {self._server(member)} state drain"
        if (text := self._tell(command)) not in ("", _NO_SERVER):
            raise self._unexpected(command, text)

    def leave(self, member: MemberName) -> None:
        """End what sessions the server still has, and delete it.

        Raises:
            Transient: its sessions have not ended yet.
        """
        server = self._server(member)
        command = f"set server {server} state maint"
        match self._tell(command):
            case "":
                pass
            case text if text == _NO_SERVER:
                return
            case text:
                raise self._unexpected(command, text)
        self._tell(f"shutdown sessions server {server}")
        command = f"del server {server}"
        if (text := self._tell(command)) not in ("Server deleted.", _NO_SERVER):
            raise self._unexpected(command, text)

    def incarnation(self) -> str:
        """The worker's process id and start time: a reload starts another worker."""
        process = self._process()
        return f"{process.pid}-{process.started}"

    def _process(self) -> Process:
        process = self._read("show info", read_process)
        if process.version < _OLDEST:
            version = ".".join(map(str, process.version))
            raise Permanent(f"HAProxy at {self._socket} is {version}: servers can be added from 2.6 on")
        return process

    def _servers(self) -> Mapping[str, Server]:
        return self._read(f"show servers state {self._named()}", read_servers)

    def _not_dynamic(self) -> str:
        algorithm = self._read(f"show stat {self._named()} 2 -1", read_algorithm)
        return (
            f"backend {self._backend} has `balance {algorithm}`, to which HAProxy cannot add servers: "
            "use roundrobin, leastconn, first or random, or add `hash-type consistent`"
        )

    def _server(self, member: MemberName) -> str:
        return f"{self._named()}/{ours(member)}"

    def _named(self) -> str:
        # A name goes into a command line, where a blank or a semicolon would begin something else.
        if _BACKEND_NAME.fullmatch(self._backend) is None:
            raise Permanent(
                f"{self._backend!r} is not a name that a backend can have: letters, digits and _ . : - only"
            )
        return self._backend

    def _must_be_silent(self, command: str) -> None:
        if text := self._tell(command):
            raise self._unexpected(command, text)

    def _tell(self, command: str) -> str:
        return self._answer(command).strip()

    def _read(self, command: str, reader: Callable[[str], _Read]) -> _Read:
        try:
            return reader(self._answer(command))
        except Unreadable as problem:
            raise Transient(f"HAProxy at {self._socket}: {problem}") from problem

    def _answer(self, command: str) -> str:
        try:
            raw = exchange(_address(self._socket), f"{command}\n".encode(), within=_WITHIN, at_most=_LONGEST_ANSWER)
        except PermissionError as problem:
            raise Permanent(f"{self._socket} may not be opened by this user: join the socket's group") from problem
        except OSError as problem:
            raise Transient(f"HAProxy does not answer at {self._socket}: {str(problem) or 'too slow'}") from problem
        answer = raw.decode(errors="replace")
        text = answer.strip()
        if text in _NO_BACKEND:
            raise Permanent(f"HAProxy at {self._socket} has no backend {self._backend}")
        if text == "Permission denied":
            raise Permanent(f"HAProxy at {self._socket} refused `{command}`: its stats socket needs `level admin`")
        return answer

    def _unexpected(self, command: str, text: str) -> Transient:
        return Transient(f"HAProxy at {self._socket} answered {command!r} with {text[:200]!r}", retry_after=1.0)


def _seat(member: MemberName, server: Server, load: Load | None) -> Seat:
    if load is None:  # added between the two questions: nothing is known of it yet
        health = Health.UNKNOWN if server.checked else None
        return Seat(member=member, state=server.state, connections=None, health=health)
    return Seat(member=member, state=server.state, connections=load.sessions, health=load.health)


def _numeric(member: MemberName, address: str) -> IPv4Address | IPv6Address:
    try:
        return ip_address(address)
    except ValueError as problem:
        raise Permanent(f"{member} has the address {address!r}: HAProxy is given IP addresses only") from problem


def _address(socket: str) -> Address:
    if "/" in socket or ":" not in socket:
        return Path(socket)
    host, _, port = socket.rpartition(":")
    if not port.isdecimal():
        raise Permanent(f"{socket!r} is neither a path nor host:port")
    return host.strip("[]"), int(port)
