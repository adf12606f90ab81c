"""The room in Neutron's and Cinder's quotas for members' ports, addresses and volumes.

Source: Networking API v2, ``/quotas/tenant`` (one's own project) and ``/quotas/{project_id}/details.json``; Block
Storage API v3, ``/limits``. As in Neutron 21 and Cinder 21 (Zed), where a project's own member may read both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.parsing import mapping, text
from collector.clients.openstack.session import BLOCK_STORAGE, NETWORK
from config.model.catalogue import OpenstackRecipe, Profile
from config.model.parts import FloatingAddress, NetworkPort, Volume
from handler.planning.headroom import Quota, UsageLimit

_GONE = frozenset({404})
_GIB = 2**30

Needs = Mapping[str, float]
"""One member's needs, by the services' names."""


def of_network(profile: Profile) -> Needs:
    """Return one member's ports and floating addresses; without a declared network, Nova creates one port."""
    recipe, specs = profile.recipe, [part.spec for part in profile.parts]
    if not isinstance(recipe, OpenstackRecipe):
        return {}
    nics = 0 if recipe.no_network else max(len(recipe.networks), 1)
    ports = sum(isinstance(spec, NetworkPort) for spec in specs)
    return {"port": nics + ports, "floatingip": sum(isinstance(spec, FloatingAddress) for spec in specs)}


def of_volumes(profile: Profile) -> Needs:
    """Return one member's volumes, and their GiB, rounded up as Cinder does."""
    recipe, specs = profile.recipe, [part.spec for part in profile.parts]
    sizes = [math.ceil(spec.size / _GIB) for spec in specs if isinstance(spec, Volume)]
    if isinstance(recipe, OpenstackRecipe) and recipe.boot_volume is not None:
        sizes.append(recipe.boot_volume.size)
    return {"Volumes": len(sizes), "VolumeGigabytes": sum(sizes)}


def wanted(profiles: Sequence[Profile], of: Callable[[Profile], Needs]) -> Needs:
    """Return the least that a member needs: the profile of the next members is not known."""
    needs = [of(profile) for profile in profiles]
    return {key: min(each.get(key, 0.0) for each in needs) for key in needs[0]} if needs else {}


def network_quotas(connection: OpenstackConnection, each: Needs) -> tuple[Quota, ...]:
    """Ask Neutron.

    Returns:
        Empty if it reports no quotas.

    Raises:
        DriverError: as `OpenstackConnection.ask`.
    """
    project = text(mapping(connection.ask(NETWORK, "GET", "/quotas/tenant", but=_GONE).body, "tenant"), "tenant_id")
    if not project:
        return ()
    limits = mapping(connection.ask(NETWORK, "GET", f"/quotas/{project}/details.json", but=_GONE).body, "quota")
    return _quotas(
        each, {"port": "ports", "floatingip": "floating addresses"}, lambda key: _detail(mapping(limits, key))
    )


def volume_quotas(connection: OpenstackConnection, each: Needs) -> tuple[Quota, ...]:
    """Ask Cinder, as `network_quotas` asks Neutron."""
    limits = mapping(mapping(connection.ask(BLOCK_STORAGE, "GET", "/limits", but=_GONE).body, "limits"), "absolute")
    used = {"Volumes": "totalVolumesUsed", "VolumeGigabytes": "totalGigabytesUsed"}
    words = {"Volumes": "volumes", "VolumeGigabytes": "GiB of volumes"}
    return _quotas(each, words, lambda key: (limits.get(f"maxTotal{key}"), limits.get(used[key])))


def _detail(quota: Mapping[str, object]) -> tuple[object, object]:
    """Return a limit of Neutron, and the amount used or reserved.

    >>> _detail({"limit": 10, "used": 2, "reserved": 1})
    (10, 3)
    """
    used, reserved = quota.get("used"), quota.get("reserved", 0)
    both = used + reserved if isinstance(used, int) and isinstance(reserved, int) else None
    return quota.get("limit"), both


def _quotas(
    each: Needs, words: Mapping[str, str], amounts: Callable[[str], tuple[object, object]]
) -> tuple[Quota, ...]:
    found = []
    for key, what in words.items():
        most, used = amounts(key)
        if each.get(key) and isinstance(most, int) and isinstance(used, int):
            limit = UsageLimit(what=what, used=used, most=most if most >= 0 else None)
            found.append(Quota(limit=limit, each=each[key]))
    return tuple(found)
