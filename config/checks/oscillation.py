"""Thresholds that overlap once a scale-in is done: the same load on fewer members asks for a scale-out.

# Note [What is compared]

A scale-in that its condition allows just below ``below: 60``, from 4 members to 3, leaves each with up to 80. Where a
policy of the same group grows it above 70, the size would go to and fro, and projection holds the step back: it comes
later than written, smaller, or never.

Compared are a policy that only removes and one that only adds, over one counter of which members share the load in
proportion: a percentage of each member. Growth must go by the average across members; a scale-in by their average or
by their maximum, which the average never exceeds. The load is taken to stay as it is and to spread evenly, as
`trigger.policies.projection` takes it; a group with ``projection: off`` says that it does not. Where a policy needs
several conditions, each of them by itself may keep the two apart; where any suffices, or an expression says "or", each
way by itself is looked at (`config.checks.satisfiability`).
Source: Azure Monitor autoscale, "best practices": a margin between the thresholds of scale-out and scale-in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple, TypeAlias

from config.checks.findings import Finding
from config.checks.satisfiability import place_of, ways
from config.model.adjustments import Adjustment, AdjustmentVerb, choices
from config.model.catalogue import Catalogue, Compare, Condition, Group, Policy, Projection
from config.model.counters import Per
from config.model.reductions import Reduce, Statistic
from config.units import PolicyId

Resize: TypeAlias = Callable[[int, Adjustment], int]
"""From a size and an adjustment to the size that is asked for: `sizing.resized`, which stands above here."""

_SIZES = 500
"""As many sizes above min are tried, and max: a share that is rounded weighs most in small fleets."""
_FALLING, _RISING = {Compare.BELOW, Compare.AT_MOST}, {Compare.ABOVE, Compare.AT_LEAST}
_NOT_IN_PROPORTION = {Reduce.COUNT, Statistic.STDDEV}


class _Shrinking(NamedTuple):
    before: int
    after: int

    @property
    def growth(self) -> float:
        """By how much the load of each remaining member is multiplied."""
        return self.before / self.after


def overlapping(catalogue: Catalogue, resize: Resize) -> Iterator[Finding]:
    """Find the scale-ins after which a group would want to grow again at once; one for each condition."""
    found: dict[str, Finding] = {}
    seen: set[tuple[tuple[PolicyId, ...], int, int]] = set()
    for group in catalogue.groups.values():
        alike = group.policies, group.minimum, group.maximum
        if group.projection is Projection.ON and alike not in seen:
            seen.add(alike)
            for finding, below in _of_group(catalogue, group, resize):
                found.setdefault(below.id, finding)
    yield from found.values()


def _of_group(catalogue: Catalogue, group: Group, resize: Resize) -> Iterator[tuple[Finding, Condition]]:
    mine = [catalogue.policies[name] for name in group.policies]
    growing = [policy for policy in mine if policy.adjustment.verb is AdjustmentVerb.ADD]
    for shrink in (policy for policy in mine if policy.adjustment.verb is AdjustmentVerb.REMOVE):
        if (worst := _worst(group, shrink, resize)) is None:
            continue
        for grow in growing:
            for pair in _pairs(catalogue, grow, shrink):
                if _trips(*pair, worst):
                    yield _finding(catalogue, group, (grow, shrink), pair, worst), pair[1]


def _worst(group: Group, shrink: Policy, resize: Resize) -> _Shrinking | None:
    """The step that most loads the remaining members; ``None``: the group never shrinks to a size above 0."""
    least = max(1, group.minimum)
    sizes = {*range(least + 1, min(group.maximum, least + _SIZES) + 1), group.maximum}
    steps = [
        _Shrinking(size, max(least, resize(size, adjustment)))
        for size in sorted(sizes)
        for adjustment in choices(shrink.adjustment)
    ]
    return max((step for step in steps if step.after < step.before), key=lambda step: step.growth, default=None)


def _pairs(catalogue: Catalogue, grow: Policy, shrink: Policy) -> Iterator[tuple[Condition, Condition]]:
    """What the two wait for, for each way in which they can be ready: the pair that keeps them apart the furthest.

    None where growth waits for something, too, of which the scale-in says nothing.
    """
    for up, down in product(ways(catalogue, grow), ways(catalogue, shrink)):
        pairs = [
            (above, below)
            for above, below in product(up.thresholds, down.thresholds)
            if above.counter == below.counter and _rises(catalogue, above) and _falls(below)
        ]
        if up.whole and pairs and {id(above) for above, _ in pairs} == {id(above) for above in up.thresholds}:
            yield max(pairs, key=lambda pair: pair[0].threshold / pair[1].threshold)


def _rises(catalogue: Catalogue, condition: Condition) -> bool:
    counter = catalogue.counters[condition.counter]
    shared = counter.per is Per.MEMBER and counter.unit == "percent"
    steady = condition.across is Reduce.AVG and condition.aggregate not in _NOT_IN_PROPORTION
    return shared and steady and condition.compare in _RISING and condition.threshold > 0


def _falls(condition: Condition) -> bool:
    steady = condition.across in {Reduce.AVG, Reduce.MAX} and condition.aggregate not in _NOT_IN_PROPORTION
    return steady and condition.compare in _FALLING and condition.threshold > 0


def _trips(above: Condition, below: Condition, step: _Shrinking) -> bool:
    """Whether some value that allows the scale-in comes, by it, to the threshold of growth: that counts as reached."""
    load = below.threshold * step.growth
    if math.isclose(load, above.threshold, rel_tol=1e-9):
        return below.compare is Compare.AT_MOST
    return load > above.threshold


def _finding(
    catalogue: Catalogue,
    group: Group,
    policies: tuple[Policy, Policy],
    pair: tuple[Condition, Condition],
    step: _Shrinking,
) -> Finding:
    (grow, shrink), (above, below) = policies, pair
    projected = isinstance(catalogue.conditions[above.id], Condition)
    message = (
        f"overlaps with {above.id}, {above.compare.value} {above.threshold:g}, once {shrink.id} has shrunk the group "
        f"{group.id} from {step.before} to {step.after}: {below.threshold:g} then becomes "
        f"{below.threshold * step.growth:.4g}, {grow.id} would scale out again"
        f"{', so the scale-in is held back' if projected else ''}; "
        f"{_fitting(above.threshold / step.growth):g} works"
    )
    return Finding(place_of(catalogue, below), message)


def _fitting(limit: float) -> float:
    """The largest number of at most two digits that lies below a positive limit."""
    unit = 10.0 ** (math.floor(math.log10(limit)) - 1)
    steps = math.ceil(limit / unit - 1e-9) - 1
    return float(f"{steps * unit:.6g}")
