"""What requests want to be declared over the API, given what is declared. Pure: the engine judges and applies it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias, cast

from config.checks.references import users
from config.document.entities import Entity, canonical, checked_name, derived_id
from config.document.naming import with_ids
from config.document.overlay import place_of
from config.document.places import Plain
from config.errors import Refused
from config.model.sections import Section
from config.model.where import Where, dotted
from config.units import ROOT_ACCOUNT, AccountId
from handler.engine.declared import Declaration
from handler.operations.lookup import NoSuch, nearest
from handler.operations.size_tags import ChangedSince, matches_revision

Body: TypeAlias = Mapping[str, object]
"""A document, as JSON has it."""
Entities: TypeAlias = Mapping[Where, Entity]


class _Entries(Mapping[str, Mapping[str, Plain]]):
    """The documents of a section by id. Each is read when it is looked at: there are thousands, and one is wanted."""

    def __init__(self, declared: Declaration, section: Section) -> None:
        of_file = declared.file.data.get(section.value)
        self._of_file = of_file if isinstance(of_file, dict) else {}
        self._of_api, self._section = declared.entities, section.value

    def __getitem__(self, id: str) -> Mapping[str, Plain]:
        found = self._of_file.get(id)
        return found if isinstance(found, dict) else self._of_api[self._section, id].body

    def __contains__(self, id: object) -> bool:
        return isinstance(self._of_file.get(str(id)), dict) or (self._section, id) in self._of_api

    def __iter__(self) -> Iterator[str]:
        of_api = dict.fromkeys(name for section, name in self._of_api if section == self._section)
        yield from of_api
        yield from (name for name, entry in self._of_file.items() if isinstance(entry, dict) and name not in of_api)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def entries(declared: Declaration, section: Section) -> Mapping[str, Mapping[str, Plain]]:
    """Return the documents of a section by id: the file's, and those of the API."""
    return _Entries(declared, section)


def require(declared: Declaration, section: Section, id: str) -> None:
    """Check that something is declared.

    Raises:
        NoSuch: it is not.
    """
    known = entries(declared, section)
    if id not in known:
        raise NoSuch(f"{section.value} has no {id}{nearest(id, known)}")


def owned(declared: Declaration, section: Section, id: str) -> Entity:
    """Return an entity of the API.

    Raises:
        NoSuch: there is none.
        Refused: the file owns it; the message has the place.
    """
    require(declared, section, id)
    entity = declared.entities.get((section.value, id))
    if entity is None:
        _refuse_of_file(declared, section, id, "change it there, and reload")
        raise NoSuch(f"{section.value} has no {id}")
    return entity


def _refuse_of_file(declared: Declaration, section: Section, id: str, remedy: str) -> None:
    site = declared.file.keys.get((section.value, id))
    if site is not None:
        raise Refused(f"{section.value}.{id} belongs to the file, at {place_of(site)}: {remedy}")


def made(  # an entity's parts
    declared: Declaration, account: AccountId, section: Section, name: str, body: Body, reserved: Collection[str]
) -> Entities:
    """Return what is declared with one entity more.

    Args:
        declared: what is declared.
        account: that it belongs to.
        section: where it goes.
        name: its display name.
        body: its document.
        reserved: groups that exist, whether declared or not: a new one does not take their id.

    Raises:
        Refused: the name or the document is none, or the name is taken.
    """
    return _with(declared, account, {(section, name): body}, reserved)


def unchanged(entity: Entity, if_match: str | None) -> Entity:
    """Return an entity that is still what its caller has read.

    Raises:
        ChangedSince: another revision wrote it since.
    """
    if not matches_revision(if_match, entity.revision):
        raise ChangedSince(
            f"{dotted(entity.key)} has changed since the caller read it: {place_of(entity.site)} wrote it now"
        )
    return entity


def replaced(declared: Declaration, before: Entity, name: str | None, body: Body) -> Entities:
    """Return what is declared with another document for one entity, and another name if one is given.

    Raises:
        Refused: the name or the document is none, or the name is taken.
    """
    section = before.section
    wanted = before.name if name is None else checked_name(name)
    if wanted != before.name:
        _refuse_taken(declared, declared.entities, before.account, section, wanted)
    text = _text(declared.entities, before, body, declared)
    entity = replace(before, name=wanted, text=text)
    return {**declared.entities, entity.key: entity}


