"""Members are dynamic servers of one backend of one HAProxy process (2.6 or later).

They are added in maintenance, enabled when they are ready, drained, deleted. HAProxy forgets them when it restarts or
reloads, which a changed `incarnation` shows; they are then added again. Those of a server template stay
(`handler.balancers.haproxy.slots`).

Note [Weights]: Trimtab sets no weights, so a server's weight comes from the configuration, or from a person over the
runtime API. A server with weight 0 gets no new work in any state, and `set weight 50%` turns 1 into 0. Such a server
counts as draining, and if its member is to serve, the driver restores the configured weight, just as it makes a server
ready again after `set server … state drain`: policies count on every member in service. Any other weight divides the
load between serving members. That is a person's choice: it stays, and is reported (`Registration.note`, `trimtab
doctor`). A member that takes a server of a template starts with the configured weight: the other weight was set for the
previous member. If an agent check sets weights, 0 is the server's own choice: it is reported and kept.
Source: HAProxy management guide 2.6, section 9.3, ``add server`` and ``del server``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from config.causes import FailureCause
from config.errors import DriverError, Permanent, Transient
from config.units import MemberName
from handler.balancers.haproxy.parsing import HaproxyServer, ServerLoad
from handler.balancers.haproxy.runtime import NO_SERVER, Runtime, numeric
from handler.balancers.registrations import one_by_one, ours
from handler.planning.launches import LaunchId
from handler.planning.world import Health, Registration, RegistrationState
from handler.ports.balancer import RegistrationChange

_log = logging.getLogger(__name__)
NOT_DYNAMIC = "Backend must use a dynamic load balancing to support dynamic servers."


class HaproxyDriver:
    """The `Balancer` of one process of a `config.model.balancers.HaproxyBalancer` without a template."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def registrations(self) -> Mapping[MemberName, Registration]:
        """Return the backend's servers under launch ids, with their current sessions and health."""
        loads = self._runtime.loads()
        return {
            MemberName(name): registration_of(MemberName(name), server, loads.get(name))
            for name, server in self._runtime.servers().items()
            if LaunchId.parse(name) is not None
        }

    def occupants(self) -> Mapping[tuple[str, int], str]:
        """Return every server of the backend that has an address, dynamic or not."""
        servers = self._runtime.servers().items()
        return {(str(server.address), server.port): name for name, server in servers if server.address is not None}

    def join(self, member: MemberName, address: str, port: int) -> None:
        """As `Steering.join`."""
        Steering(self._runtime).join(member, address, port)

    def enable(self, member: MemberName) -> None:
        """As `Steering.enable`."""
        Steering(self._runtime).enable(member)

    def drain(self, member: MemberName) -> None:
        """As `Steering.drain`."""
        Steering(self._runtime).drain(member)

    def leave(self, member: MemberName) -> None:
        """As `Steering.leave`."""
        Steering(self._runtime).leave(member)

    def apply(self, changes: Sequence[RegistrationChange]) -> Sequence[DriverError | None]:
        """Make changes on one connection, as `handler.ports.balancer.Batched`."""
        with self._runtime.conversation() as runtime:
            return one_by_one(Steering(runtime), changes)

    def incarnation(self) -> str:
        """Return the worker's process id and start time: a reload starts another worker."""
        process = self._runtime.process()
        return f"{process.pid}-{process.started}"


