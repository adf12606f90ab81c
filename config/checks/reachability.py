"""Find comparisons that are always true or always false, because of the declared range of a counter.

A threshold outside the range is refused (`config.checks.catalogue`). Here are those that touch its end, such as
``above: 100`` of a percentage, and comparisons inside expressions. They are judged by the code that decides, with each
name standing for every value that its counter can have. What has a fallback is not judged: it may be absent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias, assert_never

from config.build.targets import owner_of
from config.checks.findings import Finding
from config.model.catalogue import AnyCondition, Catalogue, Condition, ExpressionCondition, Term
from config.model.expressions import (
    And,
    Calculation,
    Comparison,
    Fallback,
    FunctionCall,
    Name,
    Negative,
    Not,
    NumberLiteral,
    Or,
    Proposition,
    Quantity,
    Relation,
    key_of,
    names_of,
    number_of,
    quantities_of,
)
from config.model.reductions import OUTGROWING, Reduction
from config.model.where import Where

Ranges: TypeAlias = Mapping[str, tuple[float, float]]
"""What each name of an expression may be, from and to; infinite where nothing bounds it."""
Certain: TypeAlias = Callable[[Proposition, Ranges], bool | None]
"""Whether a proposition is true, or false, whatever its names are: `expressions.certain`, which stands above
here."""

_STEPS = 100
"""A number that works is one of these steps away from the end of the range."""
_RELATION = {
    "above": Relation.ABOVE,
    "at_least": Relation.AT_LEAST,
    "below": Relation.BELOW,
    "at_most": Relation.AT_MOST,
    "equals": Relation.EQUALS,
}


def certainties(catalogue: Catalogue, certain: Certain) -> Iterator[Finding]:
    """Find every comparison that is always true, or never."""
    for condition in catalogue.conditions.values():
        ranges = _ranges(catalogue, condition)
        for comparison in _comparisons(condition):
            if any(isinstance(part, Fallback) for part in quantities_of(comparison)):
                continue
            truth = certain(comparison, ranges)
            if truth is not None:
                yield _finding(condition, comparison, ranges, certain, truth=truth)


def _comparisons(condition: AnyCondition) -> Iterator[Comparison]:
    match condition:
        case Condition(per_member=True):
            return  # how many members share a total is not declared
        case Condition(counter=counter, compare=compare, threshold=threshold):
            name = Name(name=counter, column=1)
            yield Comparison(relation=_RELATION[compare.value], left=name, right=NumberLiteral(value=threshold))
        case ExpressionCondition():
            yield from _inside(condition.expression.tree)
        case _:
            assert_never(condition)


def _inside(tree: Proposition) -> Iterator[Comparison]:
    match tree:
        case Comparison():
            yield tree
        case Not(of=of):
            yield from _inside(of)
        case And(left=left, right=right) | Or(left=left, right=right):
            yield from _inside(left)
            yield from _inside(right)
        case _:
            assert_never(tree)


def _ranges(catalogue: Catalogue, condition: AnyCondition) -> Ranges:
    match condition:
        case Condition():
            term = Term(name=condition.counter, counter=condition.counter, aggregate=condition.aggregate)
            return {term.name: _range(catalogue, term, condition.across)}
        case ExpressionCondition():
            return {term.name: _range(catalogue, term, condition.across) for term in condition.terms}
        case _:
            assert_never(condition)


def _range(catalogue: Catalogue, term: Term, across: Reduction) -> tuple[float, float]:
    declared = catalogue.counters[term.counter].range
    return (-math.inf, math.inf) if declared is None or {across, term.aggregate} & OUTGROWING else declared


def _finding(
    condition: AnyCondition, comparison: Comparison, ranges: Ranges, certain: Certain, *, truth: bool
) -> Finding:
    names = dict.fromkeys(key_of(name) for name in names_of(comparison))
    bounded = ", ".join(f"{name} lies in {ranges[name][0]:g} to {ranges[name][1]:g}" for name in names)
    works = _working(comparison, ranges, certain)
    where: Where = ("conditions", condition.id, "expression")
    shown, remedy = spelled(comparison), "leave it out" if works is None else f"{spelled(works)} works"
    if isinstance(condition, Condition):
        where = ("conditions", condition.id, condition.compare.value)
        shown = f"{condition.threshold:g}"
        remedy = remedy if works is None else f"{_threshold(works):g} works"
    if owner_of(condition.id) != condition.id:
        shown, remedy = f"{shown}, with its tolerance,", "a value further inside works"
    return Finding(where, f"{shown} is {'always' if truth else 'never'} true, since {bounded}; {remedy}")


def _working(comparison: Comparison, ranges: Ranges, certain: Certain) -> Comparison | None:
    """The same with the nearest number that leaves it a choice; ``None``: it does not compare a name with a number."""
    name, number = comparison.left, number_of(comparison.right)
    if number is None:
        name, number = comparison.right, number_of(comparison.left)
    if not isinstance(name, Name) or number is None:
        return None
    written = number
    near = sorted(_near(*ranges[key_of(name)]), key=lambda other: abs(other - written))
    others = (_with_number(comparison, NumberLiteral(value=other)) for other in near)
    return next((other for other in others if certain(other, ranges) is None), None)


def _with_number(comparison: Comparison, number: NumberLiteral) -> Comparison:
    right = isinstance(comparison.left, Name)
    return replace(comparison, right=number) if right else replace(comparison, left=number)


def _near(low: float, high: float) -> tuple[float, ...]:
    step = (high - low) / _STEPS
    return tuple(float(f"{number:.6g}") for number in (low, low + step, high - step, high) if math.isfinite(number))


def _threshold(comparison: Comparison) -> float:
    return next(part.value for part in (comparison.left, comparison.right) if isinstance(part, NumberLiteral))


def spelled(tree: Comparison | Quantity) -> str:
    """Write a comparison, or a part of one, as its dialect does; every calculation inside another in brackets.

    >>> spelled(Comparison(relation=Relation.ABOVE, left=Name(name="cpu", column=1), right=NumberLiteral(value=80.0)))
    'cpu > 80'
    """
    match tree:
        case Comparison(relation=relation, left=left, right=right):
            return f"{spelled(left)} {relation.value} {spelled(right)}"
        case NumberLiteral(value=value):
            return f"{value:g}"
        case Name():
            return key_of(tree)
        case Negative(of=of):
            return f"-{_enclosed(of)}"
        case FunctionCall(function=function, arguments=arguments):
            return f"{function.value}({', '.join(map(spelled, arguments))})"
        case Calculation() | Fallback():
            return _joined(tree)
        case _:
            assert_never(tree)


def _joined(tree: Calculation | Fallback) -> str:
    if isinstance(tree, Fallback):
        return f"{_enclosed(tree.first)} ?? {_enclosed(tree.second)}"
    return f"{_enclosed(tree.left)} {tree.sign.value} {_enclosed(tree.right)}"


def _enclosed(tree: Quantity) -> str:
    return f"({spelled(tree)})" if isinstance(tree, Calculation | Fallback | Negative) else spelled(tree)
