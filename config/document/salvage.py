"""What can still be judged of a file with faults, so that one reading reports them all.

A wrong value is replaced by its key's own example, a misspelt key by the one that is meant, and an entity that cannot
be corrected so is taken out whole. `Salvage.refused` names all of it: no later problem may lean on what stands there.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from config.counters.objects import Lexicon
from config.document.fields import example_at, mapping_at
from config.document.file import Document
from config.document.places import Plain
from config.document.profile_keys import known_keys
from config.document.wording import place
from config.model.where import Where, nearest_of

_ENTITY = 2
"""Length of the path to an entity: section and id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvage:
    """A valid document in place of a faulty one."""

    document: Document
    refused: frozenset[Where]


def salvage(data: dict[str, Plain], errors: Sequence[ErrorDetails], lexicon: Lexicon) -> Salvage:
    """Repair a file's data as far as possible. ``data`` is left as it is, and objects are called as in ``lexicon``."""
    corrected, refused = copy.deepcopy(data), set[Where]()
    for error in errors:
        refused |= _correct(corrected, error)
    for _ in range(_ENTITY):
        try:
            return Salvage(document=Document.model_validate(corrected, context=lexicon), refused=frozenset(refused))
        except ValidationError as still:
            for error in still.errors(include_url=False):
                where = place(error)[:_ENTITY]
                _remove(corrected, where)
                refused.add(where)
    everything = frozenset((section,) for section in Document.model_fields)
    return Salvage(document=Document(), refused=everything)


def _correct(data: dict[str, Plain], error: ErrorDetails) -> set[Where]:
    """Undo one fault; returns the places that no longer say what the file says."""
    where = place(error)
    if error["type"] == "extra_forbidden":
        return _correct_key(data, where)
    for length in range(len(where), _ENTITY, -1):
        example = example_at(where[:length])
        if example is not None:
            _replace(data, where[:length], copy.deepcopy(example))
            return {where[:length]}
    _remove(data, where[:_ENTITY])
    return {where[:_ENTITY]}


def _correct_key(data: dict[str, Plain], where: Where) -> set[Where]:
    """Take a stray key for the one that it was meant to be, if that is missing; else drop it."""
    holder, owner = _holder(data, where), mapping_at(where[:-1])
    meant = nearest_of(where[-1], known_keys(where[:-1], owner.keys(), data)) if owner else None
    value = holder.pop(where[-1], None) if isinstance(holder, dict) else None
    if meant is None:
        return {where}
    if isinstance(holder, dict) and meant not in holder:
        holder[meant] = value
    return {where, (*where[:-1], meant)}


def _holder(data: dict[str, Plain], where: Where) -> Plain:
    holder: Plain = data
    for part in where[:-1]:
        match holder:
            case dict():
                holder = holder.get(part)
            case list() if part.isdigit() and int(part) < len(holder):
                holder = holder[int(part)]
            case _:
                return None
    return holder


def _remove(data: dict[str, Plain], where: Where) -> None:
    holder = _holder(data, where)
    if isinstance(holder, dict) and where:
        holder.pop(where[-1], None)


def _replace(data: dict[str, Plain], where: Where, value: object) -> None:
    holder = _holder(data, where)
    if isinstance(holder, dict):
        holder[where[-1]] = value  # type: ignore[assignment]  # examples are plain values
