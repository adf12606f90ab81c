"""Gathers the parts of members, where something depends on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from config.errors import DriverError
from config.units import GroupId, MemberName, PartName
from handler.abreast import abreast
from handler.assembly import wants_parts
from handler.desired import Definition
from handler.orchestrators.interface import Orchestrator
from handler.orchestrators.parts import PartMaker
from handler.parts import MadePart, PartListing
from handler.world import Member

_Key = tuple[MemberName, PartName]


def with_parts(
    members: tuple[Member, ...], orchestrator: Orchestrator, group: GroupId, definition: Definition, workers: int
) -> tuple[Member, ...]:
    """Look for the parts of members whose steps depend on them. What the cloud does not say stays unknown."""
    wanted = {member.name: member for member in members if wants_parts(member, definition)}
    if not wanted or not isinstance(orchestrator, PartMaker):
        return members
    listed = dict(_listed(orchestrator, group))
    missing = [
        (member.name, name)
        for member in wanted.values()
        for name, _ in (() if member.record is None else member.record.parts)
        if (member.name, name) not in listed
    ]
    asked = abreast([partial(_asked, orchestrator, key) for key in missing], workers)
    found: dict[MemberName, dict[PartName, MadePart | None]] = {}
    for (whose, name), part in (*listed.items(), *(answer for said in asked for answer in said)):
        found.setdefault(whose, {})[name] = part
    return tuple(_fitted(member, found.get(member.name, {})) if member.name in wanted else member for member in members)


def _listed(orchestrator: PartMaker, group: GroupId) -> Sequence[tuple[_Key, MadePart]]:
    try:
        listing: PartListing = orchestrator.parts(group)
    except DriverError:
        return ()  # nothing was seen, so each is asked for by name
    return [((member, part.name), part) for member, part in listing.parts]


def _asked(orchestrator: PartMaker, key: _Key) -> tuple[tuple[_Key, MadePart | None], ...]:
    try:
        return ((key, orchestrator.find_part(*key)),)
    except DriverError:
        return ()  # nothing was proved


def _fitted(member: Member, own: Mapping[PartName, MadePart | None]) -> Member:
    return replace(
        member,
        parts=tuple(part for _, part in sorted(own.items()) if part is not None),
        lacking=tuple(sorted(name for name, part in own.items() if part is None)),
    )
