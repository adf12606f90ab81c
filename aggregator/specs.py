"""Find the windows that a group needs: one key per condition, or per term of an expression, as a policy reads it."""

from __future__ import annotations

import math
from typing import assert_never

from aggregator.frames import WindowKey
from config.model.catalogue import AnyCondition, Catalogue, Condition, ExpressionCondition, Group, Holds, Policy
from config.model.counters import Per
from config.model.reductions import Reduce, Reduction
from config.units import CounterId, GroupId, Seconds


def window_key(condition: Condition, policy: Policy, group: Group) -> WindowKey:
    """Return the key of the aggregate that ``condition`` judges for ``policy`` in ``group``.

    A condition without a window judges one interval. A policy with `Holds.AVERAGE` judges the average over its
    duration, and ignores the window and aggregate of the condition.

    Source: DESIGN.md "Judging" (two aggregations; `holds: average` is CloudStack's virtual router).
    """
    return _key(condition, condition.counter, condition.aggregate, policy, group)


def window_keys(condition: AnyCondition, policy: Policy, group: Group) -> tuple[WindowKey, ...]:
    """Return the key of every aggregate that ``condition`` judges: one, or one per term of an expression, in order."""
    match condition:
        case Condition():
            return (window_key(condition, policy, group),)
        case ExpressionCondition(terms=terms):
            return tuple(_key(condition, term.counter, term.aggregate, policy, group) for term in terms)
        case _:
            assert_never(condition)


def _key(condition: AnyCondition, counter: CounterId, aggregate: Reduction, policy: Policy, group: Group) -> WindowKey:
    window = condition.window
    if policy.holds is Holds.AVERAGE:
        aggregate, window = Reduce.AVG, max(policy.duration, group.interval)
    return WindowKey(
        counter=counter,
        across=condition.across,
        aggregate=aggregate,
        window=group.interval if window is None else window,
    )


def keys_for(catalogue: Catalogue, group: GroupId) -> tuple[WindowKey, ...]:
    """List every window of ``group``: those that its policies need, and what it observes; sorted, each once."""
    declared = catalogue.groups[group]
    policies = (catalogue.policies[policy] for policy in declared.policies)
    keys = {
        key
        for policy in policies
        for condition in policy.when
        for key in window_keys(catalogue.conditions[condition], policy, declared)
    }
    return tuple(sorted(keys | set(observed_keys(catalogue, group)), key=_spelling))


def observed_keys(catalogue: Catalogue, group: GroupId) -> tuple[WindowKey, ...]:
    """Return what a group exports of the counters that it observes, over one interval each.

    A counter of members has three windows: the average, the least and the greatest of them.
    """
    declared = catalogue.groups[group]
    return tuple(
        WindowKey(counter=counter, across=across, aggregate=Reduce.AVG, window=declared.interval)
        for counter in declared.observed
        for across in _observed_across(catalogue, counter)
    )


def _observed_across(catalogue: Catalogue, counter: CounterId) -> tuple[Reduce, ...]:
    of_group = catalogue.counters[counter].per is Per.GROUP
    return (Reduce.AVG,) if of_group else (Reduce.AVG, Reduce.MIN, Reduce.MAX)


def ticks_of(window: Seconds, interval: Seconds) -> int:
    """Count the ticks that cover ``window``: at least one, and never less time than the window.

    >>> ticks_of(300.0, 30.0), ticks_of(45.0, 30.0), ticks_of(10.0, 30.0)
    (10, 2, 1)
    """
    return max(1, math.ceil(window / interval - _ROUNDING))


_ROUNDING = 1e-6
"""Tolerance for 0.3 / 0.1 = 2.9999999999999996, and its opposite."""


def _spelling(key: WindowKey) -> tuple[str, str, str, Seconds]:
    return key.counter, key.across.value, key.aggregate.value, key.window
