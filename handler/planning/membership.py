"""Plan one member's steps at its balancers: to come into service, to stay there, to leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from config.units import BalancerId, Instant, MemberName, Seconds
from handler.planning.attempts import held
from handler.planning.desired import Definition
from handler.planning.removals import is_due, is_stuck
from handler.planning.roles import is_ready
from handler.planning.steps import (
    Destroy,
    Detach,
    Drain,
    Enable,
    EnterService,
    Join,
    Leave,
    NoteRegistration,
    Step,
    Unmark,
    Wait,
)
from handler.planning.world import (
    BalancerView,
    Leaving,
    Member,
    Phase,
    Record,
    Registration,
    RegistrationState,
    ServerState,
    World,
)


class Moves(NamedTuple):
    """One member's steps, in order, and its waits. A named tuple: each moving member of a million needs one."""

    steps: tuple[Step, ...] = ()
    waits: frozenset[Wait] = frozenset()


_DRAINED_FOR = (
    Leaving.SURPLUS,
    Leaving.REPLACED,
    Leaving.DELETED,
    Leaving.CHOSEN,
    Leaving.UNHEALTHY,
    Leaving.EVICTED,
)
"""Broken members and those that never served have nothing to finish."""

_NOT_FOUND = frozenset({Wait.BALANCER_NOT_FOUND})
_UNREADABLE = frozenset({Wait.BALANCER_UNKNOWN})
_DRAINING = frozenset({Wait.DRAINING})
_NO_WAITS: frozenset[Wait] = frozenset()

_MAY_SERVE = (ServerState.RUNNING, ServerState.PASSING, ServerState.UNKNOWN)


def serve(member: Member, record: Record, world: World, definition: Definition) -> Moves:
    """Return the steps to have a running member serve on every balancer that it was made with, once it is ready.

    A lost registration is made again, a draining one is enabled. A failing probe does not take a member out of
    service; but a lost registration is made again only while the probe does not fail.

    No member can be registered with a balancer that is not found. A member enters service without it if it serves on
    another balancer; without another one it waits. Of a balancer of which only some processes answer, these count.
    """
    has_served = record.phase is Phase.IN_SERVICE
    fit = _runs(member) and (member.ready is not False if has_served else is_ready(member, definition))
    places = tuple(_lasting(record))
    moves = [_serve_at(balancer, member, world, fit=fit) for balancer in places]
    steps = tuple(step for each in moves for step in each.steps)
    waits = frozenset(wait for each in moves for wait in each.waits)
    if has_served:
        return Moves(steps, waits)
    if not fit:
        return Moves(steps, waits | {Wait.NOT_READY})
    lost = [place for place in places if _is_lost(world, place)]
    serves = all(place in lost or _serves(member, world, place) for place in places)
    if not steps and serves and (not places or len(lost) < len(places)):
        return Moves((EnterService(member=member.name),), waits)
    return Moves(steps, waits)


def _serve_at(balancer: BalancerId, member: Member, world: World, *, fit: bool) -> Moves:
    """Return the steps to have a member serve on one balancer."""
    balancer_view = world.balancer_views.get(balancer)
    if balancer_view is None or balancer_view.known is None:
        return Moves(waits=_NOT_FOUND if _is_lost(world, balancer) else _UNREADABLE)
    unread = _UNREADABLE if balancer_view.registrations is None else frozenset[Wait]()
    if _serves(member, world, balancer):
        return Moves(waits=unread)
    registration = balancer_view.known.get(member.name)
    if not fit or not _may_join(member, registration, balancer_view):
        return Moves(waits=unread | {Wait.NOT_READY})
    enabled = Enable(member=member.name, balancer=balancer)
    joined = () if registration is not None else (Join(member=member.name, balancer=balancer),)
    return Moves((*joined, enabled), unread)


def _serves(member: Member, world: World, balancer: BalancerId) -> bool:
    """Return whether a member serves on one balancer, as far as its processes answer."""
    balancer_view = world.balancer_views.get(balancer)
    registration = None if balancer_view is None else (balancer_view.known or {}).get(member.name)
    return registration is not None and registration.state is RegistrationState.SERVING


def depart(member: Member, record: Record, world: World, definition: Definition, now: Instant) -> Moves:
    """Deregister a leaving member from its balancers, and only then destroy it.

    An evicted member loses its mark instead, and goes on running. A balancer that is not found causes no wait.
    """
    steps: list[Step] = []
    waits = _NO_WAITS
    for balancer in _places(member, record, world):
        registrations = _left_at(world, balancer)
        if registrations is None:
            waits |= _UNREADABLE
            continue
        registration = registrations.get(member.name)
        if registration is None:
            continue
        step = _deregister(registration, balancer, member, record, definition, now)
        if not isinstance(step, Leave):
            waits |= _DRAINING
        if step is not None:
            steps.append(step)
    if waits:
        return Moves(tuple(steps), waits)
    evicted, stuck = record.leaving is Leaving.EVICTED, is_stuck(record, definition.group.grace, now)
    last = Unmark(member=member.name) if evicted else Destroy(member=member.name)
    due = is_due(record, now) and held(last, record, now) is None
    if due if stuck else evicted or not _is_going(member, record, definition, now):
        steps.append(last)
    awaited = Wait.RELEASING if evicted else Wait.DELETING
    return Moves(tuple(steps), frozenset() if stuck else frozenset({awaited}))


