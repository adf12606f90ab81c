"""Where Trimtab's own dialect would read an expression of OneFlow's otherwise, in words."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, assert_never

from config.model import native_dialect
from config.model.expressions import (
    And,
    Calculation,
    Comparison,
    Expression,
    ExpressionError,
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
)

_COMPARE: Final[Mapping[Relation, Callable[[float, float], bool]]] = MappingProxyType(
    {
        Relation.ABOVE: operator.gt,
        Relation.AT_LEAST: operator.ge,
        Relation.BELOW: operator.lt,
        Relation.AT_MOST: operator.le,
        Relation.EQUALS: operator.eq,
        Relation.DIFFERS: operator.ne,
    }
)


def other_readings(expression: Expression) -> Iterator[str]:
    """Say in which ways the native dialect reads the text of an expression otherwise; nothing: in none.

    >>> from config.model.oneflow_dialect import parse
    >>> for reading in other_readings(parse("A = 1 && B = 1 || C = 1")): print(reading)
    it is A = 1 && (B = 1 || C = 1); by usual precedence it would be (A = 1 && B = 1) || C = 1
    """
    kept = written(expression.tree)
    try:
        usual = written(native_dialect.parse(expression.text).tree)
    except ExpressionError as error:
        yield f"the native dialect does not take it: {error}"
    else:
        if usual.upper() != kept:
            yield f"it is {kept}; by usual precedence it would be {usual}"
    if _true_of_nothing(expression.tree):
        yield "it is true while nothing at all is known, where the native dialect says unknown"


def written(tree: Proposition) -> str:
    """An expression with all the parentheses that it takes to be read alike in both dialects.

    >>> from config.model.oneflow_dialect import parse
    >>> written(parse("!A=1&B=1").tree), written(parse("A>1 && (B>1 && C>1)").tree)
    ('!(A = 1 && B = 1)', 'A > 1 && B > 1 && C > 1')
    """
    match tree:
        case And() | Or():
            return (" && " if isinstance(tree, And) else " || ").join(map(_enclosed, _chain(tree, type(tree))))
        case Not(of=of):
            return f"!({written(of)})"
        case Comparison(relation=relation, left=left, right=right):
            return f"{_quantity(left)} {relation.value} {_quantity(right)}"
        case _:
            assert_never(tree)


def _quantity(quantity: Quantity) -> str:
    match quantity:
        case NumberLiteral(value=value):
            return f"{value:.15g}"
        case Name():
            return key_of(quantity)
        case Negative(of=of):
            return f"-{_quantity(of)}"
        case Calculation() | FunctionCall() | Fallback():
            raise AssertionError(f"no text of OneFlow's is arithmetic in any dialect: {quantity}")
        case _:
            assert_never(quantity)


def _chain(tree: Proposition, kind: type[And] | type[Or]) -> Iterator[Proposition]:
    """What one kind of operator joins, whichever way it groups: it comes to the same."""
    if isinstance(tree, (And, Or)) and isinstance(tree, kind):
        yield from _chain(tree.left, kind)
        yield from _chain(tree.right, kind)
    else:
        yield tree


def _enclosed(part: Proposition) -> str:
    return written(part) if isinstance(part, Comparison) else f"({written(part)})"


def _true_of_nothing(tree: Proposition) -> bool:
    """Whether it holds while every name is absent: OneFlow calls each comparison with one of them false."""
    match tree:
        case Comparison(relation=relation, left=NumberLiteral(value=left), right=NumberLiteral(value=right)):
            return _COMPARE[relation](left, right)
        case Comparison():
            return False
        case Not(of=of):
            return not _true_of_nothing(of)
        case And(left=left, right=right):
            return _true_of_nothing(left) and _true_of_nothing(right)
        case Or(left=left, right=right):
            return _true_of_nothing(left) or _true_of_nothing(right)
        case _:
            assert_never(tree)
