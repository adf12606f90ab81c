"""Compute the record that each step writes for its member, before its call and after the answer. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from config.model.parts import OnDelete
from config.units import BalancerId, Instant, MemberName, PartName
from handler.planning.desired import Definition
from handler.planning.roles import sequence_of
from handler.planning.step_outcomes import StepOutcome
from handler.planning.steps import (
    Confirm,
    Destroy,
    Detach,
    Drain,
    EnterService,
    Forget,
    MakePart,
    MarkLeaving,
    MarkMachine,
    NoteAbsence,
    NoteHealth,
    NotePresence,
    NoteRegistration,
    NoteReturn,
    PartStep,
    Step,
    Unmark,
)
from handler.planning.world import Leaving, Member, Phase, Record, Server, ServerState, World


def before(step: Step, record: Record, server: Server | None, now: Instant) -> Record | None:
    """Return the record to store before a step's call, or instead of one; ``None``: nothing changes."""
    after: Record | None = None
    match step:
        case Confirm() if server is not None:
            after = made(record, server, now)
        case EnterService():
            after = replace(record, phase=Phase.IN_SERVICE, in_service_at=now, attempts=())
        case MarkLeaving(why=why):
            after = replace(record, phase=Phase.LEAVING, leaving=why, leaving_at=now, attempts=())
        case NoteRegistration() | Detach():
            after = _registered(step, record)
        case Drain() | Destroy() | Unmark():
            after = _asked(step, record, now)
        case NoteAbsence() | NotePresence() | NoteHealth() | NoteReturn():
            after = _noted(step, record, now)
        case Forget():
            after = gone(record, now)
        case _:
            pass
    return after


def _asked(step: Drain | Destroy | Unmark, record: Record, now: Instant) -> Record:
    if isinstance(step, Drain):
        return replace(record, drained_at=now)
    return replace(record, removal_at=now if record.removal_at is None else record.removal_at, removal_tried_at=now)


def _noted(step: NoteAbsence | NotePresence | NoteHealth | NoteReturn, record: Record, now: Instant) -> Record:
    if isinstance(step, NoteReturn):
        return replace(record, lost_at=None)
    if isinstance(step, NoteHealth):
        return replace(record, failing_since=now if step.failing else None)
    if isinstance(step, NotePresence):
        return replace(record, absent_listings=0, absent_at=None)
    first = now if record.absent_at is None else record.absent_at
    return replace(record, absent_listings=record.absent_listings + 1, absent_at=first)


def _registered(step: NoteRegistration | Detach, record: Record) -> Record:
    if isinstance(step, Detach):
        return detached(record, step.balancer)
    return replace(record, registrations=(*_elsewhere(record, step.balancer), (step.balancer, step.id)))


def _elsewhere(record: Record, balancer: BalancerId) -> tuple[tuple[BalancerId, str], ...]:
    return tuple(registration for registration in record.registrations if registration[0] != balancer)


def detached(record: Record, balancer: BalancerId) -> Record:
    """Return the record after the member left one balancer. Leaving the last one of these ends its draining."""
    detaching = tuple(other for other in record.detaching if other != balancer)
    return replace(
        record,
        balancers=tuple(use for use in record.balancers if use[0] != balancer),
        registrations=_elsewhere(record, balancer),
        detaching=detaching,
        drained_at=record.drained_at if detaching else None,
    )


def made(record: Record, server: Server, now: Instant) -> Record:
    """Return the record of a machine that the cloud has confirmed."""
    return replace(record, phase=Phase.MADE, server_id=server.id, made_at=now, attempts=())


def surrendered(names: Collection[MemberName], world: World, now: Instant) -> Iterator[Record]:
    """Yield vanished members marked as leaving, to be stored together with the size that they lower."""
    for member in world.members:
        if member.name in names and member.record is not None:
            yield replace(member.record, phase=Phase.LEAVING, leaving=Leaving.VANISHED, leaving_at=now)


