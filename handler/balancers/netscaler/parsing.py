"""Decode members of service groups in NITRO's answers. Pure.

Source: NITRO REST API reference, servicegroup_servicegroupmember_binding, servicegroupmember.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from collector.clients.nitro.parsing import Thing, is_legible, plain, text, things, whole
from config.units import MemberName
from handler.planning.launches import LaunchId
from handler.planning.world import Health, RegistrationState

_DRAINING = frozenset({"GOING OUT OF SERVICE", "DOWN WHEN GOING OUT OF SERVICE", "TROFS", "TROFS_DOWN"})
_HEALTH: Mapping[str, Health] = {"UP": Health.HEALTHY, "DOWN": Health.FAILING}
_PARTS = 3
"""Parts of a group member's name in statistics: ``group?server?port``."""


class Unreadable(Exception):
    """A member of the service group that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One member of a service group."""

    server: str
    address: str
    port: int
    state: RegistrationState
    health: Health
    """The monitors' result, if there are any."""

    @property
    def at(self) -> tuple[str, int]:
        """Return its place."""
        return self.address, self.port


def bindings(document: Thing) -> tuple[Binding, ...]:
    """Read ``servicegroup_servicegroupmember_binding``. A member that is out of service has finished: it is PARKED.

    >>> one = {"servername": "web-k3f9ab-1", "ip": "10.0.0.7", "port": 80, "state": "ENABLED", "svrstate": "UP"}
    >>> [found] = bindings({"servicegroup_servicegroupmember_binding": [one]})
    >>> found.server, found.port, found.state, found.health
    ('web-k3f9ab-1', 80, <RegistrationState.SERVING: 'serving'>, <Health.HEALTHY: 'healthy'>)

    Raises:
        Unreadable: a member lacks name, address, port or state, or is no object.
    """
    kind = "servicegroup_servicegroupmember_binding"
    if not is_legible(document, kind):
        raise Unreadable("the list of the service group's members cannot be read")
    return tuple(_binding(thing) for thing in things(document, kind))


def _binding(thing: Thing) -> Binding:
    server, address, state = text(thing, "servername"), text(thing, "ip"), text(thing, "state")
    port, word = whole(thing.get("port")), text(thing, "svrstate")
    if not (server and address and port is not None and state in {"ENABLED", "DISABLED"}):
        raise Unreadable("a member of the service group without name, address, port or state")
    if state == "ENABLED":
        registration, health = RegistrationState.SERVING, _HEALTH.get(word, Health.UNKNOWN)
    else:
        registration, health = (
            RegistrationState.DRAINING if word in _DRAINING else RegistrationState.PARKED,
            Health.UNKNOWN,
        )
    return Binding(server=server, address=plain(address), port=port, state=registration, health=health)


def connections(document: Thing) -> Mapping[tuple[str, int], int]:
    """Read ``stat/servicegroup?statbindings=yes``: (server, port) → ``cursrvrconnections``.

    Unreadable numbers are left out, since they are not zero.

    >>> member = {"servicegroupname": "web?web-k3f9ab-1?80", "cursrvrconnections": "5"}
    >>> connections({"servicegroup": [{"servicegroupmember": [member, {"servicegroupname": "web"}]}]})
    {('web-k3f9ab-1', 80): 5}
    """
    found: dict[tuple[str, int], int] = {}
    for group in things(document, "servicegroup"):
        for member in things(group, "servicegroupmember"):
            parts = text(member, "servicegroupname").split("?")
            port = whole(parts[-1])
            count = whole(member.get("cursrvrconnections"))
            if len(parts) == _PARTS and port is not None and count is not None:
                found[parts[1], port] = count
    return found


def members(found: Iterable[Binding]) -> Mapping[MemberName, tuple[Binding, ...]]:
    """Group bindings by member; foreign ones are left out."""
    ours: dict[MemberName, tuple[Binding, ...]] = {}
    for binding in found:
        if LaunchId.parse(binding.server) is not None:
            name = MemberName(binding.server)
            ours[name] = (*ours.get(name, ()), binding)
    return ours
