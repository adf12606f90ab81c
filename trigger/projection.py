"""How much more load each member bears before a policy that grows the group would want to.

A scale-in spreads the same load over fewer members. Where that would make the conditions of a growing policy hold, the
next thing to happen is a scale-out: the door refuses such a scale-in, or makes it smaller (`trigger.guards`).

# Note [What is projected]

==========================================================  ===============================================
A condition of a policy that only adds                       counts as
==========================================================  ===============================================
above or at_least, of a percentage of each member, across    reached once the value, times the growth of
avg, over the window anything but count and stddev           load per member, comes to the threshold
any other that is TRUE now                                   reached already: it stays as it is
any other that is FALSE or UNKNOWN now                       never reached: a sum does not change with the
                                                             number of members, and of the rest nobody knows
==========================================================  ===============================================

A policy of which no condition is of the first kind holds nobody back. So arithmetic is done where it is sound: the
average of what members share in proportion. Durations do not count: a breach that lasts comes to any. The load is taken
to stay as it is and to spread evenly. A value that comes exactly to its threshold counts as reached.

Source: Azure Monitor autoscale, which estimates each metric at the smaller size and skips or shrinks the step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial

from aggregator.frames import Aggregate
from config.counters import Per
from config.model import AnyCondition, Catalogue, Compare, Condition, Policy
from config.reductions import Reduce, Statistic
from trigger.verdicts import Advice, Truth, Verdict

_RISING = frozenset({Compare.ABOVE, Compare.AT_LEAST})
_NOT_IN_PROPORTION = frozenset({Reduce.COUNT, Statistic.STDDEV})
_SHARED_UNIT = "percent"
_SAME_WITHIN = 1e-9
"""Relative: binary fractions must not make a value that comes to its threshold pass just below it."""


def headroom(catalogue: Catalogue, advices: Iterable[Advice]) -> float:
    """How many times its load each member bears: the least over all policies that only add; infinite if none says.

    At this factor the first of them would have its conditions hold. 1 or less: one has them hold already.
    """
    policies = ((catalogue.policies[advice.policy], advice.verdicts) for advice in advices)
    return min(
        (
            _of_policy(catalogue, policy, verdicts)
            for policy, verdicts in policies
            if verdicts and not policy.adjustment.may_shrink
        ),
        default=math.inf,
    )


def least_safe(factor: float, carrying: int, desired: int) -> int:
    """The smallest size that keeps the load per member below ``factor`` times what it is; at most ``desired``.

    Args:
        factor: of `headroom`.
        carrying: members that carry the load now; fewer than desired while some are built, more while some leave.
        desired: the size to shrink from, and the answer where nobody can be spared.

    >>> least_safe(80 / 50, 6, 6)  # 6 at 50 %: 4 would be at 75 %, 3 at 100 %
    4
    >>> least_safe(80 / 60, 4, 4)  # 3 would be at 80 %, and that is the threshold
    4
    """
    if math.isinf(factor):
        return 0
    return desired if factor <= 1 else min(desired, math.floor(carrying / factor * (1 + _SAME_WITHIN)) + 1)


def _of_policy(catalogue: Catalogue, policy: Policy, verdicts: tuple[Verdict, ...]) -> float:
    """The factor at which as many of its conditions hold as it needs; none where not one of them is projected."""
    conditions = [catalogue.conditions[verdict.condition] for verdict in verdicts]
    if not any(_in_proportion(catalogue, condition) for condition in conditions):
        return math.inf
    factors = sorted(map(partial(_of_verdict, catalogue), conditions, verdicts))
    return factors[(len(factors) if policy.enough is None else policy.enough) - 1]


def _of_verdict(catalogue: Catalogue, condition: AnyCondition, verdict: Verdict) -> float:
    if verdict.truth is Truth.TRUE:
        return 1.0
    cell = verdict.cells[0]
    if not isinstance(condition, Condition) or not _in_proportion(catalogue, condition):
        return math.inf
    if not isinstance(cell, Aggregate) or cell.value <= 0:
        return math.inf
    return max(1.0, condition.threshold / cell.value)


def _in_proportion(catalogue: Catalogue, condition: AnyCondition) -> bool:
    if not isinstance(condition, Condition):
        return False
    counter = catalogue.counters[condition.counter]
    return (
        counter.per is Per.MEMBER
        and counter.unit == _SHARED_UNIT
        and condition.across is Reduce.AVG
        and condition.aggregate not in _NOT_IN_PROPORTION
        and condition.compare in _RISING
    )
