"""Check a request against the guards: each accepts it, makes it smaller, or refuses it with a reason.

In this order; the first refusal is the answer:

==================  ====================================================================  =======================
Guard               Which requests it stops                                               Answer
==================  ====================================================================  =======================
nothing to do       all: the requested size is the desired size                           NO_CHANGE
pause               all in a paused direction, except a person's with force               PAUSED
bounds              policy, alarm: made smaller (a clamp); already there: refused         AT_MAX, AT_MIN
bounds              person: above max without force; below min unless paused and forced   ABOVE_MAX, BELOW_MIN
alert's floor       person: below it, unless paused and forced; for all others it is min  ALERT_FLOOR
shield              policy, alarm: a scale-in while an alert shields the group, or has    SHIELDED
                    no data itself
freeze              policy, alarm: a change in a direction that an alert, a person, or    FROZEN
                    a freeze window of the group, freezes
balancer not found  policy, alarm: a scale-in while a balancer of the group does not      BALANCER_NOT_FOUND
                    exist
quiet time          policy, alarm: a scale-in by any quiet time, a scale-out only by one  QUIET
                    that a scale-out began, and that of a forecast by none; a policy's
                    own quiet time only stops itself
catching up         policy, alarm: a scale-out while earlier growth is not in service,    CATCHING_UP
                    up to the build timeout; see Note [Growth beyond growth]
builds fail         policy, alarm: a scale-out while builds back off                      BUILD_BACK_OFF
keep growth         policy, alarm: a scale-in so soon after growth that the group         QUIET
                    declares (``keep_growth``); a forecast: within a quarter of an hour
stabilisation       policy: a scale-in below the highest advice of the window, made       STABILISING
                    smaller (a clamp); nothing left: refused
projection          policy: a scale-in after which another policy would scale out again   WOULD_BOUNCE
                    at once, made smaller (a clamp); nothing left: refused
most in a span      policy, alarm: growth and scale-in made smaller (a clamp); nothing    MAX_CHANGE
                    left: refused
flap damping        policy, alarm: a scale-in after too many reversals (before quiet)     FLAPPING
budget              policy, alarm: growth made smaller (a clamp); nothing left: refused   BUDGET
==================  ====================================================================  =======================

`trigger.decide` has already answered requests during a pause of both directions, except a person's with force. Min and
max are those in force at this moment; if only a schedule's floor or ceiling stops a person, the answer is SCHEDULE.
A schedule's request passes the same guards as an alarm's.
A person's request passes no quiet time, back-off or budget: convergence paces the creates.

An alert, a person or a window that shields or freezes stops requests only: changed bounds and floors, also of another
alert, go on (`trigger.guards.enforced_bounds`). If two alerts contradict each other, the floor wins: more members cost
money, never the fleet, and max limits them.
Source: DESIGN.md "Sizing"; issue 3, item 2; issue 5, item 6.

# Note [Growth beyond growth]

While members boot, a counter still shows the load on those that serve. A policy that only knows *more* would add again
for the same load, so it waits until its members serve. A request that names a size by itself (``set``) does not wait:
it asks for more than the desired size only if what serves and what boots, which desired size counts, is too little. A
target does wait: what it measures may be a latency or a queue, which grows while too few members serve, and so tells
nothing of how many will be needed. A forecast names a size, too: it looks further than a boot time. Source: DESIGN.md
"No runaway".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from config.model.adjustments import Adjustment, AdjustmentVerb
from config.model.catalogue import Group, QuietScope
from config.model.effects import FrozenDirection
from config.model.freezes import frozen_until
from config.model.pacing import Pace
from config.units import Instant
from trigger.forecast.shadows import KEEPS_GROWTH
from trigger.guards.pacing import allowance, free_at, held_high_until
from trigger.guards.stabilisation import free_at as stable_at
from trigger.guards.stabilisation import highest
from trigger.policies.projection import least_safe
from trigger.policies.signals import floor_of
from trigger.policies.tracking import requested_size
from trigger.reasons import Reason
from trigger.requests import Clamp, Fleet, GroupState, Request, RequestCause, RequestOutcome, SignalKind
from trigger.verdicts import NO_PROJECTION, Aim, Direction, Foreseen, ProjectedLoad, RequestedChange


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardContext:
    """The context of a request: one group at one moment, with a size to start from."""

    group: Group
    fleet: Fleet
    state: GroupState
    """Updated to this moment by `trigger.guards.enforced_bounds`."""
    now: Instant
    base: int
    """The desired size that arithmetic starts from."""
    least: int
    """The limit of a scale-in: min, the floor of an alert, or the floor without data."""
    headroom: ProjectedLoad = NO_PROJECTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Bid:
    """One weighed request: its answer, unless another request wins."""

    answer: RequestOutcome
    size: int | None
    """The new desired size; ``None``: refused."""
    direction: Direction | None
    """The direction of the request, refused or not; ``None``: no change, or unknown."""


def bid(request: Request, context: GuardContext) -> Bid:
    """Weigh one request by itself."""
    wanted = requested_size(context.base, context.fleet.in_service, request.adjustment)
    if wanted == context.base:
        return refused(request, wanted, None, Reason.NO_CHANGE)
    direction = Direction.OUT if wanted > context.base else Direction.IN
    if context.state.stopped.stops(direction) and not (request.cause is RequestCause.PERSON and request.force):
        return refused(request, wanted, direction, Reason.PAUSED)
    if request.cause is RequestCause.PERSON:
        return _by_person(request, wanted, direction, context)
    return _growth(request, wanted, context) if direction is Direction.OUT else _shrinking(request, wanted, context)


def refused(
    request: Request,
    wanted: int | None,
    direction: Direction | None,
    reason: Reason,
    *,
    clamps: tuple[Clamp, ...] = (),
    until: Instant | None = None,
) -> Bid:
    """Refuse a request."""
    answer = RequestOutcome(request=request, reason=reason, wanted=wanted, clamps=clamps, until=until)
    return Bid(answer=answer, size=None, direction=direction)


def _by_person(request: Request, wanted: int, direction: Direction, context: GuardContext) -> Bid:
    insisted = context.state.stopped.halts  # then only those with force get this far
    if wanted > context.group.maximum and not request.force:
        return refused(request, wanted, direction, Reason.ABOVE_MAX)
    if wanted < context.group.minimum and not insisted:
        return refused(request, wanted, direction, Reason.BELOW_MIN)
    if wanted < floor_of(context.group, context.state.signals) and not insisted:
        return refused(request, wanted, direction, Reason.ALERT_FLOOR, until=_floored_until(wanted, context))
    inside = context.group.minimum <= wanted <= context.group.maximum
    answer = RequestOutcome(request=request, reason=_moved(direction) if inside else Reason.FORCED, wanted=wanted)
    return Bid(answer=answer, size=wanted, direction=direction)


def _growth(request: Request, wanted: int, context: GuardContext) -> Bid:
    if context.base >= context.group.maximum:
        return refused(request, wanted, Direction.OUT, Reason.AT_MAX)
    size, clamps = _clamped(wanted, min(wanted, context.group.maximum), Reason.AT_MAX)
    refusal = _growth_waits(request, context)
    if refusal is not None:
        reason, until = refusal
        return refused(request, wanted, Direction.OUT, reason, clamps=clamps, until=until)
    size, paced = _paced(size, Direction.OUT, context)
    if size == context.base:
        return refused(
            request, wanted, Direction.OUT, Reason.MAX_CHANGE, clamps=clamps, until=_paced_until(context, Direction.OUT)
        )
    if context.fleet.creates_left <= 0:
        return refused(request, wanted, Direction.OUT, Reason.BUDGET, clamps=clamps + paced)
    size, spent = _clamped(size, min(size, context.base + context.fleet.creates_left), Reason.BUDGET)
    answer = RequestOutcome(request=request, reason=Reason.SCALED_OUT, wanted=wanted, clamps=clamps + paced + spent)
    return Bid(answer=answer, size=size, direction=Direction.OUT)


def _growth_waits(request: Request, context: GuardContext) -> tuple[Reason, Instant] | None:
    """Find the guard that makes growth wait, and until when."""
    barred = _barred(Direction.OUT, context)
    if barred is not None:
        return barred
    quiet = None if isinstance(request.adjustment, Foreseen) else _quiet_until(request, Direction.OUT, context)
    if quiet is not None:
        return Reason.QUIET, quiet
    awaited = _awaited_until(request, context)
    if awaited is not None:
        return Reason.CATCHING_UP, awaited
    back_off = context.fleet.back_off_until
    if back_off is not None and context.now < back_off:
        return Reason.BUILD_BACK_OFF, back_off
    return None


def _awaited_until(request: Request, context: GuardContext) -> Instant | None:
    """Return until when a request waits for earlier growth; ``None``: it need not. Note [Growth beyond growth]."""
    grown_at = context.state.grown_at
    if grown_at is None or context.fleet.in_service >= context.base or _knows_its_size(request.adjustment):
        return None
    patience_ends = Instant(grown_at + context.group.build_timeout)
    return patience_ends if context.now < patience_ends else None


def _knows_its_size(change: RequestedChange) -> bool:
    """Return whether a change names a size by itself, whatever number of members serves now."""
    match change:
        case Adjustment():
            return change.verb is AdjustmentVerb.SET and not change.percent
        case Aim():
            return False
        case Foreseen():
            return True
        case _:
            assert_never(change)


def _kept_until(request: Request, context: GuardContext) -> Instant | None:
    """Return until when the group keeps what was added; ``None``: it may shrink."""
    keep, grown_at = context.group.keep_growth or 0.0, context.state.grown_at
    if isinstance(request.adjustment, Foreseen):
        keep = max(keep, KEEPS_GROWTH)
    if grown_at is None or context.now >= grown_at + keep:
        return None
    return Instant(grown_at + keep)


def _floored_until(size: int, context: GuardContext) -> Instant:
    """Return when the last alert with a floor above ``size`` ends."""
    floors = (signal for signal in context.state.signals if signal.kind is SignalKind.FLOOR)
    return max(signal.until for signal in floors if (signal.size or 0) > size)


_BARS = {
    Direction.IN: {
        Reason.SHIELDED: frozenset({SignalKind.SHIELD, SignalKind.BLIND}),
        Reason.FROZEN: frozenset({SignalKind.FREEZE_IN}),
    },
    Direction.OUT: {Reason.FROZEN: frozenset({SignalKind.FREEZE_OUT})},
}


def _barred(direction: Direction, context: GuardContext) -> tuple[Reason, Instant] | None:
    """Find the reason why an alert, a person or a window blocks this direction, and when the last of them ends."""
    for reason, kinds in _BARS[direction].items():
        ends = [signal.until for signal in context.state.signals if signal.kind in kinds]
        window = frozen_until(context.group.freezes, _WAYS[direction], context.now) if reason is Reason.FROZEN else None
        if window is not None:
            ends.append(window)
        if ends:
            return reason, max(ends)
    return None


_WAYS = {Direction.IN: FrozenDirection.IN, Direction.OUT: FrozenDirection.OUT}


def _quiet_until(request: Request, direction: Direction, context: GuardContext) -> Instant | None:
    """Return when the last quiet time that stops the request ends. The state has no quiet times that are over."""
    blocking = (
        quiet.until
        for quiet in context.state.quiets
        if (quiet.scope is QuietScope.GROUP or quiet.policy == request.policy)
        and not (direction is Direction.OUT and quiet.direction is Direction.IN)
    )
    return max(blocking, default=None)


def _shrinking(request: Request, wanted: int, context: GuardContext) -> Bid:
    if context.base <= context.least:
        return refused(request, wanted, Direction.IN, Reason.AT_MIN)
    size, clamps = _clamped(wanted, max(wanted, context.least), Reason.AT_MIN)
    if not context.state.kept:  # surplus members of the first listing leave request by request, not all at the first
        size, surplus = _clamped(size, min(size, context.group.maximum), Reason.AT_MAX)
        clamps += surplus
    refusal = _shrinking_waits(request, context)
    if refusal is not None:
        reason, until = refusal
        return refused(request, wanted, Direction.IN, reason, clamps=clamps, until=until)
    size, held = _clamped(size, max(size, _highest(request, context)), Reason.STABILISING)
    clamps += held
    safe = _safe(request, size, context)
    if safe >= context.base:
        return refused(request, wanted, Direction.IN, Reason.WOULD_BOUNCE, clamps=clamps)
    size, lifted = _clamped(size, safe, Reason.WOULD_BOUNCE)
    clamps += lifted
    size, paced = _paced(size, Direction.IN, context)
    if size == context.base:
        return refused(
            request, wanted, Direction.IN, Reason.MAX_CHANGE, clamps=clamps, until=_paced_until(context, Direction.IN)
        )
    answer = RequestOutcome(request=request, reason=Reason.SCALED_IN, wanted=wanted, clamps=clamps + paced)
    return Bid(answer=answer, size=size, direction=Direction.IN)


def _highest(request: Request, context: GuardContext) -> int:
    """Return the highest advice that counts: policies go no lower. It does not limit other requests."""
    window = context.group.stabilisation
    if request.cause is not RequestCause.POLICY or window is None:
        return 0
    return highest(context.state.observed, context.base, context.now, window=window, interval=context.group.interval)


def _safe(request: Request, size: int, context: GuardContext) -> int:
    """Return ``size``, or the least larger size at which no policy would scale out at once; at most max."""
    if request.cause is not RequestCause.POLICY:
        return size
    fleet, base = context.fleet, context.base
    carrying = fleet.in_service if fleet.listed else max(fleet.in_service, base)  # unlisted members may serve, too
    return max(size, min(least_safe(context.headroom, carrying, base), context.group.maximum))


def _shrinking_waits(request: Request, context: GuardContext) -> tuple[Reason, Instant | None] | None:
    """Find the guard that makes a scale-in wait, and until when; time ``None``: unknown."""
    barred = _barred(Direction.IN, context)
    if barred is not None:
        return barred
    if context.fleet.balancer_not_found:
        return Reason.BALANCER_NOT_FOUND, None
    damping = context.group.flap_damping
    high = None if damping is None else held_high_until(damping, context.state.moves)
    if high is not None and context.now < high:
        return Reason.FLAPPING, high
    quiet = max(
        filter(None, (_quiet_until(request, Direction.IN, context), _kept_until(request, context))), default=None
    )
    if quiet is not None:
        return Reason.QUIET, quiet
    window = context.group.stabilisation
    if window is not None and _highest(request, context) >= context.base:
        return Reason.STABILISING, stable_at(context.state.observed, context.base, context.now, window=window)
    return None


def _pace(context: GuardContext, direction: Direction) -> Pace | None:
    return context.group.max_growth if direction is Direction.OUT else context.group.max_shrinkage


def _paced(size: int, direction: Direction, context: GuardContext) -> tuple[int, tuple[Clamp, ...]]:
    """Limit a change to the group's maximum rate of change; the result is the base if nothing is allowed."""
    pace, base = _pace(context, direction), context.base
    if pace is None:
        return size, ()
    left = allowance(pace, context.state.moves, base, direction, context.now)
    return _clamped(
        size, min(size, base + left) if direction is Direction.OUT else max(size, base - left), Reason.MAX_CHANGE
    )


def _paced_until(context: GuardContext, direction: Direction) -> Instant | None:
    pace = _pace(context, direction)
    return None if pace is None else free_at(pace, context.state.moves, direction, context.now)


def _clamped(before: int, after: int, guard: Reason) -> tuple[int, tuple[Clamp, ...]]:
    return after, (() if before == after else (Clamp(guard=guard, before=before, after=after),))


def _moved(direction: Direction) -> Reason:
    return Reason.SCALED_OUT if direction is Direction.OUT else Reason.SCALED_IN
