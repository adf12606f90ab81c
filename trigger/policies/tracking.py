"""Calculate the requested size from a target and a measurement, and whether policies agree to a scale-in.

# Note [The load]

=====================================  =====================================  =====================================
The target is for                      to grow, the load in members is        to shrink, it is
=====================================  =====================================  =====================================
each member's level                    value ÷ target × those measured        sure value ÷ target × those measured
                                                                              and those that warm up
one level of the whole group           value ÷ target × those in service      sure value ÷ target × those in service
                                                                              or desired, whichever are more
a total, divided by the size           value ÷ target                         sure value ÷ target
=====================================  =====================================  =====================================

The size is rounded up in both directions: fewer members would be above the target. Growth never shrinks the group, nor
the other way round; a load that the present size carries is no change. The load of members that warm up is not
measured: they count as free capacity for growth, and as busy as the others for shrinking (Kubernetes likewise counts
members that are not ready as 0 or as the full target). While a listing is missing or partial, the number of members in
service is too low: so that missing data removes no member, all desired members count. *Sure* is the bound of the value
with the missing answers, as for steps: `trigger.policies.stepping`, Note [The sure distance].

Source: Kubernetes (HPA, ratio and AverageValue), Nomad (target-value, pass-through), AWS (target tracking).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import assert_never

from aggregator.frames import Cell
from config.model.adjustments import Action, Adjustment, AdjustmentVerb, FollowForecast, Steps, TargetLoad, Tracking
from config.model.catalogue import Condition
from trigger.policies.foresight import sized_by
from trigger.policies.sizing import resized
from trigger.policies.stepping import sure_value
from trigger.verdicts import Advice, Aim, ConditionVerdict, Evaluation, Foreseen, RequestedChange, Truth

_SAME_WITHIN = 1e-9
"""Relative: ten members at 66 of 60 are the load of 11, though binary fractions make it slightly more."""
_MOST = 10**12
"""Members: more than any group has. A counter may have any value, and infinity is no size."""


def aim(tracking: Tracking, condition: Condition, verdicts: Sequence[ConditionVerdict]) -> Aim | None:
    """Return the aim of a missed target; ``None``: it is not missed, or unknown.

    Args:
        tracking: the action of the policy.
        condition: of the target.
        verdicts: of the policy's conditions, at this tick.
    """
    verdict = next((verdict for verdict in verdicts if verdict.condition == tracking.by), None)
    if verdict is None or verdict.truth is not Truth.TRUE:
        return None
    (cell,) = verdict.cells
    share = sure_value(condition, cell, shrinking=tracking.may_shrink) / tracking.level
    return Aim(
        verb=tracking.verb,
        load=min(max(0.0, share * _bearers(tracking, cell)), _MOST),
        relative=tracking.load is TargetLoad.WHOLE,
        level=tracking.level,
        at_most=tracking.at_most,
    )


def requested_size(desired: int, in_service: int, change: RequestedChange) -> int:
    """Return the requested size, in members, never below 0 and before any guard.

    >>> requested_size(10, 10, Aim(verb=AdjustmentVerb.ADD, load=12.3, level=60.0))
    13
    >>> requested_size(10, 12, Aim(verb=AdjustmentVerb.REMOVE, load=0.5, relative=True, level=60.0))
    6
    """
    match change:
        case Adjustment():
            return resized(desired, change)
        case Aim():
            return _aimed(desired, in_service, change)
        case Foreseen():
            return sized_by(change, desired)
        case _:
            assert_never(change)


def could_shrink(desired: int, action: Action) -> bool:
    """Whether carrying out a policy can leave fewer members than desired now; for steps, whether any step would."""
    match action:
        case Adjustment():
            return resized(desired, action) < desired
        case Steps():
            return any(resized(desired, step.adjustment) < desired for step in action.steps)
        case Tracking():
            return action.may_shrink and desired > 0
        case FollowForecast():
            return not action.advises and desired > 0
        case _:
            assert_never(action)


def _bearers(tracking: Tracking, cell: Cell) -> int:
    """Return how many members carry the measured load of each; 1 for a value of the whole group."""
    if tracking.load is not TargetLoad.EACH:
        return 1
    return cell.expected + (cell.left_out if tracking.may_shrink else 0)


def _aimed(desired: int, in_service: int, aim: Aim) -> int:
    bearers = in_service if aim.verb is AdjustmentVerb.ADD else max(in_service, desired)
    load = aim.load * bearers if aim.relative else aim.load
    size = min(math.ceil(load * (1 - _SAME_WITHIN)), _MOST)
    limit = None if aim.at_most is None else resized(desired, aim.at_most)
    if aim.verb is AdjustmentVerb.ADD:
        return max(desired, size if limit is None else min(size, limit))
    return min(desired, size if limit is None else max(size, limit))


def any_policy_disagrees(base: int, in_service: int, evaluation: Evaluation | None) -> bool:
    """Whether a policy that could shrink the group does not ask for it.

    A policy that is not ready does not ask, nor does a target that the present size meets. The rule is in
    `trigger.guards.combine`. Without an evaluation no policy has to agree.
    """
    advices = () if evaluation is None else evaluation.advices
    return any(could_shrink(base, advice.action) and not _agrees(advice, base, in_service) for advice in advices)


def _agrees(advice: Advice, base: int, in_service: int) -> bool:
    calculated = isinstance(advice.adjustment, Aim | Foreseen)
    fits = calculated and advice.adjustment is not None and requested_size(base, in_service, advice.adjustment) >= base
    return advice.reason is None and not fits
