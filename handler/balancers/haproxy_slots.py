"""Members are put into the servers of a ``server-template`` of one backend of one HAProxy process.

Note [Who is where]: a slot's name is HAProxy's own, so whom it serves is told by a map, ``address:port`` → member,
which HAProxy holds and we change over the runtime API. It is keyed by the place and not by the slot: what a slot does
is then told by the slot alone (its address, and whether it is given work), and the map adds the one thing that a slot
cannot hold, a name. The two are saved by the same command and loaded at the same start, and where one is older than the
other it is still true that the member is at that place. Nothing has to be remembered here.

An entry is made before the slot gets the address and taken away after it has lost it, so that a slot with work to do is
never without a name, whenever we are interrupted. One that is all the same (the map was not saved) stops everything:
who leaves might still be given work there. A slot is free while it is in maintenance and has no address.

Source: HAProxy management guide 2.6, section 9.3, ``set server``, ``add map``; configuration manual, ``init-addr``.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from config.errors import Permanent, Transient
from config.model import ServerTemplate
from config.units import MemberName
from handler.balancers.haproxy import HaproxyDriver, seat_of
from handler.balancers.haproxy_answers import Server, read_map
from handler.balancers.haproxy_runtime import Runtime, numeric
from handler.balancers.names import ours
from handler.launches import LaunchId
from handler.world import Seat, SeatState

_NO_MAP = "Unknown map identifier."
_CHANGED = ("IP changed from", "no need to change the addr")
_NOWHERE = "0.0.0.0"  # noqa: S104 the address of a slot that has none


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """What the servers of a template do, and for whom: one moment of it."""

    servers: Mapping[str, Server]
    """Slots by name, in HAProxy's order."""
    names: Mapping[str, str]
    """``address:port`` → member."""
    others: Mapping[str, Server]
    """The rest of the backend's servers."""

    @property
    def dynamic(self) -> Mapping[MemberName, Server]:
        """Members that are servers of their own."""
        return {MemberName(name): server for name, server in self.others.items() if LaunchId.parse(name) is not None}

    @property
    def taken(self) -> Mapping[MemberName, Server]:
        """Slots by the members that they serve, whoever else's are there."""
        named = {self.names.get(place_of(slot)): slot for slot in self.servers.values()}
        return {MemberName(name): slot for name, slot in named.items() if name is not None and LaunchId.parse(name)}

    @property
    def free(self) -> tuple[Server, ...]:
        """Slots that nobody uses."""
        return tuple(slot for slot in self.servers.values() if slot.state is SeatState.PARKED and _is_nowhere(slot))

    @property
    def nameless(self) -> tuple[Server, ...]:
        """Slots that are given work, and nobody knows whose."""
        working = (slot for slot in self.servers.values() if slot.state is not SeatState.PARKED)
        return tuple(slot for slot in working if _is_nowhere(slot) or place_of(slot) not in self.names)


