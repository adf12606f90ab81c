"""One role → a group, its policies and their conditions, with an account of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from config.document.places import Plain
from config.importers.oneflow import schedules
from config.importers.oneflow.dialects import other_readings
from config.importers.oneflow.names import numbered
from config.importers.oneflow.policies import Entry, Unmappable, action, condition, in_a_row, quiet_time
from config.importers.oneflow.template import ElasticityPolicy, Note, NoteKind, OneflowRole, ScheduledPolicy
from config.model.adjustments import AdjustmentVerb
from config.model.catalogue import OnVanish
from config.model.expressions import names_of
from config.units import Seconds, format_span

_ENDINGS: Mapping[AdjustmentVerb, str] = {
    AdjustmentVerb.ADD: "out",
    AdjustmentVerb.REMOVE: "in",
    AdjustmentVerb.SET: "set",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedPolicy:
    """A policy and its condition, which have one name."""

    name: str
    verb: AdjustmentVerb
    entry: Entry
    condition: Entry
    attributes: tuple[str, ...]
    """What its expression names, in upper case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """A policy with a schedule."""

    name: str
    verb: AdjustmentVerb
    entry: Entry
    local: bool
    """The zone of OneFlow's server decides when it is due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedGroup:
    """What became of a role."""

    name: str
    entry: Entry
    scheduled: tuple[Scheduled, ...]
    policies: tuple[ImportedPolicy, ...]
    notes: tuple[Note, ...]

    @property
    def followed(self) -> tuple[Scheduled | ImportedPolicy, ...]:
        """Its policies of both kinds, in the order in which OneFlow looks at them."""
        return (*self.scheduled, *self.policies)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """What a group has that its role does not say."""

    profile: str
    """What its members are made of."""
    interval: Seconds | None = None
    """How often it is judged; ``None``: Trimtab's default."""
    timezone: str | None = None
    """Of OneFlow's server; ``None``: UTC."""
    service: str | None = None
    """What it shares with other groups; ``None``: there are none."""


def group(role: OneflowRole, name: str, manner: Manner) -> ImportedGroup:
    """Translate a role, one that may scale, to a group of this name."""
    notes = [Note(kind=NoteKind.MAPPED, where=role.where, text=f"the role {role.name} → groups.{name}")]
    scheduled = tuple(_all_scheduled(role, name, manner.timezone, notes))
    policies = tuple(_policies(role, name, notes))
    low, high = _bounds(role)
    notes += _sizes(role, name, low, high)
    entry: dict[str, Plain] = {"profile": manner.profile, "min": low, "max": high}
    if role.cardinality > low:
        entry["initial"] = min(role.cardinality, high)
    if manner.interval is not None:
        entry["interval"] = format_span(manner.interval)
    if role.cooldown is not None:
        entry["quiet_time"] = format_span(role.cooldown)
    if manner.service is not None:
        entry["service"] = manner.service
    entry["on_vanish"] = OnVanish.SHRINK.value
    if scheduled or policies:
        entry["policies"] = [*(policy.name for policy in scheduled), *(policy.name for policy in policies)]
    return ImportedGroup(name=name, entry=entry, scheduled=scheduled, policies=policies, notes=tuple(notes))


def _all_scheduled(role: OneflowRole, group: str, timezone: str | None, notes: list[Note]) -> Iterator[Scheduled]:
    """In the order of the role, before the others: so OneFlow looks at them."""
    number = 0
    for written in role.scheduled:
        made = _scheduled(written, role, numbered(f"{group}-schedule", number + 1), timezone)
        if isinstance(made, Unmappable):
            notes.append(Note(kind=NoteKind.UNMAPPED, where=written.where, text=made.why))
            continue
        number += 1
        notes.append(Note(kind=NoteKind.MAPPED, where=written.where, text=f"→ policies.{made.name}"))
        notes += (
            Note(kind=NoteKind.KEPT, where=written.where, text=text) for text in schedules.other_readings(written)
        )
        yield made


def _scheduled(written: ScheduledPolicy, role: OneflowRole, name: str, timezone: str | None) -> Scheduled | Unmappable:
    does, when = action(written.adjust), schedules.times(written, timezone)
    if isinstance(does, Unmappable):
        return does
    if isinstance(when, Unmappable):
        return when
    entry = {**when, **does.entry, **schedules.MISSED, **quiet_time(written, role)}
    return Scheduled(name=name, verb=does.verb, entry=entry, local=schedules.is_local(written))


def _policies(role: OneflowRole, group: str, notes: list[Note]) -> Iterator[ImportedPolicy]:
    endings: Counter[AdjustmentVerb] = Counter()
    for written in role.elasticity:
        made = _policy(written, role, group, endings)
        if isinstance(made, Unmappable):
            notes.append(Note(kind=NoteKind.UNMAPPED, where=written.where, text=made.why))
        else:
            notes += _notes_on(written, made)
            yield made


def _policy(
    written: ElasticityPolicy, role: OneflowRole, group: str, endings: Counter[AdjustmentVerb]
) -> ImportedPolicy | Unmappable:
    does, asks = action(written.adjust), condition(written.expression)
    if isinstance(does, Unmappable):
        return does
    if isinstance(asks, Unmappable):
        return asks
    endings[does.verb] += 1
    name = numbered(f"{group}-{_ENDINGS[does.verb]}", endings[does.verb])
    return ImportedPolicy(
        name=name,
        verb=does.verb,
        entry={"when": [name], **in_a_row(written), **does.entry, **quiet_time(written, role)},
        condition=asks,
        attributes=tuple(each.name for each in names_of(written.expression.tree)),
    )


def _notes_on(written: ElasticityPolicy, made: ImportedPolicy) -> Iterator[Note]:
    yield Note(kind=NoteKind.MAPPED, where=written.where, text=f"→ policies.{made.name}")
    where = (*written.where, "expression")
    yield from (Note(kind=NoteKind.KEPT, where=where, text=text) for text in other_readings(written.expression))


def _bounds(role: OneflowRole) -> tuple[int, int]:
    """Sizes that a role may have; where it does not say, the one that it has."""
    highest = role.cardinality if role.max_vms is None else role.max_vms
    low = min(role.cardinality, highest) if role.min_vms is None else role.min_vms
    return low, max(low, highest)


def _sizes(role: OneflowRole, name: str, low: int, high: int) -> Iterator[Note]:
    if role.min_vms is None or role.max_vms is None:
        text = f"it has no bounds, a group must: {low} to {high} hold it where it is, so widen them to scale by hand"
        yield Note(kind=NoteKind.DIFFERS, where=role.where, text=text)
    if role.cardinality > low:
        yield Note(kind=NoteKind.MAPPED, where=(*role.where, "cardinality"), text=f"→ groups.{name}.initial")