def keep(member: Member, record: Record, world: World, definition: Definition, now: Instant) -> Moves:
    """Have a member that stays serve where it should, and then leave the balancers that it is detached from."""
    served, noted = serve(member, record, world, definition), tuple(_seen(member, record, world))
    left = withdraw(member, record, world, definition, now) if record.detaching else Moves()
    return Moves((*noted, *served.steps, *left.steps), served.waits | left.waits)


def _seen(member: Member, record: Record, world: World) -> Iterator[Step]:
    """Yield the registrations whose ids are to be recorded, where a balancer has ids besides the members' names."""
    for balancer in _lasting(record):
        registration = (_registrations(world, balancer) or {}).get(member.name)
        if (
            registration is not None
            and registration.id is not None
            and (balancer, registration.id) not in record.registrations
        ):
            yield NoteRegistration(member=member.name, balancer=balancer, id=registration.id)


def withdraw(member: Member, record: Record, world: World, definition: Definition, now: Instant) -> Moves:
    """Deregister a member that stays from the balancers that it is detached from, drained as if it left for good."""
    steps: list[Step] = []
    waits: set[Wait] = set()
    for balancer in record.detaching:
        registrations = _left_at(world, balancer)
        if registrations is None:
            waits.add(Wait.BALANCER_UNKNOWN)
            continue
        registration = registrations.get(member.name)
        step = None if registration is None else _deregister(registration, balancer, member, record, definition, now)
        if step is not None:
            steps.append(step)
        if registration is None or isinstance(step, Leave):
            steps.append(Detach(member=member.name, balancer=balancer))
        else:
            waits.add(Wait.DRAINING)
    return Moves(tuple(steps), frozenset(waits))


def clear(member: Member, record: Record | None, world: World) -> Moves:
    """Deregister a member that is gone, or is being deleted by another party."""
    steps: list[Step] = []
    waits: set[Wait] = set()
    for balancer in _places(member, record, world):
        registrations = _left_at(world, balancer)
        if registrations is None:
            waits.add(Wait.BALANCER_UNKNOWN)
        elif member.name in registrations:
            steps.append(Leave(member=member.name, balancer=balancer))
    return Moves(tuple(steps), frozenset(waits))


def _lasting(record: Record) -> Iterator[BalancerId]:
    return (balancer for balancer, _ in record.balancers if balancer not in record.detaching)


def _deregister(
    registration: Registration,
    balancer: BalancerId,
    member: Member,
    record: Record,
    definition: Definition,
    now: Instant,
) -> Drain | Leave | None:
    """Return the next step to end one registration; ``None``: it drains, and still has connections."""
    drain = definition.group.drain
    if registration.state is RegistrationState.PARKED or not _is_worth_draining(member, record, drain):
        return Leave(member=member.name, balancer=balancer)
    if registration.works or record.drained_at is None:
        return Drain(member=member.name, balancer=balancer)
    if registration.connections == 0 or now - record.drained_at >= drain:
        return Leave(member=member.name, balancer=balancer)
    return None


def _is_worth_draining(member: Member, record: Record, drain: Seconds) -> bool:
    stays = record.phase is not Phase.LEAVING
    may_serve = member.server.state in _MAY_SERVE if member.server is not None else not member.disproved
    return drain > 0 and may_serve and (stays or record.leaving in _DRAINED_FOR) and record.in_service_at is not None


def _is_going(member: Member, record: Record, definition: Definition, now: Instant) -> bool:
    """Return whether the machine is being removed and still has time: another call would only fill the history."""
    if member.server is None or member.server.state is not ServerState.DELETING or record.leaving_at is None:
        return False
    return now - record.leaving_at < definition.group.drain + definition.group.grace


def _places(member: Member, record: Record | None, world: World) -> Sequence[BalancerId]:
    """Return the balancers that the member was made with, then others where its name is registered."""
    own = [] if record is None else [balancer for balancer, _ in record.balancers]
    others = [balancer for balancer in world.balancer_views if balancer not in own]
    if not others:
        return own
    return [*own, *(each for each in sorted(others) if member.name in (_registrations(world, each) or ()))]


def _is_lost(world: World, balancer: BalancerId) -> bool:
    """Return whether a balancer is not found."""
    balancer_view = world.balancer_views.get(balancer)
    return balancer_view is not None and balancer_view.not_found


def _left_at(world: World, balancer: BalancerId) -> Mapping[MemberName, Registration] | None:
    """Return the registrations to end; none where the balancer is not found; ``None``: it cannot be read."""
    balancer_view = world.balancer_views.get(balancer)
    if balancer_view is None:
        return None
    return {} if balancer_view.not_found else balancer_view.registrations


def _registrations(world: World, balancer: BalancerId) -> Mapping[MemberName, Registration] | None:
    balancer_view = world.balancer_views.get(balancer)
    return None if balancer_view is None else balancer_view.registrations


def _runs(member: Member) -> bool:
    return member.server is not None and member.server.state is ServerState.RUNNING


def _may_join(member: Member, registration: Registration | None, balancer_view: BalancerView) -> bool:
    """Return whether a member can be enabled, with or without a registration so far."""
    is_open = registration is not None or not balancer_view.closed
    return is_open and member.server is not None and member.server.address is not None
