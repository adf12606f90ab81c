"""Order a member's resources: its parts are created before its machine, and removed after it, in reverse. Pure.

Parts of a member with a machine are not checked: they belong to the machine, and what breaks them breaks it.
"""

from __future__ import annotations

from collections.abc import Sequence

from config.model.parts import OnDelete
from config.units import Instant, PartName
from handler.planning.attempts import found
from handler.planning.desired import Definition
from handler.planning.membership import Moves, clear
from handler.planning.steps import Create, Forget, MakePart, ReleasePart, RemovePart, Step, Wait
from handler.planning.world import Leaving, Member, PartState, Phase, Record, World


def assemble(member: Member, record: Record, definition: Definition) -> Moves:
    """Return the steps of an intended member whose machine is known not to exist.

    Missing declared parts are created, in parallel; parts that failed or are no longer declared are removed. Once all
    are ready, the machine is created with them.
    """
    declared = [part.name for part in definition.profile.parts]
    astray = [name for name, _ in reversed(record.parts) if name not in declared or _is_failed(member, name)]
    needs = [_taken_down(member, record, name) for name in astray]
    needs += [_made(member, record, name) for name in declared if name not in astray]
    return _moves(needs, Create(member=member.name))


def dismantle(member: Member, record: Record) -> Moves:
    """Remove a member's parts after its machine, the newest first; then forget the member."""
    needs = [_taken_down(member, record, name) for name, _ in reversed(record.parts)]
    return _moves(needs, Forget(member=member.name))


def bury(member: Member, record: Record, world: World) -> Moves:
    """Remove what a member that is proved gone left behind: its registrations, then its parts; then forget it."""
    left = clear(member, record, world)
    if left.waits:
        return left
    rest = dismantle(member, record)
    return Moves((*left.steps, *rest.steps), rest.waits)


def is_late(member: Member, record: Record, definition: Definition, now: Instant) -> bool:
    """Return whether an intended member has waited for its parts for longer than the group's build timeout.

    A member with all its parts waits for its machine only, and is not late. Nor is it late for a part whose state is
    unknown, or that the cloud cannot create now: it is full, or asks for time.
    """
    waiting = record.phase is Phase.INTENDED and any(_is_awaited(member, record, name) for name, _ in record.parts)
    return waiting and member.server is None and now - record.intended_at >= definition.group.build_timeout


def wants_parts(member: Member, definition: Definition) -> bool:
    """Return whether the member's next step depends on its parts."""
    if member.record is None:
        return bool(definition.profile.parts)  # after a lost store: they are recorded with it
    is_coming = member.record.phase is Phase.INTENDED and not member.record.given and bool(definition.profile.parts)
    return member.server is None and (is_coming or bool(member.record.parts))


def is_seen_completely(member: Member, definition: Definition) -> bool:
    """Return whether it is known for every declared part whether the member has it."""
    known = {part.name for part in member.parts} | set(member.lacking)
    return known.issuperset(part.name for part in definition.profile.parts)


Need = tuple[Step | None, Wait | None]
"""The step of one part, and its wait; neither: the part needs nothing."""


def _moves(needs: Sequence[Need], then: Step) -> Moves:
    """Combine the needs of parts; ``then`` is the step once they need nothing."""
    steps = tuple(step for step, _ in needs if step is not None)
    waits = frozenset(wait for _, wait in needs if wait is not None)
    return Moves(steps, waits) if steps or waits else Moves((then,))


def _made(member: Member, record: Record, name: PartName) -> Need:
    if name not in dict(record.parts):  # an existing part (after a lost store) is recorded by it
        return MakePart(member=member.name, part=name), None
    match _state(member, name):
        case PartState.READY:
            return None, None
        case None if name in member.lacking:
            return MakePart(member=member.name, part=name), None
        case None:
            return None, Wait.UNCONFIRMED
        case _:
            return None, Wait.BUILDING


def _taken_down(member: Member, record: Record, name: PartName) -> Need:
    state = _state(member, name)
    if state is None:
        return None, None if name in member.lacking else Wait.UNCONFIRMED
    if state is PartState.DELETING:
        return None, Wait.DELETING
    if _is_kept(dict(record.parts)[name], record):
        return ReleasePart(member=member.name, part=name), Wait.DELETING
    return RemovePart(member=member.name, part=name), Wait.DELETING


def _is_kept(on_delete: OnDelete, record: Record) -> bool:
    """Return whether a part is kept: an evicted machine keeps its parts, and an unused part is never kept otherwise."""
    return record.leaving is Leaving.EVICTED or (on_delete is OnDelete.RETAIN and record.made_at is not None)


def _is_awaited(member: Member, record: Record, name: PartName) -> bool:
    """Return whether a part is known not to be ready, for a reason other than a refusal for the moment."""
    if name in member.lacking:
        tried = found(MakePart(member=member.name, part=name), record)
        return tried is None or tried.count > 0
    return _state(member, name) not in {None, PartState.READY}


def _is_failed(member: Member, name: PartName) -> bool:
    return _state(member, name) is PartState.ERROR


def _state(member: Member, name: PartName) -> PartState | None:
    return next((part.state for part in member.parts if part.name == name), None)