class HaproxySlots:
    """The `Balancer` of one process of a `config.model.HaproxyBalancer` with a template.

    Members that are dynamic servers, from a time without a template, are served on until they leave.
    """

    def __init__(self, runtime: Runtime, template: ServerTemplate) -> None:
        self._runtime = runtime
        self._template = template
        self._dynamic = HaproxyDriver(runtime)
        self._slot = re.compile(re.escape(template.prefix) + "[0-9]+")
        self._choosing = threading.RLock()
        """Of two who join at once, both would find the same slot free."""

    def seats(self) -> Mapping[MemberName, Seat]:
        """The members in slots, with their sessions and what their checks say.

        Raises:
            Permanent: a slot is given work, and the map does not say whose.
        """
        loads = self._runtime.loads()
        with self._choosing:
            slots = self.look()
        if slots.nameless:
            raise Permanent(self.lost(slots.nameless[0]))
        seated = {**slots.dynamic, **slots.taken}
        return {name: seat_of(name, server, loads.get(server.name)) for name, server in seated.items()}

    def look(self) -> Slots:
        """Read slots and map."""
        servers = self._runtime.servers()
        slots = {name: server for name, server in servers.items() if self._slot.fullmatch(name)}
        if not slots:
            raise Permanent(
                f"backend {self._runtime.backend} at {self._runtime.socket} has no servers "
                f"{self._template.prefix}1, {self._template.prefix}2 …: add a server-template with that prefix"
            )
        return Slots(
            servers=slots,
            names=self._runtime.read(f"show map {self._template.map}", self._names),
            others={name: server for name, server in servers.items() if name not in slots},
        )

    def occupants(self) -> Mapping[tuple[str, int], str]:
        """Every server of the backend that has an address: slots under the name that the map has, or their own."""
        slots = self.look()
        named = [(slots.names.get(place_of(slot), slot.name), slot) for slot in slots.servers.values()]
        found = [*slots.others.items(), *named]
        return {(str(server.address), server.port): name for name, server in found if not _is_nowhere(server)}

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Put the member into a free slot, in maintenance. It is health-checked if the template says so.

        A slot of its own with another address makes way, and so does another member at this address: it was there.

        Raises:
            Transient: no slot is free.
            Permanent: somebody who is no member has the place.
        """
        target = numeric(ours(member), address)
        self._runtime.process()
        place = _place(target, port)
        with self._choosing:
            slots = self.look()
            seated = slots.taken.get(member, slots.dynamic.get(member))
            if seated is not None and place_of(seated) == place:
                return
            if member in slots.dynamic:
                self._dynamic.leave(member)
            stale = slots.names.get(place)
            for other in (member, stale):
                if other is not None and other in slots.taken:
                    self._vacate(slots.taken[MemberName(other)])
                    slots = self.look()
            if place in map(place_of, slots.servers.values()):
                raise Permanent(
                    f"{self._runtime.backend}: {place} is the place of {stale or 'somebody unnamed'} already"
                )
            self._take(slots, member, target, port)

    def enable(self, member: MemberName) -> None:
        """Make the slot ready."""
        slot = self._slot_of(ours(member))
        if slot is None:
            self._dynamic.enable(member)
        else:
            self._runtime.must_be_silent(f"set server {self._named(slot)} state ready")

    def drain(self, member: MemberName) -> None:
        """Let the slot finish what it has."""
        slot = self._slot_of(ours(member))
        if slot is None:
            self._dynamic.drain(member)
        else:
            self._runtime.must_be_silent(f"set server {self._named(slot)} state drain")

    def leave(self, member: MemberName) -> None:
        """End what sessions the slot still has, and free it."""
        slot = self._slot_of(ours(member))
        if slot is None:
            self._dynamic.leave(member)
        else:
            self._vacate(slot)

    def incarnation(self) -> str:
        """The worker's process id and start time."""
        return self._dynamic.incarnation()

    def _take(self, slots: Slots, member: MemberName, target: IPv4Address | IPv6Address, port: int) -> None:
        if not slots.free:
            raise Transient(
                f"all {len(slots.servers)} servers of the template {self._template.prefix} in backend "
                f"{self._runtime.backend} are taken: declare more of them, above the group's max"
            )
        slot, place = slots.free[0], _place(target, port)
        verb = "set" if place in slots.names else "add"
        self._runtime.must_be_silent(f"{verb} map {self._template.map} {place} {member}")
        self._move(slot, f"{target} port {port}")

    def _vacate(self, slot: Server) -> None:
        with self._choosing:
            server = self._named(slot)
            self._runtime.must_be_silent(f"set server {server} state maint")
            self._runtime.tell(f"shutdown sessions server {server}")
            self._move(slot, _NOWHERE)
            command = f"del map {self._template.map} {place_of(slot)}"
            if (text := self._runtime.tell(command)) not in ("", "Key not found."):
                raise self._runtime.unexpected(command, text)

    def _move(self, slot: Server, where: str) -> None:
        command = f"set server {self._named(slot)} addr {where}"
        if not (text := self._runtime.tell(command)).startswith(_CHANGED):
            raise self._runtime.unexpected(command, text)

    def _slot_of(self, member: MemberName) -> Server | None:
        return self.look().taken.get(member)

    def _names(self, answer: str) -> Mapping[str, str]:
        if answer.startswith(_NO_MAP):
            raise Permanent(
                f"HAProxy at {self._runtime.socket} has loaded no map {self._template.map}: "
                "make the file, and name it in HAProxy's configuration"
            )
        return read_map(answer)

    def lost(self, slot: Server) -> str:
        """What is wrong with a nameless slot, and how to mend it."""
        where = f"HAProxy at {self._runtime.socket} gives {self._named(slot)} work"
        if _is_nowhere(slot):
            return (
                f"{where}, which has lost its address: put it into maintenance, and give the template a name for an "
                f"address, and `init-addr last,{_NOWHERE}`, for the state file to bring addresses back"
            )
        return (
            f"{where} at {place_of(slot)}, and {self._template.map} does not say whose: save the map where the state "
            "is saved; to go on, add the place to it, or put the server into maintenance"
        )

    def _named(self, slot: Server) -> str:
        return f"{self._runtime.named()}/{slot.name}"


def place_of(slot: Server) -> str:
    """The key of the map."""
    return "" if slot.address is None else _place(slot.address, slot.port)


def _place(address: IPv4Address | IPv6Address, port: int) -> str:
    return f"[{address}]:{port}" if isinstance(address, IPv6Address) else f"{address}:{port}"


def _is_nowhere(slot: Server) -> bool:
    return slot.address is None or slot.address.is_unspecified
