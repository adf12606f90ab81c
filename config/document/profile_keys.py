"""Which keys of a profile mean something on which kind of cloud."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from config.model.where import Where

PROGRAM: Final = ("command", "env", "directory", "limits", "new_privileges")
"""Of members that are processes."""
NEEDED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "cloudstack": ("zone", "template", "offering"),
        "opennebula": ("template",),
        "oneflow": ("service", "role"),
        "openstack": ("image", "flavor"),
        "libvirt": ("base", "memory", "vcpus"),
    }
)
"""Of members that are machines: what each kind of cloud needs…"""
FURTHER: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "cloudstack": ("networks", "affinity_groups", "user_data", "parameters", "short_names"),
        "opennebula": ("networks", "extra"),
        "oneflow": (),
        "openstack": (
            *("networks", "user_data", "key_name", "security_groups", "availability_zone", "server_group"),
            *("boot_volume", "metadata", "config_drive", "reach"),
        ),
        "libvirt": ("pool", "disk", "networks", "user_data", "domain"),
    }
)
"""…and what it takes besides."""
WITH_PARTS: Final = frozenset({"openstack", "simulated"})
"""Clouds that make parts of members."""

_OF_KIND = {kind: {*NEEDED[kind], *FURTHER[kind]} for kind in NEEDED} | {"process": {*PROGRAM}, "simulated": set()}
_OF_SOME = frozenset().union(*_OF_KIND.values())


def known_keys(where: Where, keys: Collection[str], data: object) -> Collection[str]:
    """Keep those keys of a mapping that could be meant there: in a profile, those of its own kind of cloud.

    Args:
        where: the mapping.
        keys: all that it may have.
        data: the whole file, however faulty.

    >>> openstack = {"clouds": {"prod": {"openstack": {}}}, "profiles": {"web": {"cloud": "prod"}}}
    >>> sorted(known_keys(("profiles", "web"), ["cloud", "template", "image", "command"], openstack))
    ['cloud', 'image']
    >>> sorted(known_keys(("groups", "web"), ["template", "image"], openstack))
    ['image', 'template']
    """
    kind = _kind(where, data)
    if kind is None:
        return keys
    others = _OF_SOME - _OF_KIND[kind]
    if kind not in WITH_PARTS:
        others |= {"parts"}
    return [key for key in keys if key not in others]


def _kind(where: Where, data: object) -> str | None:
    """The kind of cloud that a profile names, if ``where`` is one and the file tells."""
    if len(where) != 2 or where[0] != "profiles":  # noqa: PLR2004  # a section and a name
        return None
    cloud = _at(data, "clouds", _at(data, "profiles", where[1], "cloud"))
    kinds = [kind for kind in _OF_KIND if isinstance(cloud, dict) and kind in cloud]
    return kinds[0] if len(kinds) == 1 else None


def _at(data: object, *keys: object) -> object:
    """What stands under keys; ``None`` where nothing does."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) and isinstance(key, str) else None
    return data
