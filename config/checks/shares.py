"""What is shared out over members, and what a target is held against: reductions must leave it its meaning."""

from __future__ import annotations

from collections.abc import Iterator

from config.checks.findings import Finding
from config.model.adjustments import Load, Tracking
from config.model.catalogue import Catalogue, Condition
from config.model.counters import Per
from config.model.effects import FirePolicy
from config.model.reductions import Reduce, Statistic
from config.units import PolicyId

_NO_LEVEL = {Reduce.COUNT, Statistic.STDDEV}


def shared(catalogue: Catalogue) -> Iterator[Finding]:
    """Find conditions ``per_member`` of what is no total."""
    for condition in catalogue.conditions.values():
        if not isinstance(condition, Condition) or not condition.per_member or "." in condition.id:
            continue
        if not _is_total(catalogue, condition):
            message = f"{condition.counter} is measured of each member: remove per_member, or write across: sum"
            leans = (("counters", condition.counter), ("conditions", condition.id, "across"))
            yield Finding(("conditions", condition.id, "per_member"), message, leans)


def targets(catalogue: Catalogue) -> Iterator[Finding]:
    """Find targets that are held against what has no such level."""
    for policy in catalogue.policies.values():
        action = policy.adjustment
        condition = catalogue.conditions.get(action.by) if isinstance(action, Tracking) else None
        if not isinstance(action, Tracking) or not isinstance(condition, Condition):
            continue
        leans = (("counters", condition.counter), ("conditions", condition.id))
        for key in ("across", "aggregate"):
            reduction = getattr(condition, key)
            if reduction in _NO_LEVEL:
                message = f"{reduction.value} is no load that members bear: write avg, max or a percentile"
                yield Finding(("conditions", condition.id, key), message, leans[:1])
        if action.load is Load.TOTAL and not _is_total(catalogue, condition):
            message = (
                f"a size is made of a total, and {condition.counter} is measured of each member: write across: sum"
            )
            yield Finding(("conditions", condition.id, "across"), message, leans)
        if action.load is not Load.TOTAL and condition.across is Reduce.SUM:
            message = "a sum is of all members, and no level of one: write each instead of value"
            yield Finding(("conditions", condition.id, "across"), message, leans)


def fired(catalogue: Catalogue) -> Iterator[Finding]:
    """Find alerts that would carry out a target."""
    for alert in catalogue.alerts.values():
        effect = alert.effect
        if isinstance(effect, FirePolicy) and PolicyId(f"{effect.policy}.out") in catalogue.policies:
            message = f"{effect.policy} follows a target, and an alert measures nothing: write floor, or fire another"
            yield Finding(("alerts", alert.id, "fire"), message, (("policies", effect.policy),))


def _is_total(catalogue: Catalogue, condition: Condition) -> bool:
    counter = catalogue.counters.get(condition.counter)
    return counter is None or counter.per is Per.GROUP or condition.across is Reduce.SUM