def deleted(declared: Declaration, entity: Entity) -> Entities:
    """Return what is declared without one entity.

    Raises:
        Refused: another entity uses it.
    """
    in_force = (
        entity.key not in declared.merged.quarantined
    )  # else the users are those of the file's, if it took the id
    users_of = users(declared.catalogue).get(entity.key, {}) if in_force else {}
    if users_of:
        named = ", ".join(f"{dotted(user)} ({place_of(declared.catalogue.sites[user])})" for user in sorted(users_of))
        raise Refused(f"{dotted(entity.key)} is used by {named}: change or delete that first")
    return {key: each for key, each in declared.entities.items() if key != entity.key}


def applied(
    declared: Declaration, account: AccountId, sections: Mapping[Section, Mapping[str, Body]], reserved: Collection[str]
) -> Entities:
    """Return what is declared with several entities of an account made or replaced.

    A key that is the id or the display name of one of its entities replaces its document; any other makes a new one,
    of that display name. References among them may be display names, in any order.

    Raises:
        Refused: as `made`.
    """
    wanted = {(section, name): body for section, bodies in sections.items() for name, body in bodies.items()}
    return _with(declared, account, wanted, reserved, replacing=True)


def _with(
    declared: Declaration,
    account: AccountId,
    wanted: Mapping[tuple[Section, str], Body],
    reserved: Collection[str],
    *,
    replacing: bool = False,
) -> Entities:
    """Give every entity its id first, since they may name each other; then write their documents."""
    found, bodies = dict(declared.entities), dict[Where, Body]()
    for (section, given), body in wanted.items():
        name = checked_name(given)
        entity = _known(found, account, section, name) if replacing else None
        if entity is None:
            _refuse_taken(declared, found, account, section, name)
            taken = {*entries(declared, section), *(key[1] for key in found if key[0] == section.value)}
            taken |= {*reserved} if section is Section.GROUPS else set()
            made_id = derived_id(section, name, taken, account)
            entity = Entity(section=section, id=made_id, name=name, text="{}", revision=0, account=account)
        if entity.key in bodies:
            raise Refused(f"{dotted(entity.key)} is given twice, by its id and by its name: give it once")
        found[entity.key], bodies[entity.key] = entity, body
    for key, body in bodies.items():
        found[key] = replace(found[key], text=_text(found, found[key], body, declared))
    return found


def _known(entities: Entities, account: AccountId, section: Section, name: str) -> Entity | None:
    """Return the account's entity with this id, or else with this display name."""
    own = [each for each in entities.values() if each.section is section and each.account == account]
    by_id = (each for each in own if each.id == name)
    return next(by_id, None) or next((each for each in own if each.name == name), None)


def _refuse_taken(declared: Declaration, entities: Entities, account: AccountId, section: Section, name: str) -> None:
    if account == ROOT_ACCOUNT:
        _refuse_of_file(declared, section, name, "use another name")
    holder = _known(entities, account, section, name)
    if holder is not None:
        raise Refused(f"the name {name!r} is taken, by {place_of(holder.site)}: use another name, or replace that one")


def _text(entities: Entities, entity: Entity, body: Body, declared: Declaration) -> str:
    """Return a document as it is kept, with ids for display names. Raises as `made`.

    What the entity names already stays what it is: a document may be written back as it was read, though an id of
    account root's in it is a display name of the account's own, too.
    """
    plain = cast("Mapping[str, Plain]", body)
    canonical(plain)  # within bounds, before anything walks through it
    id_of, kept = _reader(entities, entity.account, declared), _named(entity.section, entity.body)
    return canonical(
        with_ids(entity.section, plain, lambda named, name: name if (named, name) in kept else id_of(named, name))
    )


def _named(section: Section, body: Mapping[str, Plain]) -> Collection[tuple[Section, str]]:
    """Return what a document that is kept names, by ids."""
    found = set[tuple[Section, str]]()

    def noted(named: Section, name: str) -> str:
        found.add((named, name))
        return name

    with_ids(section, body, noted)
    return found


def _reader(entities: Entities, account: AccountId, declared: Declaration) -> Callable[[Section, str], str]:
    """Return what reads a reference of an account's: it returns the id for a display name, and an id as it is."""

    def id_of(named: Section, name: str) -> str:
        is_of_file = account == ROOT_ACCOUNT and (named.value, name) in declared.file.keys
        entity = None if is_of_file else _known(entities, account, named, name)
        return name if entity is None else entity.id

    return id_of


def misread(declared: Declaration, account: AccountId, section: Section, body: Body) -> str:
    """Return an id in a document that would be read as a display name of the account's; empty: there is none."""
    id_of, found = _reader(declared.entities, account, declared), list[str]()

    def looked_up(named: Section, name: str) -> str:
        if id_of(named, name) != name:
            found.append(name)
        return name

    with_ids(section, cast("Mapping[str, Plain]", body), looked_up)
    return next(iter(found), "")
