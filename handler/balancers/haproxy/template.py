"""The servers of a ``server-template`` and the map of their members, as read at one moment.

`handler.balancers.haproxy.slots`, Note [Who is where], explains the map.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address

from config.causes import FailureCause
from config.errors import Permanent
from config.model.balancers import ServerTemplate
from config.units import MemberName
from handler.balancers.haproxy.parsing import HaproxyServer, read_map
from handler.balancers.haproxy.runtime import Runtime
from handler.planning.launches import LaunchId
from handler.planning.world import RegistrationState

_NO_MAP = "Unknown map identifier."
NOWHERE = "0.0.0.0"  # noqa: S104 the address of a slot that has none


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateSlots:
    """The servers of a template and their members, at one moment."""

    servers: Mapping[str, HaproxyServer]
    """Slots by name, in HAProxy's order."""
    names: Mapping[str, str]
    """``address:port`` → member."""
    others: Mapping[str, HaproxyServer]
    """The rest of the backend's servers."""

    @property
    def dynamic(self) -> Mapping[MemberName, HaproxyServer]:
        """Return members that are dynamic servers."""
        return {MemberName(name): server for name, server in self.others.items() if LaunchId.parse(name) is not None}

    @property
    def taken(self) -> Mapping[MemberName, HaproxyServer]:
        """Return slots by member; foreign slots are left out."""
        named = {self.names.get(place_of(slot)): slot for slot in self.servers.values()}
        return {MemberName(name): slot for name, slot in named.items() if name is not None and LaunchId.parse(name)}

    @property
    def free(self) -> tuple[HaproxyServer, ...]:
        """Return free slots."""
        return tuple(
            slot for slot in self.servers.values() if slot.state is RegistrationState.PARKED and is_nowhere(slot)
        )

    @property
    def nameless(self) -> tuple[HaproxyServer, ...]:
        """Return slots that get work and have no name."""
        working = (slot for slot in self.servers.values() if slot.state is not RegistrationState.PARKED)
        return tuple(slot for slot in working if is_nowhere(slot) or place_of(slot) not in self.names)

    @property
    def is_named(self) -> bool:
        """Return whether the map is of this template: more slots with work are named than nameless."""
        working = sum(slot.state is not RegistrationState.PARKED for slot in self.servers.values())
        return working > 2 * len(self.nameless)

    def taking(
        self, slot: HaproxyServer, member: MemberName, target: IPv4Address | IPv6Address, port: int
    ) -> TemplateSlots:
        """Return the slots after a member has taken one."""
        servers = {**self.servers, slot.name: replace(slot, address=target, port=port)}
        return replace(self, servers=servers, names={**self.names, place(target, port): member})

    def without(self, slot: HaproxyServer) -> TemplateSlots:
        """Return the slots after one is free again."""
        freed = replace(slot, address=None, state=RegistrationState.PARKED)
        names = {where: name for where, name in self.names.items() if where != place_of(slot)}
        return replace(self, servers={**self.servers, slot.name: freed}, names=names)


def look(runtime: Runtime, template: ServerTemplate) -> TemplateSlots:
    """Read slots and map.

    Raises:
        Permanent: there are none.
    """
    servers = runtime.servers()
    slot = re.compile(re.escape(template.prefix) + "[0-9]+")
    slots = {name: server for name, server in servers.items() if slot.fullmatch(name)}
    if not slots:
        raise Permanent(
            f"backend {runtime.backend} at {runtime.socket} has no servers {template.prefix}1, {template.prefix}2 …",
            cause=FailureCause.BALANCER,
            remedy="add a server-template with that prefix to its configuration",
        )

    def names(answer: str) -> Mapping[str, str]:
        if answer.startswith(_NO_MAP):
            raise Permanent(
                f"HAProxy at {runtime.socket} has loaded no map {template.map}",
                cause=FailureCause.BALANCER,
                remedy="make the file, and name it in HAProxy's configuration",
            )
        return read_map(answer)

    return TemplateSlots(
        servers=slots,
        names=runtime.read(f"show map {template.map}", names),
        others={name: server for name, server in servers.items() if name not in slots},
    )


def lost(runtime: Runtime, template: ServerTemplate, slot: HaproxyServer) -> str:
    """Say what is wrong with a nameless slot, and how to fix it."""
    where = f"HAProxy at {runtime.socket} gives {runtime.named()}/{slot.name} work"
    if is_nowhere(slot):
        return (
            f"{where}, which has lost its address: put it into maintenance, and give the template a name for an "
            f"address, and `init-addr last,{NOWHERE}`, for the state file to bring addresses back"
        )
    return (
        f"{where} at {place_of(slot)}, and {template.map} does not say whose: save the map where the state "
        "is saved; to go on, add the place to it, or put the server into maintenance"
    )


def place_of(slot: HaproxyServer) -> str:
    """Return the key of a slot's place in the map; empty: it has none."""
    return "" if slot.address is None else place(slot.address, slot.port)


def place(address: IPv4Address | IPv6Address, port: int) -> str:
    """Return the key of a place in the map."""
    return f"[{address}]:{port}" if isinstance(address, IPv6Address) else f"{address}:{port}"


def is_nowhere(slot: HaproxyServer) -> bool:
    """Return whether a slot has no address."""
    return slot.address is None or slot.address.is_unspecified
