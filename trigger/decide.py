"""The one door: everything that wants another size passes here, and every wish gets exactly one answer.

In this order:

1. **Halted.** An ORPHANED group, mode ``off`` (MODE_OFF), another daemon that keeps the members (SUPERSEDED), a store
   that may be older than the fleet (OLDER_STORE) and a pause, of the group or of the whole fleet (PAUSED), answer every
   request so and change nothing. One exception: while paused, a person may set any size with force. A pause of one
   direction halts nothing: it is a guard.
2. **Unasked.** A first listing, an alert's floor, changed bounds, those of a schedule, or blindness may change the
   size (`trigger.guards.enforced_bounds`). All bounds are those that stand at this moment
   (`trigger.policies.schedules`).
3. **Weighed.** Each request passes the guards by itself (`trigger.guards.gate`). Without a desired size: NOT_LISTED; of
a
   schedule whose time passed too long ago: MISSED.
4. **Combined.** At most one request wins (`trigger.guards.combine`). In a service it may have to wait for its turn, and
is
   kept: WAITING_TURN (`trigger.guards.turns`); what was kept is weighed with the others when its turn comes.
5. **Carried out.** All changes of one moment are one revision; what changed unasked is then a clamp of the winner's
   answer. A change by request begins its quiet time, in the direction that it went, and growth is noted for
   CATCHING_UP. *Forced* lasts until the next accepted request. *Kept* lasts until a person's, or until scale-ins have
   brought the size to max: each takes only what it asked for.
6. **Advised.** In mode ``advise`` all of this is computed, and of the state only what was *observed* then changes:
   what policies advised is so whether or not anybody acts on it, and a stabilisation window must fill all the same.
   Likewise, a time of a schedule that was advised is over.

The decision's reason is the winner's; else why the size changed unasked; else NOT_LISTED; else the most telling answer
(`_TELLING`); else BLIND if no policy could be judged, HOLDING if any holds, FORCED while a person's word keeps the
size outside the bounds, and STEADY.

Total and deterministic; the order of requests never matters. Source: DESIGN.md "Sizing".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from config.model.catalogue import Group, Mode, OnVanish, Projection
from config.units import Instant, Moment
from trigger.guards.combine import combined
from trigger.guards.enforced_bounds import is_blind, least_size, unasked
from trigger.guards.gate import Bid, GuardContext, bid, refused
from trigger.guards.pacing import remembered
from trigger.guards.stabilisation import observing, unobserved
from trigger.guards.turns import brought_up, called, expired, must_wait, of_a_policy, queued_up
from trigger.policies.schedules import bounded, limited_until, watching
from trigger.policies.tracking import wished
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
from trigger.verdicts import NOBODY_SAYS, Evaluation

_TELLING = (
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
"""Refusals, most telling first: a person's; growth that cannot be had; an alert's; what passes by itself; nothing to
do."""


def decide(
    group: Group,
    requests: Sequence[Request],
    fleet: Fleet,
    state: GroupState,
    now: Moment,
    *,
    evaluation: Evaluation | None,
) -> Decision:
    """Answer every request about ``group`` at one moment, and say what its desired size becomes.

    Args:
        group: as declared, or as last declared if it is orphaned.
        requests: any number, from anybody, in any order.
        fleet: what the last convergence pass saw.
        state: what the last decision left.
        now: this moment; only its wall clock plays a part.
        evaluation: this tick's, if there is one: whether the group is blind, and who agrees to a scale-in.
    """
    declared, group = group, bounded(group, state, now.wall)
    halted, blind = _halted(group, fleet, state), is_blind(evaluation)
    settled, cause = (unobserved(state), None) if halted else unasked(group, fleet, state, now.wall, blind=blind)
    if not halted:
        settled = observing(group, settled, fleet.in_service, evaluation, now.wall)
    cause = _owned(declared, cause, state.desired)
    scene = _scene(group, fleet, settled, now.wall, evaluation)
    untimely = halted is not None or (evaluation is None and of_a_policy(settled.turn))
    settled, asked, over = _in_turn(group, fleet, settled, requests, now.wall, halted=untimely)
    weighed = [_by_schedule(declared, _weighed(request, halted, scene), now.wall) for request in asked]
    bids, won = combined(weighed, settled.desired or 0, fleet.in_service, evaluation)
    settled, bids, won = _kept(group, fleet, settled, (*bids, *over), won, now.wall)
    winner = None if won is None else _told(group, won, cause, state.desired, settled.desired)
    answers = tuple(winner if bid is won and winner is not None else bid.answer for bid in bids)
    after = settled if won is None else _carried_out(group, state, settled, won, now.wall)
    after = _watching(declared, after, answers, now.wall)
    if winner is not None:
        reason = winner.reason
    else:
        reason = halted or _cause_told(group, cause) or _unmoved(answers, settled, evaluation)
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
    """Let ``count`` vanished members lower desired size, never below min, as a new revision.

    Only where the group declares ``on_vanish: shrink``; otherwise they are replaced, and nothing changes here.
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
    """Let ``count`` members that are back raise desired size again, as a new revision.

    It never rises above what it was before, nor above max; where another decision came between, nothing changes.
    Begins no quiet time. Source: DESIGN.md, "Members that come back".
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
    """Lower desired size by members that it counts and that will not be, never below min, as a new revision.

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


