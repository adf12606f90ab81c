"""Decide the desired size: every request for another size comes here, and gets exactly one answer.

In this order:

1. **Halted.** An ORPHANED group, mode ``off`` (MODE_OFF), another daemon that manages the members (SUPERSEDED), a
   store that may be older than the fleet (OLDER_STORE) and a pause of the group or of the fleet (PAUSED) refuse every
   request with that reason and change nothing. One exception: while paused, a person may set any size with force. A
   pause of one direction does not halt: it is a guard.
2. **Enforced.** A first listing, an alert's floor, changed bounds, a schedule's bounds, or missing data may change
   the size without a request (`trigger.guards.enforced_bounds`). All bounds are those in force at this moment
   (`trigger.policies.schedules`).
3. **Weighed.** Each request passes the guards by itself (`trigger.guards.gate`). Without a desired size the answer is
   NOT_LISTED; if the caller has read another revision of the size than this one, it is OUTBID; if a schedule's time
   passed too long ago, it is MISSED.
4. **Combined.** At most one request wins (`trigger.guards.combine`). In a service it may have to wait for its turn, and
   is kept: WAITING_TURN (`trigger.guards.turns`). When its turn comes, it is weighed again with the others.
5. **Carried out.** All changes of one moment are one revision; an enforced change is then a clamp of the winner's
   answer. A change by request begins its quiet time, in the direction of the change, and growth is recorded for
   CATCHING_UP. *Forced* lasts until the next accepted request. *Kept* lasts until a person's request, or until
   scale-ins have brought the size to max: each removes only as many members as it asks for.
6. **Advised.** In mode ``advise`` all of this is computed, but only the *observed* part of the state changes: the sizes
   that policies advised fill the stabilisation window in any mode. A schedule's time that was advised is handled.

The decision's reason is the winner's; else the reason of an enforced change; else NOT_LISTED; else the first of the
answers in the order of `_SPECIFIC_FIRST`; else BLIND if no policy could be judged, HOLDING if a policy holds, FORCED
while a forced size is outside the bounds, and STEADY.

Total and deterministic; the order of requests never matters. Source: DESIGN.md "Sizing".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from config.model.catalogue import Group, Mode, OnVanish, Projection
from config.units import Instant, Moment
from trigger.guards.combine import combined
from trigger.guards.enforced_bounds import enforce_bounds, is_blind, least_size
from trigger.guards.gate import Bid, GuardContext, bid, refused
from trigger.guards.pacing import remembered
from trigger.guards.stabilisation import observing, unobserved
from trigger.guards.turns import brought_up, called, expired, must_wait, of_a_policy, queued_up
from trigger.policies.schedules import bounded, limited_until, watching
from trigger.policies.tracking import requested_size
from trigger.reasons import Reason
from trigger.requests import (
    Clamp,
    Decision,
    Fleet,
    GroupState,
    Observed,
    Quiet,
    Request,
    RequestCause,
    RequestOutcome,
    ServiceTurn,
    Shrunk,
    SizeChange,
    Watched,
)
from trigger.verdicts import NO_PROJECTION, Evaluation

_SPECIFIC_FIRST = (
    Reason.ABOVE_MAX,
    Reason.BELOW_MIN,
    Reason.ALERT_FLOOR,
    Reason.SCHEDULE,
    Reason.BUILD_BACK_OFF,
    Reason.BUDGET,
    Reason.MAX_CHANGE,
    Reason.AT_MAX,
    Reason.MISSED,
    Reason.PAUSED,
    Reason.FROZEN,
    Reason.SHIELDED,
    Reason.BALANCER_NOT_FOUND,
    Reason.CATCHING_UP,
    Reason.FLAPPING,
    Reason.EXPIRED,
    Reason.WAITING_TURN,
    Reason.QUIET,
    Reason.STABILISING,
    Reason.WOULD_BOUNCE,
    Reason.DISAGREED,
    Reason.AT_MIN,
    Reason.OUTBID,
    Reason.NO_CHANGE,
)
"""Refusals, the most specific first: of a person; of growth that is impossible; by an alert; those that end by
themselves; nothing to do."""


def decide(
    group: Group,
    requests: Sequence[Request],
    fleet: Fleet,
    state: GroupState,
    now: Moment,
    *,
    evaluation: Evaluation | None,
) -> Decision:
    """Answer every request about ``group`` at one moment, and return its new desired size.

    Args:
        group: as declared, or as last declared if it is orphaned.
        requests: any number, from any source, in any order.
        fleet: the result of the last convergence pass.
        state: the state after the last decision.
        now: this moment; only the wall clock is used.
        evaluation: of this tick, if there is one: whether policies have data, and which agree to a scale-in.
    """
    declared, group = group, bounded(group, state, now.wall)
    halted, blind = _halted(group, fleet, state), is_blind(evaluation)
    settled, cause = (unobserved(state), None) if halted else enforce_bounds(group, fleet, state, now.wall, blind=blind)
    if not halted:
        settled = observing(group, settled, fleet.in_service, evaluation, now.wall)
    cause = _owned(declared, cause, state.desired)
    context = _context(group, fleet, settled, now.wall, evaluation)
    untimely = halted is not None or (evaluation is None and of_a_policy(settled.turn))
    settled, asked, over = _in_turn(group, fleet, settled, requests, now.wall, halted=untimely)
    weighed = [_by_schedule(declared, _weighed(request, halted, context), now.wall) for request in asked]
    bids, won = combined(weighed, settled.desired or 0, fleet.in_service, evaluation)
    settled, bids, won = _kept(group, fleet, settled, (*bids, *over), won, now.wall)
    winner = None if won is None else _winner_outcome(group, won, cause, state.desired, settled.desired)
    answers = tuple(winner if bid is won and winner is not None else bid.answer for bid in bids)
    after = settled if won is None else _carried_out(group, state, settled, won, now.wall)
    after = _watching(declared, after, answers, now.wall)
    if winner is not None:
        reason = winner.reason
    else:
        reason = halted or _enforced_reason(group, cause) or _unmoved(answers, settled, evaluation)
    acting = group.mode is not Mode.ADVISE
    return Decision(
        group=group.id,
        at=now,
        reason=reason,
        desired_from=state.desired,
        desired_to=after.desired if acting else state.desired,
        answers=answers,
        winner=winner,
        advised_to=None if acting or after.desired == state.desired else after.desired,
        state=after if acting else _having_observed(state, settled.observed, after.watched),
    )


def vanished(group: Group, state: GroupState, count: int) -> GroupState:
    """Lower desired size by ``count`` vanished members, never below min, as a new revision.

    Only if the group declares ``on_vanish: shrink``; otherwise members are replaced, and the state does not change.
    Begins no quiet time. Source: DESIGN.md "Moving".
    """
    if group.on_vanish is not OnVanish.SHRINK:
        return state
    after = lowered(group, state, count)
    if after.revision == state.revision or state.desired is None:
        return state
    earlier = state.desired if state.earlier is None else state.earlier
    return replace(after, shrunk=Shrunk(size=earlier, revision=after.revision))


def returned(group: Group, state: GroupState, count: int) -> GroupState:
    """Raise desired size again for ``count`` members that came back, as a new revision.

    It never rises above the earlier size, nor above max; after another decision nothing changes. Begins no quiet time.
    Source: DESIGN.md, "Members that come back".
    """
    earlier = state.earlier
    if state.desired is None or earlier is None:
        return state
    size = min(state.desired + count, earlier, max(group.maximum, state.desired))
    if size <= state.desired:
        return state
    revision = state.revision + 1
    return replace(state, desired=size, revision=revision, shrunk=Shrunk(size=earlier, revision=revision))


def lowered(group: Group, state: GroupState, count: int) -> GroupState:
    """Lower desired size by members that will not be replaced, never below min, as a new revision.

    Begins no quiet time.
    """
    if state.desired is None:
        return state
    size = max(state.desired - count, min(group.minimum, state.desired))
    if size >= state.desired:
        return state
    above = size > group.maximum
    return replace(
        state, desired=size, revision=state.revision + 1, forced=state.forced and above, kept=state.kept and above
    )


def _halted(group: Group, fleet: Fleet, state: GroupState) -> Reason | None:
    if state.orphaned:
        return Reason.ORPHANED
    if group.mode is Mode.OFF:
        return Reason.MODE_OFF
    if fleet.superseded:
        return Reason.SUPERSEDED
    if state.older is not None:
        return Reason.OLDER_STORE
    return Reason.PAUSED if state.stopped.halts else None


def _context(
    group: Group, fleet: Fleet, state: GroupState, now: Instant, evaluation: Evaluation | None
) -> GuardContext | None:
    if state.desired is None:
        return None
    least = least_size(group, state, blind=is_blind(evaluation))
    load = NO_PROJECTION if evaluation is None or group.projection is Projection.OFF else evaluation.headroom
    return GuardContext(group=group, fleet=fleet, state=state, now=now, base=state.desired, least=least, headroom=load)


def _weighed(request: Request, halted: Reason | None, context: GuardContext | None) -> Bid:
    insists = halted is Reason.PAUSED and request.cause is RequestCause.PERSON and request.force
    if context is None:
        return refused(request, None, None, halted or Reason.NOT_LISTED)
    if request.expects is not None and request.expects != context.state.revision:
        wanted = requested_size(context.base, context.fleet.in_service, request.adjustment)
        return refused(request, wanted, None, Reason.OUTBID)
    if halted and not insists:
        return refused(
            request, requested_size(context.base, context.fleet.in_service, request.adjustment), None, halted
        )
    if request.missed:
        return refused(
            request, requested_size(context.base, context.fleet.in_service, request.adjustment), None, Reason.MISSED
        )
    return bid(request, context)


def _by_schedule(declared: Group, weighed: Bid, now: Instant) -> Bid:
    """Name a schedule as the reason where the declared bounds would have allowed what a person asks for."""
    answer, bounds = weighed.answer, {Reason.ABOVE_MAX, Reason.BELOW_MIN}
    if answer.reason not in bounds or answer.wanted is None or not _allows(declared, answer.wanted):
        return weighed
    until = limited_until(declared, answer.wanted, now)
    return replace(weighed, answer=replace(answer, reason=Reason.SCHEDULE, until=until))


def _owned(declared: Group, cause: Reason | None, before: int | None) -> Reason | None:
    """Return the reason of an enforced change: SCHEDULE, if the declared bounds allow the size before it."""
    by_schedule = cause is Reason.BOUNDS and before is not None and _allows(declared, before)
    return Reason.SCHEDULE if by_schedule else cause


def _allows(group: Group, size: int) -> bool:
    return group.minimum <= size <= group.maximum


def _watching(declared: Group, state: GroupState, answers: Sequence[RequestOutcome], now: Instant) -> GroupState:
    watched = watching(declared, state, answers, now)
    return state if watched == state.watched else replace(state, watched=watched)


def _in_turn(
    group: Group, fleet: Fleet, state: GroupState, requests: Sequence[Request], now: Instant, *, halted: bool
) -> tuple[GroupState, Sequence[Request], tuple[Bid, ...]]:
    """Update the turn of a service's group; return the state, all requests, and the answers to expired ones.

    The kept request is among the requests if its turn has come.
    """
    if halted or state.turn == ServiceTurn() or group.mode is not Mode.ACT:
        return state, requests, ()
    late, again = expired(state.turn, now), called(state.turn, requests, fleet, now)
    state = brought_up(group, state, fleet, now)
    over = () if late is None else (refused(late, None, None, Reason.EXPIRED),)
    if again is not None:
        requests = (*requests, again)
    if fleet.ahead is None and state.turn.queued is not None:  # asked again, under this id or a newer one
        state = replace(state, turn=replace(state.turn, queued=None))
    return state, requests, over


def _kept(
    group: Group, fleet: Fleet, state: GroupState, bids: tuple[Bid, ...], won: Bid | None, now: Instant
) -> tuple[GroupState, tuple[Bid, ...], Bid | None]:
    """Keep the winning request if another group of the service scales first."""
    if won is None or not must_wait(group, won.answer.request, fleet):
        return state, bids, won
    turn, displaced = queued_up(state.turn, won.answer.request, now)
    waits = replace(won, answer=replace(won.answer, reason=Reason.WAITING_TURN), size=None)
    bids = tuple(waits if bid is won else bid for bid in bids)
    if displaced is not None:
        bids = (*bids, refused(displaced, None, None, Reason.OUTBID))
    return replace(state, turn=turn), bids, None


def _carried_out(group: Group, state: GroupState, settled: GroupState, won: Bid, now: Instant) -> GroupState:
    request, size, base = won.answer.request, won.size, settled.desired
    if size is None or base is None or won.direction is None:
        return settled
    by_person = request.cause is RequestCause.PERSON
    quiet = Quiet(
        policy=request.policy,
        scope=request.quiet_scope,
        direction=won.direction,
        until=Instant(now + request.quiet_time),
        lasts=request.quiet_time,
    )
    return replace(
        settled,
        desired=size,
        revision=state.revision + (size != state.desired),
        forced=by_person and not group.minimum <= size <= group.maximum,
        kept=settled.kept and not by_person and size > group.maximum,
        quiets=_with(settled.quiets, quiet) if request.quiet_time > 0 else settled.quiets,
        grown_at=now if size > base else settled.grown_at,
        moves=settled.moves if by_person else _moved_on(group, settled, base, size, now),
        observed=settled.observed if request.cause is RequestCause.POLICY else Observed(),
        turn=settled.turn if group.service is None else replace(settled.turn, began=now),
    )


def _moved_on(group: Group, state: GroupState, before: int, after: int, now: Instant) -> tuple[SizeChange, ...]:
    return remembered((*state.moves, SizeChange(at=now, before=before, after=after)), group, now)


def _having_observed(state: GroupState, observed: Observed, watched: tuple[Watched, ...]) -> GroupState:
    """Update only observations and handled times; return the same object if neither changed."""
    same = observed is state.observed and watched == state.watched
    return state if same else replace(state, observed=observed, watched=watched)


def _with(quiets: tuple[Quiet, ...], new: Quiet) -> tuple[Quiet, ...]:
    """Add a quiet time; of two with the same policy, scope and direction, the later end counts."""
    twins = [quiet for quiet in quiets if _sort(quiet) == _sort(new)]
    others = tuple(quiet for quiet in quiets if _sort(quiet) != _sort(new))
    return (*others, max((*twins, new), key=lambda quiet: quiet.until))


def _sort(quiet: Quiet) -> tuple[object, ...]:
    return quiet.policy, quiet.scope, quiet.direction


def _winner_outcome(
    group: Group, won: Bid, cause: Reason | None, before: int | None, after: int | None
) -> RequestOutcome:
    """Return the winner's answer, with an enforced change of the same moment as a clamp; ADVISED in mode advise."""
    answer = won.answer
    if cause is not None and before is not None and after is not None:
        answer = replace(answer, clamps=(Clamp(guard=cause, before=before, after=after), *answer.clamps))
    return replace(answer, reason=Reason.ADVISED) if group.mode is Mode.ADVISE else answer


def _enforced_reason(group: Group, cause: Reason | None) -> Reason | None:
    """Return the reason of an enforced change. In mode advise a first listing is none: it would come at every tick."""
    if group.mode is not Mode.ADVISE or cause is None:
        return cause
    return None if cause is Reason.FIRST_LISTING else Reason.ADVISED


def _unmoved(answers: Sequence[RequestOutcome], state: GroupState, evaluation: Evaluation | None) -> Reason:
    """Return the reason why nothing changed."""
    if state.desired is None:
        return Reason.NOT_LISTED
    if answers:
        return min((answer.reason for answer in answers), key=_SPECIFIC_FIRST.index)
    if is_blind(evaluation):
        return Reason.BLIND
    if evaluation is not None and any(advice.reason is Reason.HOLDING for advice in evaluation.advices):
        return Reason.HOLDING
    return Reason.FORCED if state.forced else Reason.STEADY
