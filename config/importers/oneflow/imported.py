"""A service template → the parts of a declaration that it gives, and a note on each of its own parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from config.importers.oneflow import counters, roles
from config.importers.oneflow.names import group_names, service_name
from config.importers.oneflow.policies import Entry
from config.importers.oneflow.roles import ImportedGroup
from config.importers.oneflow.template import Note, NoteKind, OneflowRole, Template
from config.model.adjustments import AdjustmentVerb
from config.units import Seconds


def readings(groups: Sequence[ImportedGroup], timezone: str | None) -> Iterator[Note]:
    """Say both, of what the groups have and of nothing else; ``timezone``: where schedules are read."""
    yield from (Note(kind=NoteKind.KEPT, where=(), text=text) for text in _kept(groups))
    yield from (Note(kind=NoteKind.DIFFERS, where=(), text=text) for text in _differs(groups, timezone))


def _kept(groups: Sequence[ImportedGroup]) -> Iterator[str]:
    policies = [policy for group in groups for policy in group.policies]
    followed = [policy for group in groups for policy in group.followed]
    if policies:
        yield (
            "dialect: oneflow. No precedence, ! negates all to its right, means are rounded to two decimals, "
            "and what is absent compares false"
        )
    if any("rounding" in policy.entry for policy in followed):
        yield "rounding: truncate. A percentage is rounded toward zero, and is one member at least"
    if any("in_a_row" in policy.entry for policy in policies):
        yield "in_a_row: period_number and period. A change of size by a policy sets the counts back to zero"
    if groups:
        yield "on_vanish: shrink. A member that is gone lowers the size, and min brings it back"
        yield "victims: oldest, the default. The oldest members leave first"
    if len(groups) > 1:
        yield "service: the groups of one service change size one at a time"
    if len(followed) > len(policies):
        yield "missed: once. A time that passed while the daemon did not run is met once, late"
    if followed:
        yield "quiet_time: the policy's cooldown, else the role's; left out, it is 5m, as the server's cooldown is"


def _differs(groups: Sequence[ImportedGroup], timezone: str | None) -> Iterator[str]:
    followed = [policy for group in groups for policy in group.followed]
    yield from _of_policies(groups)
    if timezone is None and any(policy.local for group in groups for policy in group.scheduled):
        yield "times are UTC, where OneFlow reads them in the zone of its server: --timezone names it"
    if any(policy.verb is AdjustmentVerb.SET for policy in followed):
        yield "set: a size above max is brought to max, as in OneFlow; one below min to min, where OneFlow does nothing"
    if followed:
        yield (
            "a quiet time begins with the decision and is the group's own, where a cooldown begins when VMs run and "
            "stops the whole service; growth does not wait for the quiet time of a scale-in"
        )
    if len(groups) > 1:
        yield "groups take turns, and what waits is kept ten minutes; in OneFlow the first role may starve the others"


def _of_policies(groups: Sequence[ImportedGroup]) -> Iterator[str]:
    """Of policies with conditions."""
    policies = [policy for group in groups for policy in group.policies]
    shrinking = [policy.name for policy in policies if policy.verb is not AdjustmentVerb.ADD]
    if any(len(group.followed) > 1 for group in groups):
        yield "the order of policies means nothing: out beats in, and of several outs the largest wins"
    for group in groups:
        names = [policy.name for policy in group.policies if policy.verb is not AdjustmentVerb.ADD]
        if len(names) > 1:
            yield f"{group.name} loses members only when all of these are ready, not one: {', '.join(names)}"
    if shrinking:
        yield (
            "no member is removed because a value is absent: a policy that may remove members waits until every member "
            f"has answered; quorum in its condition says how many are enough ({', '.join(shrinking)})"
        )
    if policies:
        yield "a new member counts in averages only after warm_up, 60s unless written; in OneFlow at once"
        yield "policies are judged at every interval, 30s unless written; OneFlow's own is 90s unless changed"
        yield "a pushed value counts for 3 intervals (freshness); OneFlow keeps it until the next one"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
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
    """The declaration of a template. Clouds and profiles are still missing: no template has them."""

    service: str
    document: Mapping[str, Mapping[str, Entry]]
    """Section → name → entry: counters, conditions, policies and groups."""
    profiles: Mapping[str, str | None]
    """Profiles that the groups name → the VM template that a role was made of, if it says."""
    notes: tuple[Note, ...]

    def of(self, kind: NoteKind) -> tuple[Note, ...]:
        """The notes of one kind, in the order of the template."""
        return tuple(note for note in self.notes if note.kind is kind)


def imported(template: Template, options: ImportOptions = ImportOptions()) -> Imported:
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
        *counters.notes_on(measured),
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


def _manner(options: ImportOptions, name: str, service: str | None) -> roles.Manner:
    return roles.Manner(
        profile=options.profile or name, interval=options.interval, timezone=options.timezone, service=service
    )


def _left(template: Template) -> Iterator[Note]:
    for role in template.roles:
        if role.type != "vm":
            yield _unmapped(role, f"the role {role.name} is of virtual routers, which do not scale")
    for leftover in template.leftovers:
        yield Note(kind=NoteKind.UNMAPPED, where=leftover.where, text=leftover.why)


def _unmapped(role: OneflowRole, text: str) -> Note:
    return Note(kind=NoteKind.UNMAPPED, where=role.where, text=text)
