"""The planner: the steps that bring a group to its desired state; a `Snapshot` holds all of its input. Pure.

Everything hard (races, lost answers, crashes) is left to the next pass: the world is gathered again and planned again.

Source: DESIGN.md "Moving"; Otter's planner, with later requests of its users.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from config.units import Instant, MemberName
from handler.planning.attempts import held
from handler.planning.context import (
    PlanContext,
    by_sequence,
    context_of,
    has_served,
    is_doubted,
    is_given,
    is_left,
    lowers,
)
from handler.planning.desired import Definition, DesiredState, Limits
from handler.planning.judgement import LossVerdict
from handler.planning.listing_sanity import named_in
from handler.planning.member_resources import bury, dismantle, is_seen_completely
from handler.planning.membership import Moves, clear, depart, keep, withdraw
from handler.planning.rate_limits import RateLimiter
from handler.planning.roles import CHOSEN_TO_LEAVE, MemberRole, Role, is_witnessed, passes_for
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
    NoteRegistration,
    NoteReturn,
    Plan,
    Step,
    TakeUp,
    Wait,
)
from handler.planning.world import Leaving, Member, Phase, Record, World

_STAYING = (Role.SERVING, Role.FAILING, Role.ARRIVING, Role.REPLACING)
_DEPARTING = (Role.LEAVING, Role.STUCK, Role.GONE, Role.DELETING)

_KEEPING = (TakeUp, Confirm, NoteAbsence, NotePresence, NoteHealth, NoteRegistration, Join, Enable, EnterService)
"""Steps that neither remove nor create a member: the only ones while the store may be too old."""

_DOUBTED = {LossVerdict.HEARD: Wait.UNCONFIRMED, LossVerdict.OTHERS_UNSEEN: Wait.UNCONFIRMED}

_WAITS = {
    Role.INTENDED: Wait.UNCONFIRMED,
    Role.ABSENT: Wait.UNCONFIRMED,
    Role.UNSURE: Wait.UNCONFIRMED,
    Role.PASSING: Wait.PASSING,
    Role.BUILDING: Wait.BUILDING,
}


def plan(desired: DesiredState, world: World, definition: Definition, limits: Limits, now: Instant) -> Plan:
    """Return the steps to take now, and the waits.

    Steps come in one order whatever the order of ``world.members``: those of members that leave, those of members that
    stay, creations; each by sequence. A plan without steps and waits means that the world is as desired.

    While the listing is not believed (`handler.planning.listing_sanity`), no member is chosen as surplus.

    Without a desired size the plan only records what was seen. On a partial listing no member is chosen as surplus or
    taken as gone; members may still be created, since every known member counts as present there.
    """
    context = context_of(desired, world, definition, limits, now)
    waits: Counter[Wait] = Counter()
    evened = False
    limiter = RateLimiter(limits, now)
    if desired.size is None and not desired.deleting:
        steps = tuple(step for member, _ in context.roles for step in _notes(member, context))
        waits[Wait.NO_DESIRED] = len(world.members)
    else:
        steps, evened = _sized(context, waits, limiter)
    if not world.complete:
        waits[Wait.PARTIAL] = sum(member.server is None for member, _ in context.roles)
    waits[Wait.MANY_FAILING] = len(context.checkup.doubted)
    waits[Wait.DISTRUST] = len(named_in(context.doubts))
    if limits.accept_vanished:
        waits[Wait.RETURNING] += len(world.relisted)  # not listed for long enough to be believed
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
    shown = tuple((wait, waits[wait]) for wait in Wait if waits[wait] or (wait in always and wait in waits))
    others = [each for each in context.roles if each[1] is not Role.LEAVING]  # a leaving member is none of what follows
    return Plan(
        group=world.group,
        revision=desired.revision,
        steps=steps,
        waits=shown,
        doubts=context.doubts,
        stuck=tuple(member.name for member, seen in others if seen is Role.STUCK),
        vanished=() if halted else _lowering(others, steps, context),
        returned=() if halted else tuple(member.name for member, _ in others if _raises(member, context)),
        unproved=tuple(sorted(context.unproved)),
        believed=() if halted else tuple(sorted(context.believed)),
        evened=evened and not halted,
        repair_stopped=context.checkup.stopped,
        held=() if paused else tuple(limiter.held),
        quota=limits.headroom.by if limits.headroom is not None and waits[Wait.QUOTA] and not paused else "",
        budget=limits.budget if waits[Wait.BUDGET] and not paused else "",
        overdue=tuple(each[0].name for each in others if _is_overdue(each, context)),
    )


def _lowering(roles: Sequence[MemberRole], steps: Sequence[Step], context: PlanContext) -> tuple[MemberName, ...]:
    """Return the members that lower the size: proved gone, and no surplus of a size that is lower already."""
    vanished = [member_role[0].name for member_role in roles if lowers(member_role, context)]
    chosen = {step.member for step in steps if isinstance(step, MarkLeaving)} if vanished else frozenset()
    return tuple(name for name in vanished if name not in chosen)


def _sized(context: PlanContext, waits: Counter[Wait], limiter: RateLimiter) -> tuple[tuple[Step, ...], bool]:
    """Return the steps towards the desired size, and whether no replacement of a returned member is left."""
    choice = choose(context)
    waits[Wait.PROTECTED] += choice.kept
    waits[Wait.ROLLING] += choice.rolling
    waits[Wait.RETURNING] += choice.returning + len(context.world.losses.returning)
    departing, staying = _moves(context, choice, waits, limiter)
    created = creations(context, choice)
    waits[created.because] += created.held
    waits.update(created.waits)
    made = limiter.creations(created.steps, context.roles, waits)
    return (*departing, *staying, *made), choice.evened


def _moves(
    context: PlanContext, choice: Choice, waits: Counter[Wait], limiter: RateLimiter
) -> tuple[list[Step], list[Step]]:
    departing: list[Step] = []
    staying: list[Step] = []
    roles: Sequence[MemberRole] = context.roles
    if choice.unsettled:
        roles = sorted((*roles, *choice.unsettled), key=lambda member_role: by_sequence(member_role[0]))
    for member, seen in roles:
        steps = _notes(member, context)
        record = member.record
        if record is None:
            staying += steps
            waits[Wait.RETURNING if _raises(member, context) else Wait.UNCONFIRMED] += not steps
            continue
        if member.name in choice.leaving:
            why = _fate(record, choice.leaving[member.name])
            because = choice.because.get(member.name) or (member.unready if seen is Role.UNREADY else "")
            departing += (*steps, MarkLeaving(member=member.name, why=why, because=because))
            continue
        is_given_up = member.name in choice.forgotten
        moves = dismantle(member, record) if is_given_up else _move((member, seen), record, context)
        moves = limiter.limited(moves, record)
        if choice.evened and record.lost_at is not None and seen in _STAYING and has_served(member):
            moves = Moves((*moves.steps, NoteReturn(member=member.name)), moves.waits)
        for wait in moves.waits:
            waits[wait] += 1
        ordered = departing if is_given_up or seen in _DEPARTING else staying
        ordered += steps
        ordered += moves.steps
    return departing, staying


def _fate(record: Record, why: Leaving) -> Leaving:
    """Return EVICTED for a given member that never came into service: it is released, never destroyed."""
    return Leaving.EVICTED if record.given and record.in_service_at is None else why


def _move(member_role: MemberRole, record: Record, context: PlanContext) -> Moves:
    """Return the steps of one member; in any role it leaves the balancers that a person detached it from."""
    member, seen = member_role
    moves = _move_as(member_role, record, context)
    if not record.detaching or seen in (*_STAYING, *_DEPARTING):
        return moves
    left = withdraw(member, record, context.world, context.definition, context.now)
    return Moves((*left.steps, *moves.steps), left.waits | moves.waits)


def _move_as(member_role: MemberRole, record: Record, context: PlanContext) -> Moves:
    member, seen = member_role
    if seen in _STAYING:
        moves = keep(member, record, context.world, context.definition, context.now)
        return Moves(moves.steps, moves.waits | {Wait.FAILING}) if seen is Role.FAILING else moves
    if seen in CHOSEN_TO_LEAVE and not is_witnessed(member, context.world, context.limits, context.now):
        return depart(member, record, context.world, context.definition, context.now)
    if is_doubted(member_role, context):
        return Moves(waits=frozenset({_DOUBTED.get(context.unproved[member.name], Wait.MANY_VANISHED)}))
    if lowers(member_role, context):
        return Moves(waits=frozenset({Wait.VANISHED}))
    return _move_lost(member_role, record, context)


def _move_lost(member_role: MemberRole, record: Record, context: PlanContext) -> Moves:
    """Return the steps of a member that is gone, is being deleted, or waits."""
    member, seen = member_role
    if seen is Role.DELETING:
        cleared = clear(member, record, context.world)
        return Moves(cleared.steps, cleared.waits | {Wait.DELETING})
    if is_left(member_role, context):
        return Moves(waits=frozenset({Wait.UNREPAIRED}))
    if seen is Role.GONE or seen in CHOSEN_TO_LEAVE:
        moves = bury(member, record, context.world)
        return _unawaited(moves, record, context) if seen is Role.STUCK else moves
    if seen is Role.DISPROVED and is_given(member):
        return Moves((MarkMachine(member=member.name),))
    return Moves(waits=frozenset({_WAITS[seen]}) if seen in _WAITS else frozenset())


def _unawaited(moves: Moves, record: Record, context: PlanContext) -> Moves:
    """Return the moves of a member with a STUCK removal that are due: no plan waits for its parts."""
    due = tuple(step for step in moves.steps if held(step, record, context.now) is None)
    return Moves(due, moves.waits - {Wait.DELETING, Wait.UNCONFIRMED})


def _raises(member: Member, context: PlanContext) -> bool:
    """Return whether a member is back after it lowered the desired size, which then rises again."""
    earlier, size = context.desired.earlier, context.desired.size
    lowered = member.gone is not None and member.gone.leaving is Leaving.VANISHED and member.record is None
    if not lowered or not is_seen_completely(member, context.definition):
        return False  # parts that were not seen would be left behind for ever
    return earlier is not None and size is not None and earlier > size


def _notes(member: Member, context: PlanContext) -> Sequence[Step]:
    """Return the record changes that follow from the listing for one member."""
    record, name = member.record, member.name
    notes: list[Step] = []
    if record is None:
        if is_seen_completely(member, context.definition) and not _raises(
            member, context
        ):  # parts that were not seen would be left behind for ever
            notes.append(TakeUp(member=name))
    elif member.server is None:
        if _is_newly_missed(member, record, context):
            notes.append(NoteAbsence(member=name))
    else:
        if record.phase is Phase.INTENDED:
            notes.append(Confirm(member=name))
        if record.absent_at is not None:
            notes.append(NotePresence(member=name))
    if name in context.checkup.begun or name in context.checkup.over:
        notes.append(NoteHealth(member=name, failing=name in context.checkup.begun))
    return notes


def _is_overdue(member_role: MemberRole, context: PlanContext) -> bool:
    member, seen = member_role
    return seen is Role.PASSING and passes_for(member, context.definition.group.build_timeout, context.now)


def _is_newly_missed(member: Member, record: Record, context: PlanContext) -> bool:
    if record.phase is Phase.INTENDED or not context.world.complete:
        return False
    return not is_witnessed(member, context.world, context.limits, context.now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The input of one plan: the desired state, the gathered world, the definition and the limits of a group."""

    desired: DesiredState
    world: World
    definition: Definition
    limits: Limits
    at: Instant
    """The moment of planning, shortly after ``world.at``."""

    def plan(self) -> Plan:
        """Return the plan of that moment. Equal snapshots give equal plans."""
        return plan(self.desired, self.world, self.definition, self.limits, self.at)
