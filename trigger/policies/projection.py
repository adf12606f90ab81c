"""Find how much each member's load may grow before a policy would scale out.

A scale-in spreads the same load over fewer members. If this would make the conditions of a growing policy hold, a
scale-out would follow: a guard refuses such a scale-in, or makes it smaller (`trigger.guards.gate`).

# Note [Projection]

==========================================================  ===============================================
A condition of a policy that only adds                       counts as
==========================================================  ===============================================
above or at_least, of a percentage of each member, across    reached once the value, times the growth of
avg, over the window anything but count and stddev           load per member, comes to the threshold
any other that is TRUE now                                   reached already: it stays as it is
any other that is FALSE or UNKNOWN now                       never reached: a sum does not change with the
                                                             number of members, and others are unknown
==========================================================  ===============================================

A rising condition with ``per_member`` is of the first kind, for any counter: its value is divided by the desired size.
So is the condition of a target for each member. A policy without a condition of the first kind limits no scale-in. So
the projection calculates only where it is sound: with the average of a load that members share in proportion. Durations
do not count: a lasting breach reaches any duration. The load is assumed to stay the same and to spread evenly. A value
equal to its threshold counts as reached.

Source: Azure Monitor autoscale, which estimates each metric at the smaller size and skips or shrinks the step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from aggregator.frames import Aggregate
from config.model.adjustments import TargetLoad, Tracking
from config.model.catalogue import AnyCondition, Catalogue, Compare, Condition, Policy
from config.model.counters import Per
from config.model.reductions import Reduce, Statistic
from trigger.conditions.judging import held_against
from trigger.verdicts import Advice, ConditionVerdict, ProjectedLoad, Truth

_RISING = frozenset({Compare.ABOVE, Compare.AT_LEAST})
_NOT_IN_PROPORTION = frozenset({Reduce.COUNT, Statistic.STDDEV})
_SHARED_UNIT = "percent"
_SAME_WITHIN = 1e-9
"""Relative: rounding of binary fractions must not put a value that equals its threshold just below it."""


def headroom(catalogue: Catalogue, advices: Iterable[Advice], size: int | None) -> ProjectedLoad:
    """Return the factor by which each member's load may grow: the least over all policies that only add.

    At this factor the conditions of the first of them hold. 1 or less: those of one hold already. Infinite: no limit.

    Args:
        catalogue: the snapshot that was evaluated.
        advices: of all policies of the group.
        size: the desired size that conditions per member use.
    """
    shared, others = [math.inf], [math.inf]
    for policy, verdicts in ((catalogue.policies[advice.policy], advice.verdicts) for advice in advices):
        if not verdicts or policy.adjustment.may_shrink:
            continue
        conditions = [catalogue.conditions[verdict.condition] for verdict in verdicts]
        by_size = any(isinstance(condition, Condition) and condition.per_member for condition in conditions)
        (shared if by_size else others).append(_of_policy(catalogue, policy, conditions, verdicts, size))
    return ProjectedLoad(of_those_in_service=min(others), of_desired=min(shared))


def least_safe(headroom: ProjectedLoad, in_service: int, desired: int) -> int:
    """Return the smallest size that keeps every member's load below its headroom; at most ``desired``.

    >>> least_safe(ProjectedLoad(of_those_in_service=80 / 50), 6, 6)  # 6 at 50 %: 4 would be at 75 %, 3 at 100 %
    4
    >>> least_safe(ProjectedLoad(of_those_in_service=80 / 60), 4, 4)  # 3 would be at 80 %, and that is the threshold
    4
    """
    return max(
        _least_safe(headroom.of_those_in_service, in_service, desired),
        _least_safe(headroom.of_desired, desired, desired),
    )


def _least_safe(factor: float, carrying: int, desired: int) -> int:
    """Do the same as `least_safe` for one factor.

    Args:
        factor: by which each member's load may grow.
        carrying: members that carry the load now; fewer than desired while some are built, more while some leave.
        desired: the present size, and the answer if every member is needed.
    """
    if math.isinf(factor):
        return 0
    return desired if factor <= 1 else min(desired, math.floor(carrying / factor * (1 + _SAME_WITHIN)) + 1)


def _of_policy(
    catalogue: Catalogue,
    policy: Policy,
    conditions: Sequence[AnyCondition],
    verdicts: tuple[ConditionVerdict, ...],
    size: int | None,
) -> float:
    """Return the factor at which enough conditions of a policy hold; infinite if none of them is projected."""
    projected = [_in_proportion(catalogue, policy, condition) for condition in conditions]
    if not any(projected):
        return math.inf
    factors = sorted(
        1.0 if verdict.truth is Truth.TRUE else _factor(condition, verdict, size) if proportional else math.inf
        for condition, verdict, proportional in zip(conditions, verdicts, projected, strict=True)
    )
    return factors[(len(factors) if policy.enough is None else policy.enough) - 1]


def _factor(condition: AnyCondition, verdict: ConditionVerdict, size: int | None) -> float:
    cell = verdict.cells[0]
    if not isinstance(condition, Condition) or not isinstance(cell, Aggregate) or cell.value <= 0:
        return math.inf
    return max(1.0, held_against(condition, size).threshold / cell.value)


def _in_proportion(catalogue: Catalogue, policy: Policy, condition: AnyCondition) -> bool:
    if not isinstance(condition, Condition) or condition.compare not in _RISING:
        return False
    if condition.aggregate in _NOT_IN_PROPORTION:
        return False
    counter, action = catalogue.counters[condition.counter], policy.adjustment
    declared = condition.per_member or (isinstance(action, Tracking) and action.load is TargetLoad.EACH)
    shared = counter.per is Per.MEMBER and counter.unit == _SHARED_UNIT
    return declared or (shared and condition.across is Reduce.AVG)
