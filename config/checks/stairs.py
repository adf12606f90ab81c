"""Steps that no distance leads to: by a condition that has none, or beyond every value of the counter."""

from __future__ import annotations

import math
from collections.abc import Iterator

from config.checks.findings import Finding
from config.model.adjustments import Steps
from config.model.catalogue import Catalogue, Compare, Condition, ExpressionCondition, Policy
from config.model.counters import Counter
from config.model.reductions import OUTGROWING


def unreachable(catalogue: Catalogue) -> Iterator[Finding]:
    """Find the steps of all policies that are never taken."""
    for policy in catalogue.policies.values():
        if not isinstance(policy.adjustment, Steps):
            continue
        condition = catalogue.conditions.get(policy.adjustment.by)
        if condition is None:
            continue
        if isinstance(condition, ExpressionCondition) or condition.compare is Compare.EQUALS:
            what = "is an expression" if isinstance(condition, ExpressionCondition) else "is equal or it is not"
            message = f"{condition.id} {what}: steps go by above, at_least, below or at_most"
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
            f"it is never taken; the furthest that {condition.id} gets is {furthest:g} over"
        )
        leans = (("counters", counter.id), ("conditions", condition.id), ("policies", policy.id, "by"))
        yield Finding(("policies", policy.id, "steps", str(index), "over"), message, leans)
