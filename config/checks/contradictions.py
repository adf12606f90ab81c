"""Policies of one group that can grow and shrink it at the same instant: the fleet would swing for ever.

Looked at is every way in which each of the two can be ready (`config.checks.ways`): all conditions, any, or so many of
them.
Where thresholds of expressions are needed to see it, it is a warning: an expression may hold for less than they tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product

from config.build.targets import owner_of
from config.checks.findings import Finding
from config.checks.overlaps import overlap_of, true_for
from config.checks.ways import place_of, ways
from config.model.adjustments import Verb
from config.model.catalogue import Catalogue, Condition, Policy


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
        growing = [policy for policy in mine if policy.adjustment.verb is Verb.ADD]
        yield from product(growing, [policy for policy in mine if policy.adjustment.verb is Verb.REMOVE])


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
