"""What the quotas of one OpenStack project leave for more members.

Source: Compute API 2.1, ``/limits`` (absolute limits; -1: none) and ``/flavors/{id}`` (``vcpus``, and ``ram`` in MiB);
Block Storage API v3, ``/limits``, which is asked where members start from volumes. What a flavor has does not change:
it is asked for once. What is made as a part of a member is there before its server, and takes of no room for that.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from config.model import OpenstackRecipe, Profile
from handler.headroom import Limit, Quota
from handler.openstack.answers import mapping
from handler.openstack.connection import BLOCK_STORAGE, Connection, NoService
from handler.openstack.ids import FLAVOR, Ids
from handler.orchestrators.openstack_examined import limit_of
from handler.orchestrators.openstack_nova import Nova

_FLAVORS = 100
"""More are not remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """Reads the limits of one project."""

    connection: Connection
    nova: Nova
    ids: Ids
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _flavors: dict[str, Mapping[str, object]] = field(default_factory=dict, init=False, repr=False)

    def quotas(self, profile: Profile) -> tuple[Quota, ...]:
        """As `handler.orchestrators.metered.Metered`."""
        recipe = profile.recipe
        if not isinstance(recipe, OpenstackRecipe):
            return ()
        flavor = self._flavor(self.ids.of(FLAVOR, recipe.flavor))
        own = quotas_of(_absolute(self.nova.ask("GET", "/limits").body), flavor)
        volume = recipe.boot_volume
        return own if volume is None else (*own, *volume_quotas_of(self._volumes(), volume.size))

    def _flavor(self, id: str) -> Mapping[str, object]:
        with self._lock:
            known = self._flavors.get(id)
        if known is not None:
            return known
        asked = mapping(self.nova.ask("GET", f"/flavors/{quote(id, safe='')}").body, "flavor")
        with self._lock:
            if len(self._flavors) >= _FLAVORS:
                self._flavors.clear()
            self._flavors[id] = asked
        return asked

    def _volumes(self) -> Mapping[str, object]:
        """Cinder's limits; empty where the cloud has none: a creation says so."""
        try:
            return _absolute(self.connection.ask(BLOCK_STORAGE, "GET", "/limits").body)
        except NoService:
            return {}


def _absolute(body: object) -> Mapping[str, object]:
    return mapping(mapping(body, "limits"), "absolute")


def quotas_of(limits: Mapping[str, object], flavor: Mapping[str, object]) -> tuple[Quota, ...]:
    """Read what a server of a flavor takes of Nova's limits.

    >>> limits = {"maxTotalInstances": 10, "totalInstancesUsed": 3, "maxTotalCores": 20, "totalCoresUsed": 18}
    >>> [(str(quota.limit), quota.each) for quota in quotas_of(limits, {"vcpus": 4, "ram": 8192})]
    [('machines 3 of 10', 1), ('cores 18 of 20', 4)]
    """
    return _told(
        (limit_of(limits, "Instances", "Instances", "machines"), 1),
        (limit_of(limits, "Cores", "Cores", "cores"), _amount(flavor, "vcpus")),
        (limit_of(limits, "RAMSize", "RAM", "MiB of memory"), _amount(flavor, "ram")),
    )


def volume_quotas_of(limits: Mapping[str, object], size: int) -> tuple[Quota, ...]:
    """Read what a volume of so many GiB takes of Cinder's limits.

    >>> limits = {"maxTotalVolumes": 10, "totalVolumesUsed": 9, "maxTotalVolumeGigabytes": -1, "totalGigabytesUsed": 90}
    >>> [(str(quota.limit), quota.each) for quota in volume_quotas_of(limits, 20)]
    [('volumes 9 of 10', 1), ('GiB of volumes 90 without a limit', 20)]
    """
    return _told(
        (limit_of(limits, "Volumes", "Volumes", "volumes"), 1),
        (limit_of(limits, "VolumeGigabytes", "Gigabytes", "GiB of volumes"), size),
    )


def _told(*taken: tuple[Limit | None, float]) -> tuple[Quota, ...]:
    return tuple(Quota(limit=limit, each=each) for limit, each in taken if limit is not None)


def _amount(flavor: Mapping[str, object], key: str) -> int:
    """What a flavor has of something; 0: it does not say."""
    value = flavor.get(key)
    return value if isinstance(value, int) else 0
