"""What a threshold may be, by the counter that is held against it: rules of `config.checks.catalogue`."""

from __future__ import annotations

from collections.abc import Iterator

from config.checks.findings import Finding
from config.model.catalogue import Catalogue, Condition
from config.model.counters import Counter, Per
from config.model.measures import alternatives
from config.model.reductions import OUTGROWING, Reduce
from config.model.where import Where


def quorums(catalogue: Catalogue) -> Iterator[Finding]:
    """Find shares of members where there are no members."""
    for condition, counter in _judged(catalogue):
        if condition.quorum is not None and counter.per is Per.GROUP:
            message = f"the counter {counter.id} answers for the whole group, which has no members to miss: remove it"
            yield Finding(("conditions", condition.id, "quorum"), message, (("counters", counter.id, "per"),))


def ranges(catalogue: Catalogue) -> Iterator[Finding]:
    """Find thresholds that no value of the counter ever comes to."""
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
