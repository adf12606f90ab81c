"""One role → a group, its policies and their conditions, with an account of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from config.adjustments import Verb
from config.expressions import names_of
from config.model import OnVanish
from config.oneflow.dialects import other_readings
from config.oneflow.names import numbered
from config.oneflow.notes import Fate, Note
from config.oneflow.policies import Entry, Unmappable, action, condition, in_a_row, quiet_time
from config.oneflow.template import ElasticityPolicy, Role
from config.places import Plain
from config.units import Seconds, format_span

_ENDINGS: Mapping[Verb, str] = {Verb.ADD: "out", Verb.REMOVE: "in", Verb.SET: "set"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A policy and its condition, which have one name."""

    name: str
    verb: Verb
    entry: Entry
    condition: Entry
    attributes: tuple[str, ...]
    """What its expression names, in upper case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What became of a role."""

    name: str
    entry: Entry
    policies: tuple[Policy, ...]
    notes: tuple[Note, ...]


def group(role: Role, name: str, profile: str, interval: Seconds | None) -> Group:
    """Translate a role.

    Args:
        role: one that may scale, not virtual routers.
        name: what the group is to be called.
        profile: what its members are made of.
        interval: how often it is judged; ``None``: Trimtab's default.
    """
    policies: list[Policy] = []
    notes = [Note(fate=Fate.MAPPED, where=role.where, said=f"the role {role.name} → groups.{name}")]
    endings: Counter[Verb] = Counter()
    for written in role.elasticity:
        made = _policy(written, role, name, endings)
        if isinstance(made, Unmappable):
            notes.append(Note(fate=Fate.UNMAPPED, where=written.where, said=made.why))
        else:
            policies.append(made)
            notes += _told(written, made)
    for scheduled in role.scheduled:
        said = f"{scheduled.recurrence or scheduled.start_time}: policies by schedule are not supported in this version"
        notes.append(Note(fate=Fate.UNMAPPED, where=scheduled.where, said=said))
    low, high = _bounds(role)
    notes += _sizes(role, name, low, high)
    entry: dict[str, Plain] = {"profile": profile, "min": low, "max": high}
    if interval is not None:
        entry["interval"] = format_span(interval)
    if role.cooldown is not None:
        entry["quiet_time"] = format_span(role.cooldown)
    entry["on_vanish"] = OnVanish.SHRINK.value
    if policies:
        entry["policies"] = [policy.name for policy in policies]
    return Group(name=name, entry=entry, policies=tuple(policies), notes=tuple(notes))


def _policy(written: ElasticityPolicy, role: Role, group: str, endings: Counter[Verb]) -> Policy | Unmappable:
    does, asks = action(written.adjust), condition(written.expression)
    if isinstance(does, Unmappable):
        return does
    if isinstance(asks, Unmappable):
        return asks
    endings[does.verb] += 1
    name = numbered(f"{group}-{_ENDINGS[does.verb]}", endings[does.verb])
    return Policy(
        name=name,
        verb=does.verb,
        entry={"when": [name], **in_a_row(written), **does.entry, **quiet_time(written, role)},
        condition=asks,
        attributes=tuple(each.name for each in names_of(written.expression.tree)),
    )


def _told(written: ElasticityPolicy, made: Policy) -> Iterator[Note]:
    yield Note(fate=Fate.MAPPED, where=written.where, said=f"→ policies.{made.name}")
    where = (*written.where, "expression")
    yield from (Note(fate=Fate.KEPT, where=where, said=said) for said in other_readings(written.expression))


def _bounds(role: Role) -> tuple[int, int]:
    """Sizes that a role may have; where it does not say, the one that it has."""
    highest = role.cardinality if role.max_vms is None else role.max_vms
    low = min(role.cardinality, highest) if role.min_vms is None else role.min_vms
    return low, max(low, highest)


def _sizes(role: Role, name: str, low: int, high: int) -> Iterator[Note]:
    if role.min_vms is None or role.max_vms is None:
        said = f"it has no bounds, a group must: {low} to {high} hold it where it is, so widen them to scale by hand"
        yield Note(fate=Fate.DIFFERS, where=role.where, said=said)
    if role.cardinality > low:
        said = f"a new group begins with min: trimtab scale {name} {min(role.cardinality, high)} brings it there"
        yield Note(fate=Fate.UNMAPPED, where=(*role.where, "cardinality"), said=said)
