"""Members are dynamic servers of one backend of one HAProxy process (2.6 or later).

They are added in maintenance, enabled when they are ready, drained, deleted. HAProxy forgets them when it restarts or
reloads, which a changed `incarnation` shows; they are then added again. Those of a server template stay
(`handler.balancers.haproxy.slots`).

Note [Weights]: Trimtab sets no weights, so the weight of a server is what the configuration gives, or what a person
else has set over the runtime API. A server with weight 0 gets no new work whatever its state, and `set weight 50%`
makes 0 of 1. It counts as draining, and a member that is to serve gets the configured weight back, as it is made ready
again after `set server … state drain`: policies count on every member in service. Any other weight shares the load out
between members that all serve. That is a person's matter: it stays as it is, and is told (`Seat.note`, `trimtab
doctor`). A member that takes a server of a template begins with the configured weight: the other one was set for the
member before it. Where an agent check sets weights, 0 is the server's own word: it is told, and not overruled.

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
from handler.balancers.seats import one_by_one, ours
from handler.planning.launches import LaunchId
from handler.planning.world import Health, Seat, SeatState
from handler.ports.balancer import RegistrationChange

_log = logging.getLogger(__name__)
NOT_DYNAMIC = "Backend must use a dynamic load balancing to support dynamic servers."


class HaproxyDriver:
    """The `Balancer` of one process of a `config.model.balancers.HaproxyBalancer` without a template."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def seats(self) -> Mapping[MemberName, Seat]:
        """The backend's servers under launch ids, with their current sessions and what their checks say."""
        loads = self._runtime.loads()
        return {
            MemberName(name): seat_of(MemberName(name), server, loads.get(name))
            for name, server in self._runtime.servers().items()
            if LaunchId.parse(name) is not None
        }

    def occupants(self) -> Mapping[tuple[str, int], str]:
        """Every server of the backend that has an address, dynamic or not."""
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
        """The worker's process id and start time: a reload starts another worker."""
        process = self._runtime.process()
        return f"{process.pid}-{process.started}"


class Steering:
    """Changes of a backend's members. Its servers are looked at once, and then known by what was answered."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._known: dict[str, HaproxyServer] | None = None

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Add a server in maintenance. It is health-checked if any server of the backend is.

        One of that name with another address makes way.
        """
        server, target = self._server(member), numeric(member, address)
        if self._known is None:
            self._runtime.process()
        servers = self._servers()
        seated = servers.get(member)
        if seated is not None and (seated.address, seated.port) == (target, port):
            return
        if seated is not None:
            self.leave(member)
        check = " check" if any(other.checked for other in servers.values()) else ""
        where = f"[{target}]:{port}" if target.version == 6 else f"{target}:{port}"  # noqa: PLR2004 the version of IP
        match self._runtime.tell(f"add server {server} {where}{check}"):
            case "New server registered.":
                servers[member] = HaproxyServer(
                    name=member, address=target, port=port, state=SeatState.PARKED, checked=bool(check)
                )
            case text if text == NOT_DYNAMIC:
                raise Permanent(not_dynamic(self._runtime))
            case text:
                raise self._runtime.unexpected("add server", text)

    def enable(self, member: MemberName) -> None:
        """Make the server ready, and start its health check if it has one."""
        server = self._server(member)
        seated = self._servers().get(member)
        if seated is None:
            raise Transient(f"{server} is not a server of {self._runtime.socket}: it must join first")
        restore(self._runtime, seated)
        if seated.checked:
            self._runtime.must_be_silent(f"enable health {server}")
        self._runtime.must_be_silent(f"set server {server} state ready")

    def drain(self, member: MemberName) -> None:
        """Let the server finish what it has."""
        command = f"set server {self._server(member)} state drain"
        if (text := self._runtime.tell(command)) not in ("", NO_SERVER):
            raise self._runtime.unexpected(command, text)

    def leave(self, member: MemberName) -> None:
        """End what sessions the server still has, and delete it.

        Raises:
            Transient: its sessions have not ended yet.
        """
        server = self._server(member)
        command = f"set server {server} state maint"
        match self._runtime.tell(command):
            case "":
                pass
            case text if text == NO_SERVER:
                self._forget(member)
                return
            case text:
                raise self._runtime.unexpected(command, text)
        self._runtime.tell(f"shutdown sessions server {server}")
        command = f"del server {server}"
        if (text := self._runtime.tell(command)) not in ("Server deleted.", NO_SERVER):
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
    """Give a server with weight 0 the weight that the configuration gives it. See Note [Weights].

    Raises:
        Permanent: the configuration gives it 0.
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
    """Why HAProxy refuses to add servers, and what to do."""
    return (
        f"backend {runtime.backend} has `balance {runtime.algorithm()}`, to which HAProxy cannot add servers: "
        "use roundrobin, leastconn, first or random, or add `hash-type consistent`, or declare a server template"
    )


def seat_of(member: MemberName, server: HaproxyServer, load: ServerLoad | None) -> Seat:
    """A member's seat, of what the process says of the server that it is."""
    unheard = Health.UNKNOWN if server.checked else None  # added between the two questions: nothing is known of it yet
    health = unheard if load is None else load.health
    if server.has_agent and not server.weight:
        health = Health.UNKNOWN  # it asks for no new work, and may answer all the same
    sessions = None if load is None else load.sessions
    return Seat(member=member, state=server.state, connections=sessions, health=health, note=weight_note(server))


def weight_note(server: HaproxyServer) -> str:
    """Say that a server has another weight than the configuration gives it; empty: it has that one."""
    if server.weight == server.configured:
        return ""
    by = ", set by its agent check" if server.has_agent else ""
    return f"weight {server.weight}{by}, where the configuration gives {server.configured}"
