"""What stands between a wish and a new size: each guard lets it pass, makes it smaller, or refuses with a reason.

In this order; the first refusal is the answer:

==================  ====================================================================  =======================
Guard               Whom it stops                                                         Answer
==================  ====================================================================  =======================
nothing to do       everybody: the size asked for is the desired size                     NO_CHANGE
pause               everybody, in a direction that is paused, but a person with force     PAUSED
bounds              policy, alarm: made smaller (a clamp); already there: refused         AT_MAX, AT_MIN
bounds              person: above max without force; below min unless paused and forced   ABOVE_MAX, BELOW_MIN
alert's floor       person: below it, unless paused and forced; for all others it is min  ALERT_FLOOR
shield              policy, alarm: a scale-in while an alert shields the group, or is     SHIELDED
                    blind itself
freeze              policy, alarm: a change in a direction that an alert, or a freeze     FROZEN
                    window of the group, freezes
balancer not found  policy, alarm: a scale-in while a balancer of the group does not      BALANCER_NOT_FOUND
                    exist
quiet time          policy, alarm: a scale-in by any quiet time, a scale-out only by one  QUIET
                    that a scale-out began; a policy's own quiet time only stops itself
catching up         policy, alarm: a scale-out while earlier growth is not in service,    CATCHING_UP
                    up to the build timeout
builds fail         policy, alarm: a scale-out while builds back off                      BUILD_BACK_OFF
stabilisation       policy: a scale-in below the highest advice of the window, made       STABILISING
                    smaller (a clamp); nothing left: refused
projection          policy: a scale-in after which another policy would want to grow the  WOULD_BOUNCE
                    group again, made smaller (a clamp); nothing left: refused
most in a span      policy, alarm: growth and scale-in made smaller (a clamp); nothing    MAX_CHANGE
                    left: refused
flap damping        policy, alarm: a scale-in after too many reversals (before quiet)     FLAPPING
budget              policy, alarm: growth made smaller (a clamp); nothing left: refused   BUDGET
==================  ====================================================================  =======================

A pause of both directions has answered before (`trigger.decide`), but for a person with force. Min and max are those
that stand at this moment; a person whom only a schedule's floor or ceiling stops is answered SCHEDULE.
A schedule's wish passes the guards that an alarm's does.
A person's wish has no quiet time, back-off or budget to pass: convergence paces the creates.

An alert or a window that shields or freezes stops wishes, and only wishes: changed bounds and floors, also one that
another alert raises, go on (`trigger.guards.enforced_bounds`). Where two alerts contradict each other, capacity that a
person asked for wins over a wish to stand still: it costs money, never the fleet, and max bounds it.
Source: DESIGN.md "Sizing"; issue 3, item 2; issue 5, item 6.
"""

from __future__ import annotations

from dataclasses import dataclass

from config.model.catalogue import Group, QuietScope
from config.model.effects import FrozenDirection
from config.model.freezes import frozen_until
from config.model.pacing import Pace
from config.units import Instant
from trigger.guards.pacing import allowance, free_at, held_high_until
from trigger.guards.stabilisation import free_at as stable_at
from trigger.guards.stabilisation import highest
from trigger.policies.projection import least_safe
from trigger.policies.signals import floor_of
from trigger.policies.tracking import wished
from trigger.reasons import Reason
from trigger.requests import Clamp, Fleet, GroupState, Request, RequestCause, RequestOutcome, SignalKind
from trigger.verdicts import NOBODY_SAYS, Direction, ProjectedLoad


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardContext:
    """What a wish is weighed against: one group at one moment, with a size to start from."""

    group: Group
    fleet: Fleet
    state: GroupState
    """Brought up to this moment by `trigger.guards.enforced_bounds`."""
    now: Instant
    base: int
    """The desired size that arithmetic starts from."""
    least: int
    """What a scale-in may not go below: min, or the floor of an alert or for while blind."""
    headroom: ProjectedLoad = NOBODY_SAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Bid:
    """One request weighed: the answer that it gets if no other one wins."""

    answer: RequestOutcome
    size: int | None
    """What desired size becomes; ``None``: refused."""
    direction: Direction | None
    """Which way the wish points, refused or not; ``None``: it asks for no change, or nobody could say."""


def bid(request: Request, scene: GuardContext) -> Bid:
    """Weigh one request by itself."""
    wanted = wished(scene.base, scene.fleet.in_service, request.adjustment)
    if wanted == scene.base:
        return refused(request, wanted, None, Reason.NO_CHANGE)
    direction = Direction.OUT if wanted > scene.base else Direction.IN
    if scene.state.stopped.stops(direction) and not (request.cause is RequestCause.PERSON and request.force):
        return refused(request, wanted, direction, Reason.PAUSED)
    if request.cause is RequestCause.PERSON:
        return _by_person(request, wanted, direction, scene)
    return _growth(request, wanted, scene) if direction is Direction.OUT else _shrinking(request, wanted, scene)


