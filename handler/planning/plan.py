"""The planner: what to do now so that a group becomes what it is desired to be; a `Snapshot` has all it goes by. Pure.

Everything hard (races, lost answers, crashes) is left to the next pass: the world is gathered again and planned again.

Source: DESIGN.md "Moving"; Otter's planner, with what its users asked for since.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from config.units import Instant
from handler.planning.context import (
    PlanContext,
    by_sequence,
    has_served,
    is_doubted,
    is_given,
    is_left,
    lowers,
    scene_of,
)
from handler.planning.desired import Definition, DesiredState, Limits
from handler.planning.judgement import LossVerdict
from handler.planning.listing_sanity import whom
from handler.planning.member_resources import bury, dismantle, is_seen_whole
from handler.planning.membership import Moves, clear, depart, keep, withdraw
from handler.planning.rate_limits import Restraint
from handler.planning.roles import Cast, Role, is_witnessed, passes_for
from handler.planning.sizing import Choice, choose, creations
from handler.planning.steps import (
    Confirm,
    Enable,
    EnterService,
    Join,
    MarkLeaving,
    MarkMachine,
    NoteAbsence,
    NoteHealth,
    NotePresence,
    NoteReturn,
    NoteSeat,
    Plan,
    Step,
    TakeUp,
    Wait,
)
from handler.planning.world import Leaving, Member, Phase, Record, World

_STAYING = (Role.SERVING, Role.FAILING, Role.ARRIVING, Role.REPLACING)
_DEPARTING = (Role.LEAVING, Role.STUCK, Role.GONE, Role.DELETING)
_LEAVING = (Role.LEAVING, Role.STUCK)

_KEEPING = (TakeUp, Confirm, NoteAbsence, NotePresence, NoteHealth, NoteSeat, Join, Enable, EnterService)
"""Steps that take no member away, and make none: all that is done on the word of a store that may be too old."""

_DOUBTED = {LossVerdict.HEARD: Wait.UNCONFIRMED, LossVerdict.OTHERS_UNSEEN: Wait.UNCONFIRMED}

_WAITS = {
    Role.INTENDED: Wait.UNCONFIRMED,
    Role.ABSENT: Wait.UNCONFIRMED,
    Role.UNSURE: Wait.UNCONFIRMED,
    Role.PASSING: Wait.PASSING,
    Role.BUILDING: Wait.BUILDING,
}


def plan(desired: DesiredState, world: World, definition: Definition, limits: Limits, now: Instant) -> Plan:
    """Say what to do now, and what is waited for.

    Steps come in one order whatever the order of ``world.members``: those of members that leave, those of members that
    stay, creations; each by sequence. A plan without steps and waits means that the world is as desired.

    From a listing that is not believed, no member is chosen as surplus: `handler.planning.listing_sanity` says why.

    Without a desired size only what was seen is written down. On a partial listing nobody is chosen for surplus and
    nothing is taken as gone; members may still be made, since every known member counts as present there.
    """
    scene = scene_of(desired, world, definition, limits, now)
    waits: Counter[Wait] = Counter()
    evened = False
    restraint = Restraint(limits, now)
    if desired.size is None and not desired.deleting:
        steps = tuple(step for member, _ in scene.casts for step in _notes(member, scene))
        waits[Wait.NO_DESIRED] = len(world.members)
    else:
        steps, evened = _sized(scene, waits, restraint)
    if not world.complete:
        waits[Wait.PARTIAL] = sum(member.server is None for member, _ in scene.casts)
    waits[Wait.MANY_FAILING] = len(scene.checkup.doubted)
    waits[Wait.DISTRUST] = len(whom(scene.doubts))
    if limits.accept_vanished:
        waits[Wait.RETURNING] += len(world.relisted)  # listed for too short a time to be believed
    paused = desired.paused and not desired.deleting
    unconfirmed = desired.unconfirmed and not desired.deleting
    if unconfirmed:
        steps = tuple(step for step in steps if isinstance(step, _KEEPING))
        waits[Wait.OLDER_STORE] = len(world.members)
    if paused:
        steps = ()
        waits[Wait.PAUSED] = len(world.members)
    halted = paused or unconfirmed
    always = {Wait.NO_DESIRED, Wait.PARTIAL, Wait.PAUSED, Wait.OLDER_STORE}
    told = tuple((wait, waits[wait]) for wait in Wait if waits[wait] or (wait in always and wait in waits))
    return Plan(
        group=world.group,
        revision=desired.revision,
        steps=steps,
        waits=told,
        doubts=scene.doubts,
        stuck=tuple(member.name for member, seen in scene.casts if seen is Role.STUCK),
        vanished=() if halted else tuple(cast[0].name for cast in scene.casts if lowers(cast, scene)),
        returned=() if halted else tuple(member.name for member, _ in scene.casts if _raises(member, scene)),
        unproved=tuple(sorted(scene.unproved)),
        believed=() if halted else tuple(sorted(scene.believed)),
        evened=evened and not halted,
        repair_stopped=scene.checkup.stopped,
        held=() if paused else tuple(restraint.held),
        quota=limits.headroom.by if limits.headroom is not None and waits[Wait.QUOTA] and not paused else "",
        budget=limits.budget if waits[Wait.BUDGET] and not paused else "",
        overdue=tuple(cast[0].name for cast in scene.casts if _is_overdue(cast, scene)),
    )


def _sized(scene: PlanContext, waits: Counter[Wait], restraint: Restraint) -> tuple[tuple[Step, ...], bool]:
    """Return the steps towards the desired size, and whether nothing is left of members that came back."""
    choice = choose(scene)
    waits[Wait.PROTECTED] += choice.kept
    waits[Wait.ROLLING] += choice.rolling
    waits[Wait.RETURNING] += choice.returning + len(scene.world.losses.returning)
    departing, staying = _moves(scene, choice, waits, restraint)
    created = creations(scene, choice)
    waits[created.because] += created.held
    waits.update(created.waits)
    made = restraint.creations(created.steps, scene.casts, waits)
    return (*departing, *staying, *made), choice.evened


def _moves(
    scene: PlanContext, choice: Choice, waits: Counter[Wait], restraint: Restraint
) -> tuple[list[Step], list[Step]]:
    departing: list[Step] = []
    staying: list[Step] = []
    casts: Sequence[Cast] = scene.casts
    if choice.unsettled:
        casts = sorted((*casts, *choice.unsettled), key=lambda cast: by_sequence(cast[0]))
    for member, seen in casts:
        steps: tuple[Step, ...] = tuple(_notes(member, scene))
        record = member.record
        if record is None:
            staying += steps
            waits[Wait.RETURNING if _raises(member, scene) else Wait.UNCONFIRMED] += not steps
            continue
        if member.name in choice.leaving:
            why = _fate(record, choice.leaving[member.name])
            because = choice.because.get(member.name) or (member.unready if seen is Role.UNREADY else "")
            departing += (*steps, MarkLeaving(member=member.name, why=why, because=because))
            continue
        is_given_up = member.name in choice.forgotten
        moves = dismantle(member, record) if is_given_up else _move((member, seen), record, scene)
        moves = restraint.restrained(moves, record)
        if choice.evened and record.lost_at is not None and seen in _STAYING and has_served(member):
            moves = Moves((*moves.steps, NoteReturn(member=member.name)), moves.waits)
        for wait in moves.waits:
            waits[wait] += 1
        if is_given_up or seen in _DEPARTING:
            departing += (*steps, *moves.steps)
        else:
            staying += (*steps, *moves.steps)
    return departing, staying


def _fate(record: Record, why: Leaving) -> Leaving:
    """What was given and never came into service is given back as it is, whyever it leaves; it is never destroyed."""
    return Leaving.EVICTED if record.given and record.in_service_at is None else why


def _move(cast: Cast, record: Record, scene: PlanContext) -> Moves:
    """Move one member, whatever it is; what a person detached it from it leaves in any case."""
    member, seen = cast
    moves = _move_as(cast, record, scene)
    if not record.detaching or seen in (*_STAYING, *_DEPARTING):
        return moves
    left = withdraw(member, record, scene.world, scene.definition, scene.now)
    return Moves((*left.steps, *moves.steps), left.waits | moves.waits)


def _move_as(cast: Cast, record: Record, scene: PlanContext) -> Moves:
    member, seen = cast
    if seen in _STAYING:
        moves = keep(member, record, scene.world, scene.definition, scene.now)
        return Moves(moves.steps, moves.waits | {Wait.FAILING}) if seen is Role.FAILING else moves
    if seen in _LEAVING and not is_witnessed(member, scene.world, scene.limits, scene.now):
        return depart(member, record, scene.world, scene.definition, scene.now)
    if is_doubted(cast, scene):
        return Moves(waits=frozenset({_DOUBTED.get(scene.unproved[member.name], Wait.MANY_VANISHED)}))
    if lowers(cast, scene):
        return Moves(waits=frozenset({Wait.VANISHED}))
    return _move_lost(cast, record, scene)


def _move_lost(cast: Cast, record: Record, scene: PlanContext) -> Moves:
    """Move a member of whom nothing more is expected now."""
    member, seen = cast
    if seen is Role.DELETING:
        cleared = clear(member, record, scene.world)
        return Moves(cleared.steps, cleared.waits | {Wait.DELETING})
    if is_left(cast, scene):
        return Moves(waits=frozenset({Wait.UNREPAIRED}))
    if seen is Role.GONE or seen in _LEAVING:
        return bury(member, record, scene.world)
    if seen is Role.DISPROVED and is_given(member):
        return Moves((MarkMachine(member=member.name),))
    return Moves(waits=frozenset({_WAITS[seen]}) if seen in _WAITS else frozenset())


def _raises(member: Member, scene: PlanContext) -> bool:
    """Whether a member is back that had lowered desired size, which returns to what it was."""
    earlier, size = scene.desired.earlier, scene.desired.size
    lowered = member.gone is not None and member.gone.leaving is Leaving.VANISHED
    return lowered and member.record is None and earlier is not None and size is not None and earlier > size


def _notes(member: Member, scene: PlanContext) -> Iterator[Step]:
    """Yield what the listing showed of one member, to be written down."""
    record = member.record
    if record is None:
        if is_seen_whole(member, scene.definition) and not _raises(
            member, scene
        ):  # what it has beside its machine would be left behind for ever
            yield TakeUp(member=member.name)
    elif member.server is None:
        if _is_newly_missed(member, record, scene):
            yield NoteAbsence(member=member.name)
    else:
        if record.phase is Phase.INTENDED:
            yield Confirm(member=member.name)
        if record.absent_at is not None:
            yield NotePresence(member=member.name)
    if member.name in scene.checkup.begun or member.name in scene.checkup.over:
        yield NoteHealth(member=member.name, failing=member.name in scene.checkup.begun)


def _is_overdue(cast: Cast, scene: PlanContext) -> bool:
    member, seen = cast
    return seen is Role.PASSING and passes_for(member, scene.definition.group.build_timeout, scene.now)


def _is_newly_missed(member: Member, record: Record, scene: PlanContext) -> bool:
    if record.phase is Phase.INTENDED or not scene.world.complete:
        return False
    return not is_witnessed(member, scene.world, scene.limits, scene.now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One group: what is desired, what was seen, by which definition and within which limits it is planned."""

    desired: DesiredState
    world: World
    definition: Definition
    limits: Limits
    at: Instant
    """The moment of planning, shortly after ``world.at``."""

    def plan(self) -> Plan:
        """Say what to do at that moment. Equal snapshots give equal plans."""
        return plan(self.desired, self.world, self.definition, self.limits, self.at)
