"""Taking turns: of the groups of one service, one at a time scales.

A group *scales* from the change of its size on until as many members serve as are desired and none is on its way out,
or until its patience ends: whoever cannot build must not hold up the others for ever. A wish that passed every guard
while another group scales, or while one waits that came first, is *kept*: one a group, the newest wins and keeps the
group's place. When nobody is ahead it passes the door again, with all guards anew, and that answer is final. Whoever
has waited longest goes first, so nobody starves; a wish that waited for `KEPT` has EXPIRED.

As in OneFlow, changes are one at a time in a whole service. Unlike there, whoever asks too early is not forgotten, the
order of declaration gives nobody precedence, and a quiet time (its COOLDOWN) is the group's own: it ends no turn later,
so one group's cooldown does not starve the others. A person with force goes at once. Changed bounds, floors, vanished
members and repair never wait. Nothing waits in mode ``advise``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from config.model.catalogue import Group, Mode
from config.units import GroupId, Instant, PolicyId, Seconds
from trigger.requests import Fleet, GroupState, Queued, Request, RequestCause, ServiceTurn

KEPT: Seconds = 600.0
"""For how long a wish waits for its turn after it was last made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One group of a service, as the others see it."""

    group: GroupId
    scales: bool
    waits_since: Instant | None
    """``None``: nothing of it waits, or nobody would carry it out now."""


def peer(group: Group, state: GroupState, fleet: Fleet, now: Instant) -> Peer:
    """How a group stands in its service. One that is halted holds nobody up by waiting."""
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
    """Which group comes before this one; ``None``: it may scale."""
    scaling = [other.group for other in others if other.scales]
    if scaling:
        return min(scaling)
    waiting = [(one.waits_since, one.group) for one in (mine, *others) if one.waits_since is not None]
    first = min(waiting, default=None)
    return None if first is None or first[1] == mine.group else first[1]


def called(turn: ServiceTurn, requests: Sequence[Request], fleet: Fleet, now: Instant) -> Request | None:
    """The kept wish, if it is to be asked again now: nobody is ahead, and its author does not ask anew."""
    queued = turn.queued
    if queued is None or fleet.ahead is not None or now >= queued.until:
        return None
    return None if any(_same(request, queued.request) for request in requests) else queued.request


def of_a_policy(turn: ServiceTurn) -> bool:
    """Whether a policy's wish is kept: it waits for a tick, since between two nobody could say who agrees to it."""
    return turn.queued is not None and turn.queued.request.cause is RequestCause.POLICY


def expired(turn: ServiceTurn, now: Instant) -> Request | None:
    """The kept wish, if it is too old."""
    return turn.queued.request if turn.queued is not None and now >= turn.queued.until else None


def must_wait(group: Group, request: Request, fleet: Fleet) -> bool:
    """Whether a wish that passed every guard is kept for later."""
    insists = request.cause is RequestCause.PERSON and request.force
    return fleet.ahead is not None and group.mode is Mode.ACT and not insists


def queued_up(turn: ServiceTurn, request: Request, now: Instant) -> tuple[ServiceTurn, Request | None]:
    """Keep a wish; the second value is the older one of another author whose place it takes."""
    before = turn.queued
    since = now if before is None else before.since
    after = replace(turn, queued=Queued(request=request, since=since, until=Instant(now + KEPT)))
    return after, None if before is None or _same(before.request, request) else before.request


def brought_up(group: Group, state: GroupState, fleet: Fleet, now: Instant) -> GroupState:
    """End a turn whose change has been carried out, and drop what is too old."""
    turn = state.turn
    if turn.began is not None and not scales(group, state, fleet, now):
        turn = replace(turn, began=None)
    if expired(turn, now) is not None:
        turn = replace(turn, queued=None)
    return state if turn == state.turn else replace(state, turn=turn)


def _same(one: Request, other: Request) -> bool:
    """Whether the same wish is made again: policies ask at every tick, under new ids."""
    return _author(one) == _author(other)


def _author(request: Request) -> tuple[RequestCause, PolicyId | None, str]:
    repeats = request.cause in {RequestCause.POLICY, RequestCause.SCHEDULE}
    return request.cause, request.policy if repeats else None, "" if repeats else request.id
