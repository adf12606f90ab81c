"""A service template → what of a declaration it comes to, and an account of each part of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from config.importers.oneflow import counters, roles
from config.importers.oneflow.names import group_names, service_name
from config.importers.oneflow.policies import Entry
from config.importers.oneflow.readings import readings
from config.importers.oneflow.template import Fate, Note, Role, Template
from config.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the template does not say."""

    profile: str | None = None
    """What members of all groups are made of; ``None``: each group has a profile of its own name."""
    interval: Seconds | None = None
    """How often groups are judged; ``None``: Trimtab's default."""
    timezone: str | None = None
    """Of OneFlow's server, in which schedules are read; ``None``: UTC."""
    counters: Iterable[str] = ()
    """Counters that are declared already."""
    on_opennebula: bool = False
    """Members are virtual machines of OpenNebula, which is asked for attributes as OneFlow asks it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What a template comes to. Clouds and profiles are still missing: no template knows them."""

    service: str
    document: Mapping[str, Mapping[str, Entry]]
    """Section → name → entry: counters, conditions, policies and groups."""
    profiles: Mapping[str, str | None]
    """Profiles that the groups name → the VM template that a role was made of, if it says."""
    notes: tuple[Note, ...]

    def of(self, fate: Fate) -> tuple[Note, ...]:
        """The notes of one kind, in the order of the template."""
        return tuple(note for note in self.notes if note.fate is fate)


def imported(template: Template, options: Options = Options()) -> Imported:
    """Translate a service template."""
    scaling = [role for role in template.roles if role.type == "vm"]
    names = group_names(role.name for role in scaling)
    service = service_name(template.name) if len(scaling) > 1 else None
    groups = [roles.group(role, names[role.name], _manner(options, names[role.name], service)) for role in scaling]
    policies = [policy for group in groups for policy in group.policies]
    attributes = (name for policy in policies for name in policy.attributes)
    measured = counters.counters_for(attributes, options.counters, on_opennebula=options.on_opennebula)
    notes = [
        *(note for group in groups for note in group.notes),
        *counters.remarks(measured),
        *readings(groups, options.timezone),
        *_left(template),
    ]
    return Imported(
        service=template.name,
        document={
            "counters": measured,
            "conditions": {policy.name: policy.condition for policy in policies},
            "policies": {policy.name: policy.entry for group in groups for policy in group.followed},
            "groups": {group.name: group.entry for group in groups},
        },
        profiles={options.profile or names[role.name]: role.template for role in reversed(scaling)},
        notes=tuple(notes),
    )


def _manner(options: Options, name: str, service: str | None) -> roles.Manner:
    return roles.Manner(
        profile=options.profile or name, interval=options.interval, timezone=options.timezone, service=service
    )


def _left(template: Template) -> Iterator[Note]:
    for role in template.roles:
        if role.type != "vm":
            yield _unmapped(role, f"the role {role.name} is of virtual routers, which do not scale")
    for leftover in template.leftovers:
        yield Note(fate=Fate.UNMAPPED, where=leftover.where, said=leftover.why)


def _unmapped(role: Role, said: str) -> Note:
    return Note(fate=Fate.UNMAPPED, where=role.where, said=said)
