"""What it takes to declare other values of a group, and what the decision of the last tick would have been. Pure."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from aggregator.frames import WindowKey
from aggregator.specs import window_keys
from config.document.entities import Entity
from config.document.places import Plain, read_places
from config.document.splicing import spliced
from config.errors import DeclarationError, Refused
from config.merge import merge
from config.model.catalogue import Catalogue
from config.model.edits import used
from config.model.sections import Section
from config.model.where import Where, dotted
from config.units import GroupId
from handler.engine.declared import Declared
from handler.identity.grants import Grants
from handler.operations.declaration_proposals import owned, replaced
from handler.tuning.parameters import Parameter
from handler.tuning.preparing import DeclaredFile
from handler.tuning.results import diff
from trigger.explain.basis import Basis, rerun
from trigger.explain.words import sentence_of

Wanted = tuple[Parameter, float]
"""A parameter, and the value that it is to have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstDecision:
    """The decision of the last tick, by the values that were measured then; both in words."""

    declared: str
    changed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """A change of declared values that is not made so far."""

    patch: tuple[str, ...]
    """The lines of the file that change; empty: the file owns none of the values."""
    over_api: tuple[str, ...]
    """Each value that the API owns: ``conditions.busy-k4xw2.above: 80 → 70``."""
    groups: tuple[GroupId, ...]
    """All groups that it touches, since they use the same conditions or policies."""
    first: FirstDecision | None
    """``None``: not known, as after a start or where a window becomes another one."""


def wanted_of(parameters: Sequence[Parameter], values: Mapping[str, str]) -> tuple[Wanted, ...]:
    """Return the values that differ from what is declared.

    Raises:
        Refused: a value is none, or is not written in the declaration of the group.
    """
    known = {each.name: each for each in parameters}
    if unknown := sorted(values.keys() - known.keys()):
        raise Refused(f"{unknown[0]} is not written in the declaration of this group: there is no value to change")
    read = ((known[name], known[name].read(text)) for name, text in values.items())
    return tuple((parameter, value) for parameter, value in read if value != parameter.today)


def require_own(declared: Declared, wanted: Sequence[Wanted], grants: Grants) -> None:
    """Make sure that a person may see and change the entries that have these values.

    Raises:
        Refused: one of them belongs to an account that is not the person's as a whole.
    """
    for key in sorted({parameter.where[:2] for parameter, _ in wanted}):
        account = declared.account_of(key)
        if not grants.holds(account):
            raise Refused(f"{dotted(key)} belongs to the account {account}: a person of that account can change it")


def setting_change(
    declared: Declared, group: GroupId, wanted: Sequence[Wanted], text: str, basis: Basis | None
) -> SettingChange:
    """Return what it takes to declare values.

    Args:
        declared: what is declared.
        group: that the values are of.
        wanted: at least one.
        text: of the file, as it is now.
        basis: of the last tick's decision; ``None``: unknown.

    Raises:
        Refused: the rules of the file do not allow it, the file was edited since it was taken, or a value cannot be
            replaced where it stands.
    """
    of_api = [each for each in wanted if _is_of_api(declared, each[0])]
    of_file = [each for each in wanted if not _is_of_api(declared, each[0])]
    entities, file, after = {**declared.entities, **_replaced(declared, of_api)}, declared.file, text
    if of_file:
        after = _spliced(declared, of_file, text)
        file = read_places(after, declared.file.file)
    try:
        kept = [entity for key, entity in entities.items() if key not in declared.merged.quarantined]
        changed = merge(file, kept).catalogue
    except DeclarationError as error:
        raise Refused("; ".join(problem.message for problem in error.problems)) from error
    keys = {parameter.where[:2] for parameter, _ in wanted}
    return SettingChange(
        patch=tuple(diff(DeclaredFile(text=text, reading=declared.file, catalogue=declared.catalogue), after)),
        over_api=tuple(f"{each.name}: {each.text(each.today)} → {each.text(value)}" for each, value in of_api),
        groups=tuple(sorted(each for each, uses in used(declared.catalogue).items() if keys & uses)),
        first=None if basis is None else _first(group, declared.catalogue, changed, basis),
    )


def _is_of_api(declared: Declared, parameter: Parameter) -> bool:
    key = parameter.where[:2]
    return key in declared.entities and key not in declared.file.keys


def _spliced(declared: Declared, wanted: Sequence[Wanted], text: str) -> str:
    name = declared.file.file
    reading = read_places(text, name)
    if reading.data != declared.file.data:
        raise Refused(f"{name} was edited since it was taken: reload it first")
    return spliced(text, reading, {parameter.where: parameter.text(value) for parameter, value in wanted})


def _replaced(declared: Declared, wanted: Sequence[Wanted]) -> Mapping[Where, Entity]:
    """Return the entities of the API that have these values, with them."""
    bodies: dict[Where, dict[str, Plain]] = {}
    for parameter, value in wanted:
        section, name, *keys = parameter.where
        entity = owned(declared, Section(section), name)
        inside = bodies.setdefault(entity.key, copy.deepcopy(dict(entity.body)))
        for key in keys[:-1]:
            found = inside[key]
            inside = found if isinstance(found, dict) else {}
        inside[keys[-1]] = parameter.plain(value)
    return {key: replaced(declared, declared.entities[key], None, body)[key] for key, body in bodies.items()}


def _first(group: GroupId, before: Catalogue, after: Catalogue, basis: Basis) -> FirstDecision | None:
    """Decide about the last tick once more, by both declarations."""
    windows = list(_windows(before, group))
    if basis.cells is None or len(windows) != len(basis.cells) or windows != list(_windows(after, group)):
        return None
    return FirstDecision(declared=_decided(group, before, basis), changed=_decided(group, after, basis))


def _windows(catalogue: Catalogue, group: GroupId) -> Iterator[WindowKey]:
    declared = catalogue.groups[group]
    for policy in (catalogue.policies[name] for name in declared.policies):
        for name in policy.when:
            yield from window_keys(catalogue.conditions[name], policy, declared)


def _decided(group: GroupId, catalogue: Catalogue, basis: Basis) -> str:
    _, decision = rerun(catalogue, catalogue.groups[group], basis)
    before, after = decision.desired_from, decision.desired_to if decision.advised_to is None else decision.advised_to
    size = f"the size stays {after}" if before == after else f"{before} → {after}"
    return f"{sentence_of(decision.reason)}: {size}"