def refused(
    request: Request,
    wanted: int | None,
    direction: Direction | None,
    reason: Reason,
    *,
    clamps: tuple[Clamp, ...] = (),
    until: Instant | None = None,
) -> Bid:
    """Turn a wish down."""
    answer = RequestOutcome(request=request, reason=reason, wanted=wanted, clamps=clamps, until=until)
    return Bid(answer=answer, size=None, direction=direction)


def _by_person(request: Request, wanted: int, direction: Direction, scene: GuardContext) -> Bid:
    insisted = scene.state.stopped.halts  # then only those with force get this far
    if wanted > scene.group.maximum and not request.force:
        return refused(request, wanted, direction, Reason.ABOVE_MAX)
    if wanted < scene.group.minimum and not insisted:
        return refused(request, wanted, direction, Reason.BELOW_MIN)
    if wanted < floor_of(scene.group, scene.state.signals) and not insisted:
        return refused(request, wanted, direction, Reason.ALERT_FLOOR, until=_floored_until(wanted, scene))
    inside = scene.group.minimum <= wanted <= scene.group.maximum
    answer = RequestOutcome(request=request, reason=_moved(direction) if inside else Reason.FORCED, wanted=wanted)
    return Bid(answer=answer, size=wanted, direction=direction)


def _growth(request: Request, wanted: int, scene: GuardContext) -> Bid:
    if scene.base >= scene.group.maximum:
        return refused(request, wanted, Direction.OUT, Reason.AT_MAX)
    size, clamps = _clamped(wanted, min(wanted, scene.group.maximum), Reason.AT_MAX)
    refusal = _growth_waits(request, scene)
    if refusal is not None:
        reason, until = refusal
        return refused(request, wanted, Direction.OUT, reason, clamps=clamps, until=until)
    size, paced = _paced(size, Direction.OUT, scene)
    if size == scene.base:
        return refused(
            request, wanted, Direction.OUT, Reason.MAX_CHANGE, clamps=clamps, until=_paced_until(scene, Direction.OUT)
        )
    if scene.fleet.creates_left <= 0:
        return refused(request, wanted, Direction.OUT, Reason.BUDGET, clamps=clamps + paced)
    size, spent = _clamped(size, min(size, scene.base + scene.fleet.creates_left), Reason.BUDGET)
    answer = RequestOutcome(request=request, reason=Reason.SCALED_OUT, wanted=wanted, clamps=clamps + paced + spent)
    return Bid(answer=answer, size=size, direction=Direction.OUT)


def _growth_waits(request: Request, scene: GuardContext) -> tuple[Reason, Instant] | None:
    """Which guard makes growth wait, and until when."""
    barred = _barred(Direction.OUT, scene)
    if barred is not None:
        return barred
    quiet = _quiet_until(request, Direction.OUT, scene)
    if quiet is not None:
        return Reason.QUIET, quiet
    if scene.state.grown_at is not None and scene.fleet.in_service < scene.base:
        patience_ends = Instant(scene.state.grown_at + scene.group.build_timeout)
        if scene.now < patience_ends:
            return Reason.CATCHING_UP, patience_ends
    back_off = scene.fleet.back_off_until
    if back_off is not None and scene.now < back_off:
        return Reason.BUILD_BACK_OFF, back_off
    return None


def _floored_until(size: int, scene: GuardContext) -> Instant:
    """When the last alert ends whose floor is above ``size``."""
    floors = (signal for signal in scene.state.signals if signal.kind is SignalKind.FLOOR)
    return max(signal.until for signal in floors if (signal.size or 0) > size)


_BARS = {
    Direction.IN: {
        Reason.SHIELDED: frozenset({SignalKind.SHIELD, SignalKind.BLIND}),
        Reason.FROZEN: frozenset({SignalKind.FREEZE_IN}),
    },
    Direction.OUT: {Reason.FROZEN: frozenset({SignalKind.FREEZE_OUT})},
}


def _barred(direction: Direction, scene: GuardContext) -> tuple[Reason, Instant] | None:
    """What an alert or a window says against this direction, and when the last one ends that says so."""
    for reason, kinds in _BARS[direction].items():
        ends = [signal.until for signal in scene.state.signals if signal.kind in kinds]
        window = frozen_until(scene.group.freezes, _WAYS[direction], scene.now) if reason is Reason.FROZEN else None
        if window is not None:
            ends.append(window)
        if ends:
            return reason, max(ends)
    return None


_WAYS = {Direction.IN: FrozenDirection.IN, Direction.OUT: FrozenDirection.OUT}


