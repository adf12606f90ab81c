"""What it takes to declare other values of a group, and what the decision of the last tick would have been. Pure."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from aggregator.frames import WindowKey
from aggregator.specs import window_keys
from config.document.entities import Entity
from config.document.places import ParsedText, Plain, read_places
from config.document.splicing import scalar_at, spliced
from config.errors import DeclarationError, Refused
from config.merge import merge
from config.model.catalogue import Catalogue
from config.model.edits import used
from config.model.sections import Section
from config.model.where import Where, dotted
from config.units import GroupId
from handler.engine.declared import Declaration
from handler.identity.grants import Grants
from handler.operations.declaration_proposals import entries, owned, replaced
from handler.ports.settings import AppliedSettings, SettingsOwner, SettingValue
from handler.tuning.parameters import Parameter
from handler.tuning.preparing import DeclaredFile
from handler.tuning.results import diff
from trigger.explain.basis import Basis, rerun
from trigger.explain.words import sentence_of

Wanted = Mapping[Where, str]
"""Where each value is declared → what is to stand there, as YAML has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstDecision:
    """The decision of the last tick, by the values that were measured then; both in words."""

    declared: str
    changed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """A change of declared values that is not made so far."""

    owner: SettingsOwner
    """Of the values."""
    values: tuple[SettingValue, ...]
    patch: tuple[str, ...]
    """The lines of the file that change; empty: the file owns none of the values."""
    by_hand: bool
    """The file is not declared writable: a person applies the patch, and reloads."""
    over_api: tuple[str, ...]
    """Each value that the API owns: ``conditions.busy-k4xw2.above: 80 → 70``."""
    groups: tuple[GroupId, ...]
    """All groups that it touches, since they use the same conditions or policies."""
    first: FirstDecision | None
    """``None``: not known, as after a start or where a window becomes another one."""
    tag: str
    """Differs once the file or one of the entities was changed (RFC 9110, ``ETag``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingDraft:
    """A change with everything that it would write."""

    change: SettingChange
    text: str
    """Of the file."""
    entities: Mapping[Where, Entity]
    """All of the API's."""
    entries: Mapping[str, str]
    """Each entry that changes → a digest of what it becomes."""


def wanted_of(parameters: Sequence[Parameter], values: Mapping[str, str]) -> Wanted:
    """Return the values that differ from what is declared.

    Args:
        parameters: of a group.
        values: by name of a parameter, as a person writes them.

    Raises:
        Refused: a value is none, or is not written in the declaration of the group.
    """
    known = {each.name: each for each in parameters}
    if unknown := sorted(values.keys() - known.keys()):
        raise Refused(f"{unknown[0]} is not written in the declaration of this group: there is no value to change")
    read = ((known[name], known[name].read(text)) for name, text in values.items())
    return {parameter.where: parameter.text(value) for parameter, value in read if value != parameter.today}


def returning(declared: Declaration, applied: AppliedSettings) -> Wanted:
    """Return the values that were there before others were applied; of the file's, only if its patch was applied.

    Raises:
        Refused: what has these values was changed since, or is gone.
    """
    keys = {value.where[:2] for value in applied.values}
    keys -= {key for key in keys if applied.owner is SettingsOwner.BOTH and _is_unpatched(declared, applied, key)}
    now = _digests({key: entries(declared, Section(key[0])).get(key[1]) for key in keys})
    for key in sorted(keys):
        owner = SettingsOwner.API if _is_of_api(declared, key) else SettingsOwner.FILE
        if now[dotted(key)] != applied.entries[dotted(key)] or applied.owner not in {owner, SettingsOwner.BOTH}:
            raise Refused(
                f"{dotted(key)} has been changed since {applied.by} applied these values: going back would undo that, "
                "too; apply the values that are wanted instead"
            )
    return {value.where: value.before for value in applied.values if value.where[:2] in keys}


def _is_unpatched(declared: Declaration, applied: AppliedSettings, key: Where) -> bool:
    """Tell whether the file still has what it had before: the patch of it was not applied."""
    if key not in declared.file.keys:
        return False
    return all(
        _value(declared.file.data, value.where) == _read(value.before)
        for value in applied.values
        if value.where[:2] == key
    )


def require_own(declared: Declaration, wanted: Collection[Where], grants: Grants) -> None:
    """Make sure that a person may see and change the entries that have these values.

    Raises:
        Refused: one of them belongs to an account that is not the person's as a whole.
    """
    for key in sorted({where[:2] for where in wanted}):
        account = declared.account_of(key)
        if not grants.holds(account):
            raise Refused(f"{dotted(key)} belongs to the account {account}: a person of that account can change it")


