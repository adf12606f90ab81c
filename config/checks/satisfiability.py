"""The ways in which a policy's conditions can hold, as far as thresholds tell.

A *way* is one choice of conditions that suffices, and of an expression one side of each ``||``: everything of it holds
at once. Of it are kept the thresholds of single counters, as conditions; what compares anything else keeps nothing
apart here, and the way is then not *whole*.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, islice, product
from typing import NamedTuple, assert_never

from config.model.catalogue import AnyCondition, Catalogue, Compare, Condition, ExpressionCondition, Policy
from config.model.expressions import And, Comparison, Name, Not, Or, Proposition, Relation, key_of, number_of
from config.model.where import Where

_MANY = 256
"""A policy with so many ways is not looked at."""


class PassedThresholds(NamedTuple):
    """Thresholds that all are passed."""

    thresholds: tuple[Condition, ...]
    whole: bool
    """Nothing else must hold besides."""


_SOMETHING_ELSE = PassedThresholds((), whole=False)


def ways(catalogue: Catalogue, policy: Policy, *, expressions: bool = True) -> tuple[PassedThresholds, ...]:
    """Every way in which a policy's conditions can hold; none where a condition is not declared, or for too many.

    Args:
        catalogue: of the conditions.
        policy: that has the conditions.
        expressions: look into them; else each is something else that must hold.
    """
    known = [catalogue.conditions[name] for name in policy.when if name in catalogue.conditions]
    enough = len(policy.when) if policy.enough is None else policy.enough
    if len(known) < len(policy.when) or enough > len(known):
        return ()
    alternatives = [tuple(_of(condition, expressions=expressions)) for condition in known]
    choices = chain.from_iterable(product(*chosen) for chosen in combinations(alternatives, enough))
    found = [_joined(choice) for choice in islice(choices, _MANY)]
    few = len(found) < _MANY and all(len(each) < _MANY for each in alternatives)
    return tuple(found) if few else ()


def place_of(catalogue: Catalogue, condition: Condition) -> Where:
    """Where the threshold of one condition of a way stands in the file."""
    declared = catalogue.conditions.get(condition.id)
    key = "expression" if isinstance(declared, ExpressionCondition) else condition.compare.value
    return ("conditions", condition.id, key)


def _of(condition: AnyCondition, *, expressions: bool) -> Iterator[PassedThresholds]:
    match condition:
        case Condition():
            yield PassedThresholds((condition,), whole=True)
        case ExpressionCondition() if expressions:
            yield from _alternatives(condition, condition.expression.tree, opposite=False)
        case ExpressionCondition():
            yield _SOMETHING_ELSE
        case _:
            assert_never(condition)


def _alternatives(condition: ExpressionCondition, tree: Proposition, *, opposite: bool) -> Sequence[PassedThresholds]:
    """Reduce a proposition, or its opposite, to comparisons, by De Morgan's laws."""
    match tree:
        case Comparison():
            return (_threshold(condition, tree, opposite=opposite),)
        case Not(of=of):
            return _alternatives(condition, of, opposite=not opposite)
        case And() | Or():
            left = _alternatives(condition, tree.left, opposite=opposite)
            right = _alternatives(condition, tree.right, opposite=opposite)
            if isinstance(tree, Or) is not opposite:
                return (*left, *right)[:_MANY]
            return [_joined(pair) for pair in islice(product(left, right), _MANY)]
        case _:
            assert_never(tree)


def _joined(parts: Sequence[PassedThresholds]) -> PassedThresholds:
    thresholds = tuple(chain.from_iterable(part.thresholds for part in parts))
    return PassedThresholds(thresholds, whole=all(part.whole for part in parts))


def _threshold(condition: ExpressionCondition, comparison: Comparison, *, opposite: bool) -> PassedThresholds:
    """The condition that a comparison of one counter with a number is; anything else keeps nothing apart."""
    relation = _OPPOSITE[comparison.relation] if opposite else comparison.relation
    name, number = comparison.left, number_of(comparison.right)
    if number is None:
        name, number, relation = comparison.right, number_of(comparison.left), _MIRRORED[relation]
    compare = _COMPARES.get(relation)
    if not isinstance(name, Name) or number is None or compare is None:
        return _SOMETHING_ELSE
    term = next(term for term in condition.terms if term.name == key_of(name))
    threshold = Condition(
        id=condition.id,
        counter=term.counter,
        across=condition.across,
        aggregate=term.aggregate,
        window=condition.window,
        compare=compare,
        threshold=number,
        quorum=condition.quorum,
    )
    return PassedThresholds((threshold,), whole=True)


_OPPOSITE = {
    Relation.ABOVE: Relation.AT_MOST,
    Relation.AT_LEAST: Relation.BELOW,
    Relation.BELOW: Relation.AT_LEAST,
    Relation.AT_MOST: Relation.ABOVE,
    Relation.EQUALS: Relation.DIFFERS,
    Relation.DIFFERS: Relation.EQUALS,
}
_MIRRORED = {
    Relation.ABOVE: Relation.BELOW,
    Relation.AT_LEAST: Relation.AT_MOST,
    Relation.BELOW: Relation.ABOVE,
    Relation.AT_MOST: Relation.AT_LEAST,
    Relation.EQUALS: Relation.EQUALS,
    Relation.DIFFERS: Relation.DIFFERS,
}
_COMPARES = {
    Relation.ABOVE: Compare.ABOVE,
    Relation.AT_LEAST: Compare.AT_LEAST,
    Relation.BELOW: Compare.BELOW,
    Relation.AT_MOST: Compare.AT_MOST,
    Relation.EQUALS: Compare.EQUALS,
}
"""What differs from a number lies anywhere else: no threshold."""
