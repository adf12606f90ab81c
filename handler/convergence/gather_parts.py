"""Gathers the parts of members, where something depends on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from collector.clients.concurrency import in_parallel
from config.errors import DriverError
from config.units import GroupId, MemberName, PartName
from handler.convergence.pass_threads import waiting
from handler.planning.desired import Definition
from handler.planning.member_resources import wants_parts
from handler.planning.world import MadePart, Member, PartListing
from handler.ports.orchestrator import Orchestrator
from handler.ports.parts import PartMaker

_Key = tuple[MemberName, PartName]
_Answer = tuple[_Key, MadePart | None]

Admitted = Callable[[], AbstractContextManager[bool]]
"""Around a question: whether the cloud may be asked now."""


def with_parts(
    members: tuple[Member, ...], orchestrator: Orchestrator, definition: Definition, admitted: Admitted, workers: int
) -> tuple[Member, ...]:
    """List the parts of members whose steps depend on them. Without an answer of the cloud they stay unknown."""
    wanted = {member.name: member for member in members if wants_parts(member, definition)}
    if not wanted:
        return members
    found: dict[MemberName, dict[PartName, MadePart | None]] = {}
    with waiting():
        answers = list(_answers(wanted.values(), orchestrator, definition, admitted, workers))
    for (whose, name), part in answers:
        found.setdefault(whose, {})[name] = part
    return tuple(_fitted(member, found.get(member.name, {})) if member.name in wanted else member for member in members)


def _answers(
    members: Iterable[Member], orchestrator: Orchestrator, definition: Definition, admitted: Admitted, workers: int
) -> Iterator[_Answer]:
    if not isinstance(orchestrator, PartMaker):  # there is no part, whatever was to be made
        yield from ((key, None) for member in members for key in _expected(member, definition, complete=True))
        return
    listing = _listed(orchestrator, definition.group.id, admitted)
    listed = {(member, part.name): part for member, part in listing.parts}
    yield from listed.items()
    expected = (key for member in members for key in _expected(member, definition, complete=listing.complete))
    missing = [key for key in expected if key not in listed]
    for answered in in_parallel([partial(_asked, orchestrator, key, admitted) for key in missing], workers):
        yield from answered


def _expected(member: Member, definition: Definition, *, complete: bool) -> Iterator[_Key]:
    """Return the parts to query by name: for a member without a record all declared ones, after a complete listing."""
    if member.record is not None:
        yield from ((member.name, name) for name, _ in member.record.parts)
    elif complete:
        yield from ((member.name, part.name) for part in definition.profile.parts)


def _listed(orchestrator: PartMaker, group: GroupId, admitted: Admitted) -> PartListing:
    """What is listed; if that fails nothing was seen, and each is asked for by name."""
    try:
        with admitted() as may:
            return orchestrator.parts(group) if may else PartListing(parts=(), complete=False)
    except DriverError as error:
        return PartListing(parts=(), complete=False, because=str(error))


def _asked(orchestrator: PartMaker, key: _Key, admitted: Admitted) -> tuple[_Answer, ...]:
    try:
        with admitted() as may:
            return ((key, orchestrator.find_part(*key)),) if may else ()
    except DriverError:
        return ()  # nothing was proved


def _fitted(member: Member, own: Mapping[PartName, MadePart | None]) -> Member:
    return replace(
        member,
        parts=tuple(part for _, part in sorted(own.items()) if part is not None),
        lacking=tuple(sorted(name for name, part in own.items() if part is None)),
    )
