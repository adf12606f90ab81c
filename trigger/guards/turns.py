"""Let the groups of one service scale one at a time.

A group *scales* from the change of its size until as many members serve as are desired and none is leaving, or until
its time limit ends: a group that cannot build must not block the others for ever. A request that passed every guard
while another group scales, or while another group has waited longer, is *kept*: one per group; a newer request replaces
it and keeps the group's place. When no group is ahead, the request is decided again with all guards, and that answer is
final. The group that has waited longest goes first, so every group gets its turn; a request that waited for `KEPT` has
EXPIRED.

As in OneFlow, a service changes one group at a time. Unlike there, an early request is kept, the order of declaration
gives no precedence, and a quiet time (COOLDOWN there) delays only its own group: it does not make a turn longer. A
person's request with force does not wait. Changed bounds, floors, vanished members and repair never wait. Nothing
waits in mode ``advise``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from config.model.catalogue import Group, Mode
from config.units import GroupId, Instant, PolicyId, Seconds
from trigger.requests import Fleet, GroupState, Queued, Request, RequestCause, ServiceTurn

KEPT: Seconds = 600.0
"""How long a request waits for its turn after it was last made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The state of one group that the other groups of its service need."""

    group: GroupId
    scales: bool
    waits_since: Instant | None
    """``None``: no request of it waits, or the group is halted."""


def peer(group: Group, state: GroupState, fleet: Fleet, now: Instant) -> Peer:
    """Return the state of a group in its service. A halted group that waits does not delay the others."""
    acting = group.mode is Mode.ACT and not state.orphaned
    queued = state.turn.queued
    waits = queued is not None and acting and not state.stopped.halts and now < queued.until
    return Peer(
        group=group.id,
        scales=acting and scales(group, state, fleet, now),
        waits_since=queued.since if queued is not None and waits else None,
    )


def scales(group: Group, state: GroupState, fleet: Fleet, now: Instant) -> bool:
    """Whether the last change of size is still being carried out."""
    began = state.turn.began
    if began is None:
        return False
    patience = max(group.build_timeout, group.drain + group.grace)
    return now < began + patience and (fleet.in_service != state.desired or fleet.leaving > 0)


def ahead(mine: Peer, others: Sequence[Peer]) -> GroupId | None:
    """Return the group that scales before this one; ``None``: this one may scale."""
    scaling = [other.group for other in others if other.scales]
    if scaling:
        return min(scaling)
    waiting = [(one.waits_since, one.group) for one in (mine, *others) if one.waits_since is not None]
    first = min(waiting, default=None)
    return None if first is None or first[1] == mine.group else first[1]


def called(turn: ServiceTurn, requests: Sequence[Request], fleet: Fleet, now: Instant) -> Request | None:
    """Return the kept request if its turn has come: no group is ahead, and its author makes no new request."""
    queued = turn.queued
    if queued is None or fleet.ahead is not None or now >= queued.until:
        return None
    return None if any(_same(request, queued.request) for request in requests) else queued.request


def of_a_policy(turn: ServiceTurn) -> bool:
    """Whether a policy's request is kept: it waits for the next tick, where the other policies can agree or not."""
    return turn.queued is not None and turn.queued.request.cause is RequestCause.POLICY


def expired(turn: ServiceTurn, now: Instant) -> Request | None:
    """Return the kept request if it is too old."""
    return turn.queued.request if turn.queued is not None and now >= turn.queued.until else None


def must_wait(group: Group, request: Request, fleet: Fleet) -> bool:
    """Whether a request that passed every guard has to wait for its turn."""
    insists = request.cause is RequestCause.PERSON and request.force
    return fleet.ahead is not None and group.mode is Mode.ACT and not insists


def queued_up(turn: ServiceTurn, request: Request, now: Instant) -> tuple[ServiceTurn, Request | None]:
    """Keep a request; the second value is the replaced request of another author."""
    before = turn.queued
    since = now if before is None else before.since
    after = replace(turn, queued=Queued(request=request, since=since, until=Instant(now + KEPT)))
    return after, None if before is None or _same(before.request, request) else before.request


def brought_up(group: Group, state: GroupState, fleet: Fleet, now: Instant) -> GroupState:
    """End a turn whose change has been carried out, and drop a request that is too old."""
    turn = state.turn
    if turn.began is not None and not scales(group, state, fleet, now):
        turn = replace(turn, began=None)
    if expired(turn, now) is not None:
        turn = replace(turn, queued=None)
    return state if turn == state.turn else replace(state, turn=turn)


def _same(one: Request, other: Request) -> bool:
    """Whether both are one repeated request: policies ask at every tick, under new ids."""
    return _author(one) == _author(other)


def _author(request: Request) -> tuple[RequestCause, PolicyId | None, str]:
    repeats = request.cause in {RequestCause.POLICY, RequestCause.SCHEDULE}
    return request.cause, request.policy if repeats else None, "" if repeats else request.id
