"""Policies that can never be ready, since what they wait for excludes itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from config.checks.findings import Finding
from config.checks.overlaps import comparable, true_for
from config.checks.ways import Way, ways
from config.model.catalogue import Catalogue, Condition


def together(catalogue: Catalogue) -> Iterator[Finding]:
    """Find policies of which no way to hold is open: two thresholds over one window that no value passes both."""
    for policy in catalogue.policies.values():
        clashes = [_clash(way) for way in ways(catalogue, policy)]
        if clashes and all(clashes) and clashes[0] is not None:
            first, second = clashes[0]
            what = f"{_said(first)} and {_said(second)}"
            remedy = "write match: any" if _apart(first, second) and policy.enough is None else "leave one out"
            yield Finding(("policies", policy.id, "when"), f"no value of {first.counter} is {what}: {remedy}")


def _clash(way: Way) -> tuple[Condition, Condition] | None:
    pairs = combinations(way.thresholds, 2)
    return next((pair for pair in pairs if _excludes(*pair)), None)


def _excludes(first: Condition, second: Condition) -> bool:
    same = comparable(first, second) and first.window == second.window
    return same and not true_for(first).meets(true_for(second))


def _apart(first: Condition, second: Condition) -> bool:
    return first.id != second.id


def _said(condition: Condition) -> str:
    return f"{condition.compare.value.replace('_', ' ')} {condition.threshold:g} ({condition.id})"