def setting_draft(
    declared: Declaration, group: GroupId, wanted: Wanted, text: str, basis: Basis | None = None
) -> SettingDraft:
    """Return what it takes to declare values.

    Args:
        declared: what is declared.
        group: that the values are of.
        wanted: at least one value.
        text: of the file, as it is now.
        basis: of the last tick's decision; ``None``: unknown.

    Raises:
        Refused: the rules of the file do not allow it, the file was edited since it was taken, or a value cannot be
            replaced where it stands.
    """
    of_api = {where: value for where, value in wanted.items() if _is_of_api(declared, where[:2])}
    of_file = {where: value for where, value in wanted.items() if where not in of_api}
    values = [*_of_file(declared, of_file, text), *_of_api(declared, of_api)]
    entities, file, after = {**declared.entities, **_replaced(declared, of_api)}, declared.file, text
    if of_file:
        after = spliced(text, read_places(text, declared.file.file), of_file)
        file = read_places(after, declared.file.file)
    try:
        kept = [entity for key, entity in entities.items() if key not in declared.merged.quarantined]
        changed = merge(file, kept).catalogue
    except DeclarationError as error:
        raise Refused("; ".join(problem.message for problem in error.problems)) from error
    keys = {where[:2] for where in wanted}
    change = SettingChange(
        owner=SettingsOwner.BOTH if of_file and of_api else SettingsOwner.API if of_api else SettingsOwner.FILE,
        values=tuple(values),
        patch=tuple(diff(DeclaredFile(text=text, reading=declared.file, catalogue=declared.catalogue), after)),
        by_hand=bool(of_file) and not declared.catalogue.writable,
        over_api=tuple(value.words for value in values if value.where in of_api),
        groups=tuple(sorted(each for each, uses in used(declared.catalogue).items() if keys & uses)),
        first=None if basis is None else _first(group, declared.catalogue, changed, basis),
        tag=_tag(declared, keys, text),
    )
    entries_after = _digests(_documents(file, entities, keys))
    return SettingDraft(change=change, text=after, entities=entities, entries=entries_after)


def _is_of_api(declared: Declaration, key: Where) -> bool:
    return key in declared.entities and key not in declared.file.keys


def _of_file(declared: Declaration, wanted: Wanted, text: str) -> Iterator[SettingValue]:
    if not wanted:
        return
    name = declared.file.file
    reading = read_places(text, name)
    if reading.data != declared.file.data:
        raise Refused(f"{name} was edited since it was taken: reload it first")
    for where, value in wanted.items():
        yield SettingValue(where=where, before=scalar_at(text, reading, where), after=value)


def _of_api(declared: Declaration, wanted: Wanted) -> Iterator[SettingValue]:
    for where, value in wanted.items():
        *around, key = where[2:]
        inside: Mapping[str, Plain] = owned(declared, Section(where[0]), where[1]).body
        for each in around:
            inside = _mapping(inside[each])
        yield SettingValue(where=where, before=_written(inside[key]), after=value)


def _replaced(declared: Declaration, wanted: Wanted) -> Mapping[Where, Entity]:
    """Return the entities of the API that have these values, with them."""
    bodies: dict[Where, dict[str, Plain]] = {}
    for where, value in wanted.items():
        *around, key = where[2:]
        entity = owned(declared, Section(where[0]), where[1])
        inside = bodies.setdefault(entity.key, copy.deepcopy(dict(entity.body)))
        for each in around:
            inside = _mapping(inside[each])
        inside[key] = _read(value)
    return {key: replaced(declared, declared.entities[key], None, body)[key] for key, body in bodies.items()}


def _value(data: Mapping[str, Plain], where: Where) -> Plain:
    for key in where[:-1]:
        data = _mapping(data.get(key))
    return data.get(where[-1])


def _mapping(value: Plain) -> dict[str, Plain]:
    return value if isinstance(value, dict) else {}


def _read(text: str) -> Plain:
    """Read a value as YAML has it."""
    return read_places(f"value: {text}\n", "").data["value"]


def _written(value: Plain) -> str:
    """Write a value so that YAML reads the same."""
    plain = str(value)
    return plain if isinstance(value, str) and _is_plain(plain) else json.dumps(value)


def _is_plain(text: str) -> bool:
    try:
        return _read(text) == text
    except DeclarationError:
        return False


def _documents(file: ParsedText, entities: Mapping[Where, Entity], keys: Collection[Where]) -> Mapping[Where, object]:
    """Return the documents of some entries as they are declared."""
    return {
        key: _mapping(file.data[key[0]])[key[1]] if key in file.keys else entities[key].body for key in sorted(keys)
    }


def _digests(documents: Mapping[Where, object]) -> Mapping[str, str]:
    """Return a digest of each document, whatever its layout."""
    return {
        dotted(key): hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:32]
        for key, document in documents.items()
    }


def _tag(declared: Declaration, keys: Collection[Where], text: str) -> str:
    revisions = [declared.entities[key].revision for key in sorted(keys) if _is_of_api(declared, key)]
    return f'"{hashlib.sha256(json.dumps([text, revisions]).encode()).hexdigest()[:32]}"'


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
