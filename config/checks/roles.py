"""Roles of OneFlow are not shared: a node is one group's member."""

from __future__ import annotations

from collections.abc import Iterator

from config.checks.findings import Finding
from config.model.catalogue import Catalogue, OneflowRecipe
from config.units import CloudId, GroupId


def shared(catalogue: Catalogue) -> Iterator[Finding]:
    """Find groups whose members would be nodes of the same role."""
    whose: dict[tuple[CloudId, OneflowRecipe], GroupId] = {}
    for group in catalogue.groups.values():
        profile = catalogue.profiles.get(group.profile)
        if profile is None or not isinstance(profile.recipe, OneflowRecipe):
            continue
        first = whose.setdefault((profile.cloud, profile.recipe), group.id)
        if first != group.id:
            role = f"role {profile.recipe.role} of service {profile.recipe.service}"
            message = f"{role} is that of group {first}: a role has the members of one group"
            leans = (("groups", first, "profile"), ("profiles", profile.id))
            yield Finding(("groups", group.id, "profile"), message, leans)
