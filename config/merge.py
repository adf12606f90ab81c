"""Lay the entities of the API over a file, and judge both as one declaration: the same checks, the same messages.

Entities of the API may use entries of the file, never the reverse. An entity that was sound before may be invalid
under a newer release, or because the file was edited while no daemon ran: it is quarantined then, never fatal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from config.checks.references import users
from config.document.entities import Entity, key_at
from config.document.overlay import clashes, overlaid, place_of, trespasses
from config.document.places import ParsedText
from config.errors import DeclarationError, Problem
from config.load import catalogue_of
from config.model.catalogue import Catalogue
from config.model.sections import Section
from config.model.where import Where, dotted
from config.units import CounterId


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """One declaration of a file and of the API."""

    catalogue: Catalogue
    quarantined: Mapping[Where, tuple[Problem, ...]]
    """The entities of the API that are not in the catalogue, and why."""


def merge(file: ParsedText, entities: Iterable[Entity], suspects: Collection[Where] = ()) -> Merged:
    """Judge a file and the entities of the API together.

    Args:
        file: as it was read.
        entities: everything that is declared over the API.
        suspects: those of them that are quarantined if they are unsound; all else is refused whole.

    Raises:
        DeclarationError: one problem per cause, in the file or at an entity that is no suspect.
    """
    kept = {entity.key: entity for entity in entities}
    quarantined: dict[Where, tuple[Problem, ...]] = {}
    while True:
        problems = _own_problems(file, kept.values())
        if not problems:
            try:
                catalogue = catalogue_of(overlaid(file, kept.values()) if kept else file)
            except DeclarationError as error:
                problems = [(key_at(problem.file), problem) for problem in error.problems]
            else:
                _refuse_reverse(catalogue, kept)
                return Merged(catalogue=_guarded(catalogue, kept), quarantined=MappingProxyType(quarantined))
        unsound = _unsound(file, problems, kept, suspects)
        for key, causes in unsound.items():
            quarantined[key] = causes
            del kept[key]


def _guarded(catalogue: Catalogue, entities: Mapping[Where, Entity]) -> Catalogue:
    """Return a catalogue that knows which of its counters are the API's."""
    return replace(
        catalogue,
        guarded=frozenset(CounterId(name) for section, name in entities if section == Section.COUNTERS.value),
    )


def _own_problems(file: ParsedText, entities: Collection[Entity]) -> list[tuple[Where | None, Problem]]:
    """Return the problems that show before both are judged as one, each with the entity that it concerns."""
    found: list[tuple[Where | None, Problem]] = [(entity.key, problem) for entity, problem in clashes(file, entities)]
    found.extend((key_at(problem.file), problem) for problem in trespasses(file, entities))
    return found


def _unsound(
    file: ParsedText,
    problems: Collection[tuple[Where | None, Problem]],
    kept: Mapping[Where, Entity],
    suspects: Collection[Where],
) -> Mapping[Where, tuple[Problem, ...]]:
    """Return the suspects that problems concern.

    Raises:
        DeclarationError: no suspect explains the problems.
    """
    unsound: dict[Where, list[Problem]] = {}
    for key, problem in problems:
        if key is not None and key in kept and key in suspects:
            unsound.setdefault(key, []).append(problem)
    everything = tuple(sorted(problem for _, problem in problems))
    if not unsound:
        catalogue_of(file)  # problems of the file itself are reported alone
        unsound = {key: list(everything) for key in kept if key in suspects}
    if not unsound:
        raise DeclarationError(everything)
    return {key: tuple(causes) for key, causes in unsound.items()}


def _refuse_reverse(catalogue: Catalogue, entities: Mapping[Where, Entity]) -> None:
    """Refuse entries of the file that use entities of the API.

    Raises:
        DeclarationError: with the places of both.
    """
    found: list[Problem] = []
    used_by = users(catalogue) if entities else {}
    for used, by in used_by.items():
        for user, where in by.items():
            if used in entities and user not in entities:
                site = catalogue.sites.get(where) or catalogue.sites[user]
                message = (
                    f"{dotted(where)}: {dotted(used)} belongs to the API, at {place_of(entities[used].site)}: the file "
                    "can use only what the file declares"
                )
                found.append(Problem(file=site.file, line=site.line, column=site.column, message=message))
    if found:
        raise DeclarationError(tuple(sorted(found)))


def losses(before: Catalogue, file: ParsedText, entities: Iterable[Entity]) -> Iterator[tuple[Where, Problem]]:
    """Yield each entity that uses an entry which an edit of the file takes away, with the places of both.

    Args:
        before: the catalogue in force.
        file: the file after the edit.
        entities: everything that is declared over the API.
    """
    own = {entity.key: entity for entity in entities}
    used_by = users(before) if own else {}
    for used, by in used_by.items():
        section = file.data.get(used[0])
        if used in own or (isinstance(section, dict) and used[1] in section):
            continue
        for user in by:
            if user in own and (site := before.sites.get(used)) is not None:
                message = (
                    f"{dotted(user)} uses {dotted(used)}, which stood at {place_of(site)} and is gone from the file: "
                    f"put it back, or change {dotted(user)} over the API first"
                )
                place = own[user].site
                yield user, Problem(file=place.file, line=place.line, column=place.column, message=message)
