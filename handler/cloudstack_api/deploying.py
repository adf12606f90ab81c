"""``otherdeployparams``: more parameters of deployVirtualMachine ↔ the keys of a profile. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from config.document.cloudstack import SET_HERE
from config.document.places import Plain
from config.model.catalogue import CloudstackRecipe
from handler.cloudstack_api.faults import wrong

_SUPPORTED: Final = (
    "rootdisksize", "diskofferingid", "disksize", "securitygroupids", "overridediskofferingid", "keypairs",
    "affinitygroupids", "networkids",
)  # fmt: skip
_LISTS: Final = {"networkids": "networks", "affinitygroupids": "affinity_groups"}
"""Parameters that have a key of their own, which is a list."""
_OTHERWISE: Final = {"disksize": "size"}
"""Parameters that deployVirtualMachine calls otherwise."""
_NAME: Final = re.compile(r"[a-z][a-z0-9]*")


def deploy_keys(given: Mapping[str, str], before: Mapping[str, Plain]) -> dict[str, Plain]:
    """Return the keys of a profile that stand for parameters; they replace all that were given before.

    Raises:
        CloudstackFault: deployVirtualMachine has no such parameter, or another part of the profile decides it.
    """
    found: dict[str, Plain] = {"networks": before.get("networks", []), "affinity_groups": []}
    more: dict[str, Plain] = {}
    for name, value in given.items():
        lowered = name.lower()
        if lowered in _LISTS:
            found[_LISTS[lowered]] = [each.strip() for each in value.split(",") if each.strip()]
        elif lowered in SET_HERE or lowered == "details" or not _NAME.fullmatch(lowered) or not value:
            raise wrong(f"Unsupported otherdeployparams key: {name}. Supported values are {list(_SUPPORTED)}")
        else:
            more[_OTHERWISE.get(lowered, lowered)] = value
    if more or "parameters" in before:
        found["parameters"] = more
    return {name: value for name, value in found.items() if value != {}}


def shown_deploy_parameters(recipe: CloudstackRecipe, of_zone: Sequence[str]) -> Mapping[str, str]:
    """Return the parameters that a recipe stands for; not the networks that its zone gave it, which no client did."""
    names = {name: given for given, name in _OTHERWISE.items()}
    found = {names.get(name, name): value for name, value in recipe.parameters}
    if recipe.networks and recipe.networks != tuple(of_zone):
        found["networkids"] = ",".join(recipe.networks)
    if recipe.affinity_groups:
        found["affinitygroupids"] = ",".join(recipe.affinity_groups)
    return dict(sorted(found.items()))