class Steering:
    """Changes of a backend's members. Reads its servers once, and then follows the answers."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._known: dict[str, HaproxyServer] | None = None

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Add a server in maintenance. It is health-checked if any server of the backend is.

        A server with that name and another address is removed first.
        """
        server, target = self._server(member), numeric(member, address)
        if self._known is None:
            self._runtime.process()
        servers = self._servers()
        registered = servers.get(member)
        if registered is not None and (registered.address, registered.port) == (target, port):
            return
        if registered is not None:
            self.leave(member)
        check = " check" if any(other.checked for other in servers.values()) else ""
        where = f"[{target}]:{port}" if target.version == 6 else f"{target}:{port}"  # noqa: PLR2004 the version of IP
        match self._runtime.run(f"add server {server} {where}{check}"):
            case "New server registered.":
                servers[member] = HaproxyServer(
                    name=member, address=target, port=port, state=RegistrationState.PARKED, checked=bool(check)
                )
            case text if text == NOT_DYNAMIC:
                raise Permanent(not_dynamic(self._runtime))
            case text:
                raise self._runtime.unexpected("add server", text)

    def enable(self, member: MemberName) -> None:
        """Make the server ready, and start its health check if it has one."""
        server = self._server(member)
        registered = self._servers().get(member)
        if registered is None:
            raise Transient(f"{server} is not a server of {self._runtime.socket}: it must join first")
        restore(self._runtime, registered)
        if registered.checked:
            self._runtime.must_be_silent(f"enable health {server}")
        self._runtime.must_be_silent(f"set server {server} state ready")

    def drain(self, member: MemberName) -> None:
        """Let the server finish its current work."""
        command = f"set server {self._server(member)} state drain"
        if (text := self._runtime.run(command)) not in ("", NO_SERVER):
            raise self._runtime.unexpected(command, text)

    def leave(self, member: MemberName) -> None:
        """End the server's remaining sessions, and delete it.

        Raises:
            Transient: its sessions have not ended yet.
        """
        server = self._server(member)
        command = f"set server {server} state maint"
        match self._runtime.run(command):
            case "":
                pass
            case text if text == NO_SERVER:
                self._forget(member)
                return
            case text:
                raise self._runtime.unexpected(command, text)
        self._runtime.run(f"shutdown sessions server {server}")
        command = f"del server {server}"
        if (text := self._runtime.run(command)) not in ("Server deleted.", NO_SERVER):
            raise self._runtime.unexpected(command, text)
        self._forget(member)

    def _forget(self, member: MemberName) -> None:
        if self._known is not None:
            self._known.pop(member, None)

    def _servers(self) -> dict[str, HaproxyServer]:
        if self._known is None:
            self._known = dict(self._runtime.servers())
        return self._known

    def _server(self, member: MemberName) -> str:
        return f"{self._runtime.named()}/{ours(member)}"


def restore(runtime: Runtime, server: HaproxyServer) -> None:
    """Restore the configured weight of a server with weight 0. See Note [Weights].

    Raises:
        Permanent: the configured weight is 0.
    """
    if server.weight or server.has_agent:
        return
    named = f"{runtime.named()}/{server.name}"
    if not server.configured:
        raise Permanent(
            f"the configuration of HAProxy at {runtime.socket} gives {named} weight 0, so it never gets work: "
            "give it a weight of at least 1",
            cause=FailureCause.BALANCER,
        )
    runtime.must_be_silent(f"set server {named} weight 100%")
    _log.warning("%s: %s had weight 0: it has %s again", runtime.socket, named, server.configured)


def not_dynamic(runtime: Runtime) -> str:
    """Say why HAProxy refuses to add servers, and what to do."""
    return (
        f"backend {runtime.backend} has `balance {runtime.algorithm()}`, to which HAProxy cannot add servers: "
        "use roundrobin, leastconn, first or random, or add `hash-type consistent`, or declare a server template"
    )


def registration_of(member: MemberName, server: HaproxyServer, load: ServerLoad | None) -> Registration:
    """Return a member's registration, from its server's state in the process."""
    unheard = Health.UNKNOWN if server.checked else None  # added between the two reads: its health is not known yet
    health = unheard if load is None else load.health
    if server.has_agent and not server.weight:
        health = Health.UNKNOWN  # it asks for no new work, but may still answer
    sessions = None if load is None else load.sessions
    return Registration(
        member=member, state=server.state, connections=sessions, health=health, note=weight_note(server)
    )


def weight_note(server: HaproxyServer) -> str:
    """Describe a weight that differs from the configured one; empty: it does not."""
    if server.weight == server.configured:
        return ""
    by = ", set by its agent check" if server.has_agent else ""
    return f"weight {server.weight}{by}, where the configuration gives {server.configured}"