def restored(names: Collection[MemberName], world: World, definition: Definition, now: Instant) -> Iterator[Record]:
    """Yield records of members that are back after their loss, to be stored together with the size that they raise."""
    for member in world.members:
        if member.name in names and member.server is not None:
            yield replace(taken_up(member, member.server, world, definition, now), lost_at=None)


def ungiven(outcomes: Iterable[StepOutcome], world: World, now: Instant) -> Iterator[Record]:
    """Yield given members that the cloud refuses to mark as gone, to be stored like those of `surrendered`."""
    refused = {outcome.member for outcome in outcomes if isinstance(outcome.step, MarkMachine) and outcome.is_final}
    for member in world.members:
        if member.name in refused and member.record is not None:
            yield gone(member.record, now)


def gone(record: Record, now: Instant) -> Record:
    """Return the record of a member that does not exist (any more)."""
    return replace(record, phase=Phase.GONE, gone_at=now)


def forgotten(record: Record, world: World, now: Instant) -> Record:
    """Return the record of a gone member; of one that was to stay it keeps when it was first missed, should it return.

    That time is never later than the intent of its replacement, which is found by it.
    """
    after = gone(record, now)
    if record.phase is Phase.IN_SERVICE:
        loss = world.losses.members.get(record.name)
        return replace(after, lost_at=world.at if loss is None else min(loss.since, world.at))
    return replace(after, lost_at=record.leaving_at) if record.leaving is Leaving.VANISHED else after


def before_parting(step: PartStep, record: Record, definition: Definition) -> Record | None:
    """Return the record to store before a part is changed: before its creation, that it may exist, as declared now."""
    if not isinstance(step, MakePart):
        return None
    on_delete = {part.name: part.on_delete for part in definition.profile.parts}
    others = tuple(part for part in record.parts if part[0] != step.part)
    return replace(record, parts=(*others, (step.part, on_delete[step.part])))


def unmade(record: Record, now: Instant) -> Record:
    """Return the record of a member that the cloud refuses to create; its parts, if any, are still to be removed."""
    if not record.parts:
        return gone(record, now)
    return replace(record, phase=Phase.LEAVING, leaving=Leaving.BROKEN, leaving_at=now)


def taken_up(member: Member, server: Server, world: World, definition: Definition, now: Instant) -> Record:
    """Return the record of a machine with our mark and no record (a lost store), on the group's current balancers.

    It is in service at once if it runs and a balancer gives it work (or there is none): a fleet that serves is never
    on probation again, whatever a newly declared probe thinks of it. ``intended_at`` is the machine's own age, so that
    taking up a fleet does not spend the hourly budget.

    A member that was proved gone and is back keeps its protection, its profile and its age.
    """
    balancers = tuple((use.balancer, use.port) for use in definition.group.balancers)
    serves = server.state is ServerState.RUNNING and (not balancers or _is_served(member, world))
    before = member.gone
    return Record(
        name=member.name,
        group=world.group,
        sequence=sequence_of(member),
        phase=Phase.IN_SERVICE if serves else Phase.MADE,
        intended_at=min(server.created_at, now) if before is None else before.intended_at,
        server_id=server.id,
        made_at=now,
        in_service_at=now if serves else None,
        balancers=balancers,
        protected=before is not None and before.protected,
        profile=None if before is None else before.profile,
        given=before is not None and before.given,
        parts=_taken_up_parts(member, definition),
        lost_at=None if before is None else before.lost_at,
    )


def _taken_up_parts(member: Member, definition: Definition) -> tuple[tuple[PartName, OnDelete], ...]:
    """Return the parts that it has; a part that is not declared (any more) is retained rather than deleted."""
    has = {part.name for part in member.parts}
    declared = [(part.name, part.on_delete) for part in definition.profile.parts if part.name in has]
    others = has - dict(declared).keys()
    return (*declared, *((name, OnDelete.RETAIN) for name in sorted(others)))


def _is_served(member: Member, world: World) -> bool:
    registrations = (
        balancer_view.registrations.get(member.name)
        for balancer_view in world.balancer_views.values()
        if balancer_view.registrations is not None
    )
    return any(registration is not None and registration.works for registration in registrations)