def _scene(
    group: Group, fleet: Fleet, state: GroupState, now: Instant, evaluation: Evaluation | None
) -> GuardContext | None:
    if state.desired is None:
        return None
    least = least_size(group, state, blind=is_blind(evaluation))
    room = NOBODY_SAYS if evaluation is None or group.projection is Projection.OFF else evaluation.headroom
    return GuardContext(group=group, fleet=fleet, state=state, now=now, base=state.desired, least=least, headroom=room)


def _weighed(request: Request, halted: Reason | None, scene: GuardContext | None) -> Bid:
    insists = halted is Reason.PAUSED and request.cause is RequestCause.PERSON and request.force
    if scene is None:
        return refused(request, None, None, halted or Reason.NOT_LISTED)
    if halted and not insists:
        return refused(request, wished(scene.base, scene.fleet.in_service, request.adjustment), None, halted)
    if request.missed:
        return refused(request, wished(scene.base, scene.fleet.in_service, request.adjustment), None, Reason.MISSED)
    return bid(request, scene)


def _by_schedule(declared: Group, weighed: Bid, now: Instant) -> Bid:
    """Name a schedule as the reason where the declared bounds would have allowed what a person asks for."""
    answer, bounds = weighed.answer, {Reason.ABOVE_MAX, Reason.BELOW_MIN}
    if answer.reason not in bounds or answer.wanted is None or not _allows(declared, answer.wanted):
        return weighed
    until = limited_until(declared, answer.wanted, now)
    return replace(weighed, answer=replace(answer, reason=Reason.SCHEDULE, until=until))


def _owned(declared: Group, cause: Reason | None, before: int | None) -> Reason | None:
    """Why the size changed unasked: by a schedule, if the declared bounds allow what it was."""
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
    """Bring a service's group up to this moment: who asks, the kept wish too if its turn has come, and what is over."""
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
    """Keep the wish that won where another group of the service comes first."""
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
    """The very same state where nothing was observed, and no time of a schedule is over."""
    same = observed is state.observed and watched == state.watched
    return state if same else replace(state, observed=observed, watched=watched)


def _with(quiets: tuple[Quiet, ...], new: Quiet) -> tuple[Quiet, ...]:
    """Add a quiet time; of two of the same policy, scope and direction the later end counts."""
    twins = [quiet for quiet in quiets if _sort(quiet) == _sort(new)]
    others = tuple(quiet for quiet in quiets if _sort(quiet) != _sort(new))
    return (*others, max((*twins, new), key=lambda quiet: quiet.until))


def _sort(quiet: Quiet) -> tuple[object, ...]:
    return quiet.policy, quiet.scope, quiet.direction


def _told(group: Group, won: Bid, cause: Reason | None, before: int | None, after: int | None) -> RequestOutcome:
    """The winner's answer: with what changed unasked at the same moment, and as advice where that is all it is."""
    answer = won.answer
    if cause is not None and before is not None and after is not None:
        answer = replace(answer, clamps=(Clamp(guard=cause, before=before, after=after), *answer.clamps))
    return replace(answer, reason=Reason.ADVISED) if group.mode is Mode.ADVISE else answer


def _cause_told(group: Group, cause: Reason | None) -> Reason | None:
    """Why the size changed unasked. As advice, a first listing is no news: it would come at every tick."""
    if group.mode is not Mode.ADVISE or cause is None:
        return cause
    return None if cause is Reason.FIRST_LISTING else Reason.ADVISED


def _unmoved(answers: Sequence[RequestOutcome], state: GroupState, evaluation: Evaluation | None) -> Reason:
    """Why nothing changed."""
    if state.desired is None:
        return Reason.NOT_LISTED
    if answers:
        return min((answer.reason for answer in answers), key=_TELLING.index)
    if is_blind(evaluation):
        return Reason.BLIND
    if evaluation is not None and any(advice.reason is Reason.HOLDING for advice in evaluation.advices):
        return Reason.HOLDING
    return Reason.FORCED if state.forced else Reason.STEADY
