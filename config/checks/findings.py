"""What a rule over several values finds; `config.checks.catalogue` and `config.checks.lint` turn it into problems."""

from __future__ import annotations

from dataclasses import dataclass

from config.build.targets import owner_of
from config.errors import Problem
from config.model.catalogue import Catalogue, Group, Site
from config.model.where import Where, dotted
from config.units import GroupId, PolicyId


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong at ``where``; of no interest if anything in ``leans`` was refused already."""

    where: Where
    message: str
    leans: tuple[Where, ...] = ()


def problem_of(catalogue: Catalogue, finding: Finding) -> Problem:
    """A finding, with the place in the file that it points at."""
    where = as_written(catalogue, finding.where)
    site = _site(catalogue, where)
    message = f"{dotted(where)}: {finding.message}"
    return Problem(file=site.file, line=site.line, column=site.column, message=message)


def as_written(catalogue: Catalogue, where: Where) -> Where:
    """The place in the file of a value that stands for something else there: `config.build.targets`."""
    match where:
        case ("policies" | "conditions") as section, name, *rest if "." in name:
            owner, _, side = name.partition(".")
            if ("policies", owner, "forecast") in catalogue.sites:
                kept = ("from",) if side == "level" else ()
                keys = _KEYS_OF_LEVELS if kept else _KEYS_OF_LOADS
                return "policies", owner, "forecast", "load", *kept, *(keys.get(key, key) for key in rest)
            kind = "target" if ("policies", owner, "target") in catalogue.sites else "pass_through"
            if section == "policies" and not rest:
                return "policies", owner
            if section == "policies":
                return "policies", owner, kind, side, *rest
            return "policies", owner, kind, *(_KEYS.get(key, key) for key in rest)
        case "groups", group, "policies", index, *rest:
            names = catalogue.groups[GroupId(group)].policies[: int(index) + 1]
            return "groups", group, "policies", str(sum(not name.endswith(".in") for name in names) - 1), *rest
        case _:
            return where


_KEYS = {"above": "value", "below": "value"}
_KEYS_OF_LOADS, _KEYS_OF_LEVELS = {"above": "each"}, {"above": "at"}


def followed_at(group: Group, policy: PolicyId) -> Where:
    """Where a group lists one of its policies, by whatever name."""
    return "groups", group.id, "policies", str(group.named.index(PolicyId(owner_of(policy))))


def _site(catalogue: Catalogue, where: Where) -> Site:
    """The place of a value; of what holds it, where a default was applied; the top of the file, where it is missing."""
    for length in range(len(where), 0, -1):
        if (site := catalogue.sites.get(where[:length])) is not None:
            return site
    file = next((site.file for site in catalogue.sites.values()), "-")
    return Site(file=file, line=1, column=1)
