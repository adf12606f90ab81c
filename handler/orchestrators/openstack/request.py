"""Build Nova's request that creates a server.

Source: Compute API reference, ``POST /servers``, microversions 2.37 to 2.69.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TypeVar

from collector.clients.openstack.ids import FLAVOR, IMAGE_KIND, NETWORK_KIND, SECURITY_GROUP, SERVER_GROUP, OpenstackIds
from config.errors import Permanent, Transient
from config.model.catalogue import OpenstackRecipe
from config.model.parts import NetworkPort, Volume
from handler.orchestrators.openstack.parsing import claim_of, mark_of, reach_of
from handler.ports.orchestrator import Launch

_Device = Mapping[str, object]
_Kind = TypeVar("_Kind", NetworkPort, Volume)


def request_of(launch: Launch, ids: OpenstackIds) -> Mapping[str, object]:
    """Return the body: mark, recipe, and the parts of the server.

    Raises:
        Permanent: a name has no object, or several.
        Transient: a name could not be looked up, or a part is missing.
    """
    recipe = launch.profile.recipe
    if not isinstance(recipe, OpenstackRecipe):
        raise Permanent(f"profile {launch.profile.id} has no image and flavor")
    image = ids.of(IMAGE_KIND, recipe.image)
    given = {
        "name": launch.id.name,
        "flavorRef": ids.of(FLAVOR, recipe.flavor),
        "imageRef": "" if recipe.boot_volume is not None else image,
        "block_device_mapping_v2": _disks(recipe, image, _parts(launch, Volume)),
        "networks": _networks(recipe, ids, _parts(launch, NetworkPort)),
        "security_groups": [{"name": ids.of(SECURITY_GROUP, name)} for name in recipe.security_groups],
        "key_name": recipe.key_name,
        "availability_zone": recipe.availability_zone,
        "user_data": base64.b64encode(recipe.user_data.encode()).decode(),
        "config_drive": recipe.config_drive,
        "metadata": {**recipe.metadata, **reach_of(recipe.reach), **mark_of(launch.id), **claim_of(launch.claim)},
    }
    request: dict[str, object] = {"server": {key: value for key, value in given.items() if value or key == "imageRef"}}
    if recipe.server_group is not None:
        request["os:scheduler_hints"] = {"group": ids.of(SERVER_GROUP, recipe.server_group)}
    return request


def _parts(launch: Launch, kind: type[_Kind]) -> list[str]:
    """Return the ids of the parts of one kind, in declared order."""
    declared = [part.name for part in launch.profile.parts if isinstance(part.spec, kind)]
    missing = [name for name in declared if name not in launch.parts]
    if missing:
        raise Transient(f"{launch.id.name}: {', '.join(missing)}: not ready yet: its server waits")
    return [launch.parts[name] for name in declared]


def _networks(recipe: OpenstackRecipe, ids: OpenstackIds, ports: list[str]) -> object:
    """Return the networks, ports first: the first network reaches a server, unless the recipe names another."""
    if recipe.no_network:
        return "none"
    made = [{"port": port} for port in ports]
    chosen = [{"uuid": ids.of(NETWORK_KIND, network)} for network in recipe.networks]
    return [*made, *chosen] or "auto"


def _disks(recipe: OpenstackRecipe, image: str, volumes: list[str]) -> list[_Device]:
    """Return the boot disk and the volumes in Nova's format; empty: only the flavor's own disk."""
    if recipe.boot_volume is None and not volumes:
        return []
    return [_first_disk(recipe, image), *(_further_disk(volume) for volume in volumes)]


def _first_disk(recipe: OpenstackRecipe, image: str) -> _Device:
    first: _Device = {"source_type": "image", "uuid": image, "boot_index": 0}
    volume = recipe.boot_volume
    if volume is None:
        return {**first, "destination_type": "local", "delete_on_termination": True}
    kind = {} if volume.kind is None else {"volume_type": volume.kind}
    sized = {"destination_type": "volume", "volume_size": volume.size, **kind}
    return {**first, **sized, "delete_on_termination": not volume.keep}


def _further_disk(volume: str) -> _Device:
    made = {"source_type": "volume", "uuid": volume, "destination_type": "volume"}
    return {**made, "boot_index": -1, "delete_on_termination": False}
