"""Policies that contradict themselves, or one another.

Two of one group that can grow and shrink it at the same instant would have the fleet swing for ever. Looked at is every
way in which each of the two can be ready (`config.checks.satisfiability`): all conditions, any, or so many of them.
Where thresholds of expressions are needed to see it, it is a warning: an expression may hold for less than they tell.

One alone may wait for what excludes itself, need more conditions than it has, or have steps that no distance leads to.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations, product

from config.build.targets import owner_of
from config.checks.findings import Finding
from config.checks.overlaps import comparable, overlap_of, true_for
from config.checks.satisfiability import PassedThresholds, place_of, ways
from config.model.adjustments import AdjustmentVerb, Steps
from config.model.catalogue import Catalogue, Compare, Condition, ExpressionCondition, Policy
from config.model.counters import Counter
from config.model.reductions import OUTGROWING


def contradictions(catalogue: Catalogue) -> Iterator[Finding]:
    """Find policies that could add and remove at once by conditions that compare one counter."""
    for grow, shrink in _opposed(catalogue):
        if (overlap := _overlap(catalogue, grow, shrink, expressions=False)) is not None:
            yield _finding(catalogue, grow, shrink, overlap)


def by_expressions(catalogue: Catalogue) -> Iterator[Finding]:
    """Find those that could do so by their expressions, in a catalogue without contradictions."""
    for grow, shrink in _opposed(catalogue):
        if (overlap := _overlap(catalogue, grow, shrink, expressions=True)) is not None:
            yield _finding(catalogue, grow, shrink, overlap)


def _opposed(catalogue: Catalogue) -> Iterable[tuple[Policy, Policy]]:
    """Each pair once, however many groups follow it."""
    return {(grow.id, shrink.id): (grow, shrink) for grow, shrink in _in_each_group(catalogue)}.values()


def _in_each_group(catalogue: Catalogue) -> Iterator[tuple[Policy, Policy]]:
    for group in catalogue.groups.values():
        mine = [catalogue.policies[name] for name in group.policies if name in catalogue.policies]
        growing = [policy for policy in mine if policy.adjustment.verb is AdjustmentVerb.ADD]
        yield from product(growing, [policy for policy in mine if policy.adjustment.verb is AdjustmentVerb.REMOVE])


def _overlap(
    catalogue: Catalogue, grow: Policy, shrink: Policy, *, expressions: bool
) -> tuple[Condition, Condition] | None:
    ups, downs = (ways(catalogue, policy, expressions=expressions) for policy in (grow, shrink))
    overlaps = (overlap_of(up.thresholds, down.thresholds) for up, down in product(ups, downs))
    return next((overlap for overlap in overlaps if overlap is not None), None)


def _finding(catalogue: Catalogue, grow: Policy, shrink: Policy, overlap: tuple[Condition, Condition]) -> Finding:
    first, second = overlap
    works = _apart(first, second)
    message = (
        f"can be true together with {first.id}, {first.compare.value} {first.threshold:g}: "
        f"the policies {grow.id} and {shrink.id} would add and remove at once"
        f"{'' if works is None else f'; {works:g} works'}"
    )
    here = ("conditions", second.id)
    leans = (("conditions", first.id), (*here, "counter"), (*here, "across"), (*here, "aggregate"))
    return Finding(place_of(catalogue, second), message, leans)


def _apart(first: Condition, second: Condition) -> float | None:
    """A threshold for the second that keeps the two apart; ``None``: none near the first does, or a target makes it."""
    if owner_of(second.id) != second.id:
        return None
    edge = first.threshold
    for threshold in (edge, edge - _A_LITTLE * (abs(edge) or 1.0), edge + _A_LITTLE * (abs(edge) or 1.0)):
        near = float(f"{threshold:g}")
        if not true_for(first).meets(true_for(replace(second, threshold=near))):
            return near
    return None


_A_LITTLE = 0.01


def never_together(catalogue: Catalogue) -> Iterator[Finding]:
    """Find policies of which no way to hold is open: two thresholds over one window that no value passes both."""
    for policy in catalogue.policies.values():
        clashes = [_clash(way) for way in ways(catalogue, policy)]
        if clashes and all(clashes) and clashes[0] is not None:
            first, second = clashes[0]
            what = f"{_compared(first)} and {_compared(second)}"
            remedy = "write match: any" if _different(first, second) and policy.enough is None else "leave one out"
            yield Finding(("policies", policy.id, "when"), f"no value of {first.counter} is {what}: {remedy}")


def _clash(way: PassedThresholds) -> tuple[Condition, Condition] | None:
    pairs = combinations(way.thresholds, 2)
    return next((pair for pair in pairs if _excludes(*pair)), None)


def _excludes(first: Condition, second: Condition) -> bool:
    same = comparable(first, second) and first.window == second.window
    return same and not true_for(first).meets(true_for(second))


def _different(first: Condition, second: Condition) -> bool:
    return first.id != second.id


def _compared(condition: Condition) -> str:
    return f"{condition.compare.value.replace('_', ' ')} {condition.threshold:g} ({condition.id})"


def unreachable_counts(catalogue: Catalogue) -> Iterator[Finding]:
    """More conditions than there are can never hold; and steps follow a condition that must hold."""
    for policy in catalogue.policies.values():
        if policy.enough is not None and policy.enough > len(policy.when):
            message = f"at least {policy.enough} can never hold: when names {len(policy.when)}"
            yield Finding(("policies", policy.id, "match"), message, (("policies", policy.id, "when"),))
        elif isinstance(policy.adjustment, Steps) and policy.enough not in {None, len(policy.when)}:
            message = f"steps use {policy.adjustment.by}, which must hold then: write match: all"
            yield Finding(("policies", policy.id, "match"), message, (("policies", policy.id, "steps"),))


def unreachable_steps(catalogue: Catalogue) -> Iterator[Finding]:
    """Find the steps of all policies that are never taken."""
    for policy in catalogue.policies.values():
        if not isinstance(policy.adjustment, Steps):
            continue
        condition = catalogue.conditions.get(policy.adjustment.by)
        if condition is None:
            continue
        if isinstance(condition, ExpressionCondition) or condition.compare is Compare.EQUALS:
            what = (
                "is an expression" if isinstance(condition, ExpressionCondition) else "has no distance to its threshold"
            )
            message = f"{condition.id} {what}: steps need above, at_least, below or at_most"
            leans = (("conditions", condition.id), ("policies", policy.id, "when"))
            yield Finding(("policies", policy.id, "steps"), message, leans)
        elif (counter := catalogue.counters.get(condition.counter)) is not None:
            yield from _beyond(policy, policy.adjustment, condition, counter)


def _beyond(policy: Policy, action: Steps, condition: Condition, counter: Counter) -> Iterator[Finding]:
    """One message for each step that begins outside the range; the first begins at the threshold, which has its own."""
    if counter.range is None or {condition.across, condition.aggregate} & OUTGROWING:
        return
    low, high = counter.range
    upward = condition.compare in {Compare.ABOVE, Compare.AT_LEAST}
    furthest = high - condition.threshold if upward else condition.threshold - low
    for index, step in enumerate(action.steps[1:], start=1):
        if furthest < 0 or step.over <= furthest or math.isclose(step.over, furthest, rel_tol=1e-9):
            continue
        begins = condition.threshold + step.over if upward else condition.threshold - step.over
        message = (
            f"begins at {begins:g}, outside the range of {counter.id}, {low:g} to {high:g}: "
            f"it is never taken; the greatest distance of {condition.id} is {furthest:g}"
        )
        leans = (("counters", counter.id), ("conditions", condition.id), ("policies", policy.id, "by"))
        yield Finding(("policies", policy.id, "steps", str(index), "over"), message, leans)
