"""Change desired size without a request: at most one change per moment, the first that applies.

==============  ====================================================================  ===========================
Cause           When                                                                  Desired size becomes
==============  ====================================================================  ===========================
FIRST_LISTING   there is none yet, and a complete listing has been seen               max(min or an alert's floor,
                                                                                      members found); above max it
                                                                                      is *kept*
FIRST_LISTING   the same, for a new group without any member that declares            ``initial``, within min or an
                ``initial``                                                           alert's floor and max
ALERT_FLOOR     below the floor that an alert raises                                  the floor, at most max
BOUNDS          below min; or above max, and neither *forced* nor *kept*              the nearest bound
BLIND_FLOOR     below the floor that the group declares, and every policy is blind    the floor, at most max
==============  ====================================================================  ===========================

None of them begins a quiet time, waits for one, or reads a counter, and no alert stops one. A size below min or below
an alert's floor is always raised; a size that was forced there while paused lasts as long as the pause. When a floor
ends, the size stays until policies lower it. Min and max are those in force at this moment: if only a schedule's floor
or ceiling makes the difference, `trigger.decide` gives the reason SCHEDULE instead of BOUNDS. Source: DESIGN.md
"Sizing" (bounds, force, blind) and "Moving" (first start).
"""

from __future__ import annotations

from dataclasses import replace

from config.model.catalogue import Group
from config.units import Instant
from trigger.guards.pacing import remembered
from trigger.policies.signals import floor_of, lasting
from trigger.reasons import Reason
from trigger.requests import Fleet, GroupState
from trigger.verdicts import Evaluation


def enforce_bounds(
    group: Group, fleet: Fleet, state: GroupState, now: Instant, *, blind: bool
) -> tuple[GroupState, Reason | None]:
    """Update a group's state to this moment; the reason is ``None`` if its size stays."""
    tidy = _tidied(group, state, now)
    change = _change(group, fleet, tidy, floor_of(group, tidy.signals), blind=blind)
    if change is None:
        return tidy, None
    size, cause = change
    grew = size > (fleet.marked if state.desired is None else state.desired)
    above = size > group.maximum
    return replace(
        tidy,
        desired=size,
        fresh=False,
        revision=state.revision + 1,
        forced=tidy.forced and above,
        kept=above and (tidy.kept or cause is Reason.FIRST_LISTING),
        grown_at=now if grew else state.grown_at,
    ), cause


def is_blind(evaluation: Evaluation | None) -> bool:
    """Whether a group has policies and cannot judge any of them. A group without policies is not blind.

    Policies that only advise do not count.
    """
    asking = () if evaluation is None else tuple(advice for advice in evaluation.advices if not advice.advises)
    return bool(asking) and all(advice.reason is Reason.BLIND for advice in asking)


def least_size(group: Group, state: GroupState, *, blind: bool) -> int:
    """Return the least size for policies and alarms: min, the floor of an alert, or the declared floor while blind."""
    return _least(group, floor_of(group, state.signals), blind=blind)


def _least(group: Group, floor: int, *, blind: bool) -> int:
    if not blind or group.blind_floor is None:
        return floor
    return max(floor, min(group.blind_floor, group.maximum))


def _change(group: Group, fleet: Fleet, state: GroupState, floor: int, *, blind: bool) -> tuple[int, Reason] | None:
    size, least = state.desired, _least(group, floor, blind=blind)
    if size is None:
        return (_first(group, fleet, state, floor), Reason.FIRST_LISTING) if fleet.listed else None
    if size < floor:
        return floor, Reason.ALERT_FLOOR if floor > group.minimum else Reason.BOUNDS
    if size > group.maximum and not (state.forced or state.kept):
        return group.maximum, Reason.BOUNDS
    return (least, Reason.BLIND_FLOOR) if size < least else None


def _first(group: Group, fleet: Fleet, state: GroupState, floor: int) -> int:
    if state.fresh and group.initial is not None and not fleet.marked:
        return max(floor, min(group.initial, group.maximum))
    return max(floor, fleet.marked)


def _tidied(group: Group, state: GroupState, now: Instant) -> GroupState:
    """Drop quiet times and signals that are over, and the marks *forced* and *kept* of a size within the bounds."""
    state = lasting(state, now)
    if state.quiets and any(quiet.until <= now for quiet in state.quiets):
        state = replace(state, quiets=tuple(quiet for quiet in state.quiets if quiet.until > now))
    if len(moves := remembered(state.moves, group, now)) < len(state.moves):
        state = replace(state, moves=moves)
    excused = state.forced or state.kept
    if excused and state.desired is not None and group.minimum <= state.desired <= group.maximum:
        state = replace(state, forced=False, kept=False)
    return state