def _quiet_until(request: Request, direction: Direction, scene: GuardContext) -> Instant | None:
    """When the last quiet time ends that stops the request. Those that are over are no longer in the state."""
    blocking = (
        quiet.until
        for quiet in scene.state.quiets
        if (quiet.scope is QuietScope.GROUP or quiet.policy == request.policy)
        and not (direction is Direction.OUT and quiet.direction is Direction.IN)
    )
    return max(blocking, default=None)


def _shrinking(request: Request, wanted: int, scene: GuardContext) -> Bid:
    if scene.base <= scene.least:
        return refused(request, wanted, Direction.IN, Reason.AT_MIN)
    size, clamps = _clamped(wanted, max(wanted, scene.least), Reason.AT_MIN)
    if not scene.state.kept:  # members that nobody chose to have leave one wish at a time, not all at the first
        size, surplus = _clamped(size, min(size, scene.group.maximum), Reason.AT_MAX)
        clamps += surplus
    refusal = _shrinking_waits(request, scene)
    if refusal is not None:
        reason, until = refusal
        return refused(request, wanted, Direction.IN, reason, clamps=clamps, until=until)
    size, held = _clamped(size, max(size, _highest(request, scene)), Reason.STABILISING)
    clamps += held
    safe = _safe(request, size, scene)
    if safe >= scene.base:
        return refused(request, wanted, Direction.IN, Reason.WOULD_BOUNCE, clamps=clamps)
    size, lifted = _clamped(size, safe, Reason.WOULD_BOUNCE)
    clamps += lifted
    size, paced = _paced(size, Direction.IN, scene)
    if size == scene.base:
        return refused(
            request, wanted, Direction.IN, Reason.MAX_CHANGE, clamps=clamps, until=_paced_until(scene, Direction.IN)
        )
    answer = RequestOutcome(request=request, reason=Reason.SCALED_IN, wanted=wanted, clamps=clamps + paced)
    return Bid(answer=answer, size=size, direction=Direction.IN)


def _highest(request: Request, scene: GuardContext) -> int:
    """The highest advice that counts: policies go no lower. Nobody advises for the others."""
    window = scene.group.stabilisation
    if request.cause is not RequestCause.POLICY or window is None:
        return 0
    return highest(scene.state.observed, scene.base, scene.now, window=window, interval=scene.group.interval)


def _safe(request: Request, size: int, scene: GuardContext) -> int:
    """``size``, or as many more as leave no policy wanting to grow the group. Never above max for that: bounds win."""
    if request.cause is not RequestCause.POLICY:
        return size
    fleet, base = scene.fleet, scene.base
    carrying = fleet.in_service if fleet.listed else max(fleet.in_service, base)  # others may serve, unseen
    return max(size, min(least_safe(scene.headroom, carrying, base), scene.group.maximum))


def _shrinking_waits(request: Request, scene: GuardContext) -> tuple[Reason, Instant | None] | None:
    """Which guard makes a scale-in wait, and until when; ``None``: until what is in the way ends."""
    barred = _barred(Direction.IN, scene)
    if barred is not None:
        return barred
    if scene.fleet.balancer_not_found:
        return Reason.BALANCER_NOT_FOUND, None
    damping = scene.group.flap_damping
    high = None if damping is None else held_high_until(damping, scene.state.moves)
    if high is not None and scene.now < high:
        return Reason.FLAPPING, high
    quiet = _quiet_until(request, Direction.IN, scene)
    if quiet is not None:
        return Reason.QUIET, quiet
    window = scene.group.stabilisation
    if window is not None and _highest(request, scene) >= scene.base:
        return Reason.STABILISING, stable_at(scene.state.observed, scene.base, scene.now, window=window)
    return None


def _pace(scene: GuardContext, direction: Direction) -> Pace | None:
    return scene.group.max_growth if direction is Direction.OUT else scene.group.max_shrinkage


def _paced(size: int, direction: Direction, scene: GuardContext) -> tuple[int, tuple[Clamp, ...]]:
    """Go no further than the group's pace allows; at the base itself nothing is allowed."""
    pace, base = _pace(scene, direction), scene.base
    if pace is None:
        return size, ()
    left = allowance(pace, scene.state.moves, base, direction, scene.now)
    return _clamped(
        size, min(size, base + left) if direction is Direction.OUT else max(size, base - left), Reason.MAX_CHANGE
    )


def _paced_until(scene: GuardContext, direction: Direction) -> Instant | None:
    pace = _pace(scene, direction)
    return None if pace is None else free_at(pace, scene.state.moves, direction, scene.now)


def _clamped(before: int, after: int, guard: Reason) -> tuple[int, tuple[Clamp, ...]]:
    return after, (() if before == after else (Clamp(guard=guard, before=before, after=after),))


def _moved(direction: Direction) -> Reason:
    return Reason.SCALED_OUT if direction is Direction.OUT else Reason.SCALED_IN
