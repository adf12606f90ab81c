"""The room that the quotas of an OpenStack project leave for more members.

Source: Compute API 2.1, ``/limits`` (absolute limits; -1: none) and ``/flavors/{id}`` (``vcpus``, and ``ram`` in MiB):
a flavor does not change, and is read once. Neutron and Cinder report the room for the ports and volumes that Nova
creates with a server; if they do not report it, the creation does. Parts of a member exist before its server, and need
no room for that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.ids import FLAVOR, OpenstackIds
from collector.clients.openstack.parsing import mapping
from config.errors import Permanent
from config.model.catalogue import OpenstackRecipe, Profile
from config.model.parts import NetworkPort
from handler.orchestrators.openstack.doctor import limit_of
from handler.orchestrators.openstack.nova import Nova
from handler.orchestrators.openstack.part_quotas import network_quotas, volume_quotas
from handler.planning.headroom import Quota, UsageLimit

_FLAVORS = 100
"""Flavors that are remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenstackQuotaMeter:
    """Reads the limits of one project."""

    connection: OpenstackConnection
    nova: Nova
    ids: OpenstackIds
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _flavors: dict[str, Mapping[str, object]] = field(default_factory=dict, init=False, repr=False)

    def quotas(self, profile: Profile) -> tuple[Quota, ...]:
        """Return the quotas, as `handler.ports.orchestrator.Metered`."""
        recipe = profile.recipe
        if not isinstance(recipe, OpenstackRecipe):
            return ()
        flavor = self._flavor(self.ids.of(FLAVOR, recipe.flavor))
        limits = mapping(mapping(self.nova.ask("GET", "/limits").body, "limits"), "absolute")
        return (*quotas_of(limits, flavor), *self._of_volume(recipe), *self._of_ports(ports_of(profile, recipe)))

    def _flavor(self, id: str) -> Mapping[str, object]:
        with self._lock:
            known = self._flavors.get(id)
        if known:  # an unreadable answer is requested again
            return known
        asked = mapping(self.nova.ask("GET", f"/flavors/{quote(id, safe='')}").body, "flavor")
        with self._lock:
            if len(self._flavors) >= _FLAVORS:
                self._flavors.clear()
            self._flavors[id] = asked
        return asked

    def _of_volume(self, recipe: OpenstackRecipe) -> Sequence[Quota]:
        volume = recipe.boot_volume
        if volume is None:
            return ()
        return _if_shown(lambda: volume_quotas(self.connection, {"Volumes": 1, "VolumeGigabytes": volume.size}))

    def _of_ports(self, ports: int) -> Sequence[Quota]:
        return _if_shown(lambda: network_quotas(self.connection, {"port": ports})) if ports else ()


def ports_of(profile: Profile, recipe: OpenstackRecipe) -> int:
    """Return how many ports Nova creates with a server: one a network, and one if neither network nor port is named."""
    if recipe.no_network:
        return 0
    has_own = any(isinstance(part.spec, NetworkPort) for part in profile.parts)
    return len(recipe.networks) or (0 if has_own else 1)


def quotas_of(limits: Mapping[str, object], flavor: Mapping[str, object]) -> tuple[Quota, ...]:
    """Return the share of Nova's limits that a server of a flavor takes.

    >>> limits = {"maxTotalInstances": 10, "totalInstancesUsed": 3, "maxTotalCores": 20, "totalCoresUsed": 18}
    >>> [(str(quota.limit), quota.each) for quota in quotas_of(limits, {"vcpus": 4, "ram": 8192})]
    [('machines 3 of 10', 1), ('cores 18 of 20', 4)]
    """
    taken: tuple[tuple[UsageLimit | None, float], ...] = (
        (limit_of(limits, "Instances", "Instances", "machines"), 1),
        (limit_of(limits, "Cores", "Cores", "cores"), _amount(flavor, "vcpus")),
        (limit_of(limits, "RAMSize", "RAM", "MiB of memory"), _amount(flavor, "ram")),
    )
    return tuple(Quota(limit=limit, each=each) for limit, each in taken if limit is not None)


def _if_shown(read: Callable[[], Sequence[Quota]]) -> Sequence[Quota]:
    """Return quotas; empty: the service is missing or shows them only to administrators."""
    try:
        return read()
    except Permanent:
        return ()


def _amount(flavor: Mapping[str, object], key: str) -> int:
    """Return an amount of a flavor; 0: it is missing."""
    value = flavor.get(key)
    return value if isinstance(value, int) else 0
