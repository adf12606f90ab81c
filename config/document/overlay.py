"""Lay the entities of the API over a file, so that one document holds both. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from types import MappingProxyType

from config.document.confinement import Confinement
from config.document.entities import Entity
from config.document.places import ParsedText, Plain, walked
from config.errors import Problem
from config.model.catalogue import Site
from config.model.where import Where, dotted

OFFERED = frozenset({"sources", "counters", "conditions", "policies", "clouds", "balancers", "profiles"})
"""Those whose entries another account may use."""


def overlaid(file: ParsedText, entities: Iterable[Entity]) -> ParsedText:
    """Return the file with the entities in it, each under its id.

    An id that the file has already stays the file's: `clashes` names it.
    """
    data: dict[str, Plain] = dict(file.data)
    keys, values = dict(file.keys), dict(file.values)
    copied: set[str] = set()
    for entity in entities:
        section, name = entity.key
        entries = data.get(section)
        if entries is None:
            entries = data[section] = {}
            values.setdefault((section,), entity.site)
        if not isinstance(entries, dict) or entity.key in file.keys:
            continue
        if section not in copied:
            copied.add(section)
            entries = data[section] = dict(entries)
        body = dict(entity.body)
        entries[name] = body
        keys[entity.key] = entity.site
        for where, _ in walked(body, entity.key):
            values[where] = entity.site
    return replace(file, data=data, keys=MappingProxyType(keys), values=MappingProxyType(values))


def narrowed(file: ParsedText, keys: Collection[Where]) -> ParsedText:
    """Return the part of a file that has these entries and no others, as another file would say it."""
    data: dict[str, Plain] = {}
    for section, entries in file.data.items():
        if isinstance(entries, dict) and section in OFFERED:
            data[section] = {name: entry for name, entry in entries.items() if (section, name) in keys}
        elif section == "mibs":
            data[section] = entries
    return replace(file, data=data, keys=MappingProxyType({key: file.keys[key] for key in keys if key in file.keys}))


def clashes(file: ParsedText, entities: Iterable[Entity]) -> Iterator[tuple[Entity, Problem]]:
    """Yield each entity whose id stands in the file, too, with the problem."""
    for entity in entities:
        site = file.keys.get(entity.key)
        if site is not None:
            message = (
                f"{dotted(entity.key)} belongs to the API, at {place_of(entity.site)}: "
                "use another name here, or delete that one over the API first"
            )
            yield entity, file.problem(site, message)


def trespasses(file: ParsedText, entities: Iterable[Entity]) -> Iterator[Problem]:
    """Yield what entities of the API say that only the file may say."""
    confinement = Confinement.of(file.data)
    for entity in entities:
        for where, message in confinement.trespasses(entity.key, entity.body):
            yield file.problem(entity.site, f"{dotted(where)}: {message}")


def place_of(site: Site) -> str:
    """Return a place as people read it."""
    return f"{site.file}:{site.line}"
