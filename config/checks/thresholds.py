"""What thresholds and targets may be, by the counter that is held against them: rules of `config.checks.catalogue`."""

from __future__ import annotations

from collections.abc import Iterator

from config.checks.findings import Finding
from config.model.adjustments import FollowForecast, TargetLoad, Tracking
from config.model.catalogue import Catalogue, Condition
from config.model.counters import Counter, Per
from config.model.effects import FirePolicy
from config.model.measures import alternatives
from config.model.reductions import OUTGROWING, Reduce, Statistic
from config.model.where import Where
from config.units import PolicyId


def quorums(catalogue: Catalogue) -> Iterator[Finding]:
    """Find shares of members where there are no members."""
    for condition, counter in _judged(catalogue):
        if condition.quorum is not None and counter.per is Per.GROUP:
            message = (
                f"the counter {counter.id} has one value for the whole group, so no member can be missing: remove it"
            )
            yield Finding(("conditions", condition.id, "quorum"), message, (("counters", counter.id, "per"),))


def ranges(catalogue: Catalogue) -> Iterator[Finding]:
    """Find thresholds that no value of the counter ever reaches."""
    for condition, counter in _judged(catalogue):
        reductions = {condition.across, condition.aggregate}
        if counter.range is None or condition.per_member or condition.in_unit or reductions & OUTGROWING:
            continue
        low, high = counter.range
        if not low <= condition.threshold <= high:
            where = ("conditions", condition.id, condition.compare.value)
            tolerance = ", with its tolerance," if "." in condition.id else ""
            message = f"{condition.threshold:g}{tolerance} is outside the range of {counter.id}, {low:g} to {high:g}"
            yield Finding(where, message, (("counters", counter.id), *_reductions(condition)))


def units(catalogue: Catalogue) -> Iterator[Finding]:
    """Find thresholds in a unit that has no meaning for the counter."""
    for condition, counter in _judged(catalogue):
        if condition.in_unit is None:
            continue
        where = ("conditions", condition.id, condition.compare.value)
        leans = (("counters", counter.id), *_reductions(condition))
        if Reduce.COUNT in {condition.across, condition.aggregate}:
            yield Finding(where, f"a count has no unit: remove {condition.in_unit}", leans)
        elif not counter.unit:
            message = f"no unit is declared for {counter.id}: remove {condition.in_unit}, or give the counter a unit"
            yield Finding(where, message, leans)
        else:
            known = ", ".join(alternatives(counter.unit))
            yield Finding(where, f"{condition.in_unit!a} is no unit for {counter.id}: write one of {known}", leans)


def _reductions(condition: Condition) -> tuple[Where, ...]:
    here = ("conditions", condition.id)
    return (*here, "counter"), (*here, "across"), (*here, "aggregate")


def _judged(catalogue: Catalogue) -> Iterator[tuple[Condition, Counter]]:
    for condition in catalogue.conditions.values():
        if isinstance(condition, Condition) and (counter := catalogue.counters.get(condition.counter)) is not None:
            yield condition, counter


_NO_LEVEL = {Reduce.COUNT, Statistic.STDDEV}


def shared(catalogue: Catalogue) -> Iterator[Finding]:
    """Find conditions ``per_member`` of a counter that is no total."""
    for condition in catalogue.conditions.values():
        if not isinstance(condition, Condition) or not condition.per_member or "." in condition.id:
            continue
        if not _is_total(catalogue, condition):
            message = f"{condition.counter} is measured on each member: remove per_member, or write across: sum"
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
                message = f"{reduction.value} is no measure of load: write avg, max or a percentile"
                yield Finding(("conditions", condition.id, key), message, leans[:1])
        if action.load is TargetLoad.TOTAL and not _is_total(catalogue, condition):
            message = (
                f"the size follows from a total, but {condition.counter} is measured on each member: write across: sum"
            )
            yield Finding(("conditions", condition.id, "across"), message, leans)
        if action.load is not TargetLoad.TOTAL and condition.across is Reduce.SUM:
            message = "a sum is a total of all members, not a level of each: write each instead of value"
            yield Finding(("conditions", condition.id, "across"), message, leans)


def kept_levels(catalogue: Catalogue) -> Iterator[Finding]:
    """Find forecasts that would learn what a member carries from what no member shows."""
    for policy in catalogue.policies.values():
        action = policy.adjustment
        level = action.capacity.level if isinstance(action, FollowForecast) else None
        condition = None if level is None else catalogue.conditions.get(level.by)
        counter = catalogue.counters.get(condition.counter) if isinstance(condition, Condition) else None
        if condition is not None and counter is not None and counter.per is Per.GROUP:
            message = f"{counter.id} has one value for the whole group, and no member's: name a counter of each member"
            yield Finding(("conditions", condition.id, "counter"), message, (("counters", counter.id, "per"),))


def fired(catalogue: Catalogue) -> Iterator[Finding]:
    """Find alerts that would carry out a target."""
    for alert in catalogue.alerts.values():
        effect = alert.effect
        if isinstance(effect, FirePolicy) and PolicyId(f"{effect.policy}.out") in catalogue.policies:
            message = (
                f"{effect.policy} is a target, and an alert has no value for it: write floor, or fire another policy"
            )
            yield Finding(("alerts", alert.id, "fire"), message, (("policies", effect.policy),))


def _is_total(catalogue: Catalogue, condition: Condition) -> bool:
    counter = catalogue.counters.get(condition.counter)
    return counter is None or counter.per is Per.GROUP or condition.across is Reduce.SUM
