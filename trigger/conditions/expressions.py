"""Evaluate an expression with the quantities of its names.

The tree is translated into Python's syntax once, and simpleeval evaluates it. simpleeval runs only the operators and
functions of a table, and each dialect has its table. In the native dialect an unknown quantity makes the answer
unknown, unless it cannot matter. In OneFlow's dialect names are means with two decimals, and a comparison with a
missing value is false (so its negation is true). Source: ADR 0026.

# Note [Missing values remove no member]

A policy that may remove members must not fire because a value is missing. For such a policy, OneFlow's TRUE counts only
if it is also TRUE by Kleene's logic, that is for all possible values; and the replacement of a native ``??`` has to be
measured as well: ``cpu ?? 0`` is unknown without ``cpu``. Source: DESIGN.md "Judging".
"""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple, assert_never

from simpleeval import SimpleEval

from config.model.expressions import (
    And,
    Calculation,
    Comparison,
    Dialect,
    Expression,
    Fallback,
    Function,
    FunctionCall,
    Name,
    Negative,
    Not,
    NumberLiteral,
    Or,
    Proposition,
    Quantity,
    Relation,
    Sign,
    key_of,
    names_of,
)
from trigger.conditions import spans
from trigger.conditions.spans import Known, ValueSpan
from trigger.verdicts import Truth


def judge(expression: Expression, known: Mapping[str, Known], *, shrinking: bool = False) -> Truth:
    """Evaluate an expression; in OneFlow's dialect never UNKNOWN, unless for a policy that may shrink.

    Args:
        expression: the expression.
        known: the quantity of each of its names, by `key_of`; a name without an entry is missing.
        shrinking: the policy may remove members: Note [Missing values remove no member].

    >>> from config.model.native_dialect import parse
    >>> judge(parse("cpu > 80 || load > 2"), {"cpu": ValueSpan(90.0, 95.0)}).value
    'true'
    """
    match expression.dialect:
        case Dialect.NATIVE:
            return _answer(expression, _MEASURED_ONLY if shrinking else _KLEENE, known)
        case Dialect.ONEFLOW:
            means = {key: _two_decimals(quantity) for key, quantity in known.items()}
            answer = _answer(expression, _ABSENT_IS_FALSE, means)
            return spans.both(answer, _answer(expression, _MEASURED_ONLY, means)) if shrinking else answer
        case _:
            assert_never(expression.dialect)


def certain(tree: Proposition, ranges: Mapping[str, tuple[float, float]]) -> bool | None:
    """Whether a proposition is always true, or always false; ``None``: it depends on its names.

    Args:
        tree: the proposition, in the native dialect; no name is missing.
        ranges: least and greatest value of each of its names.

    >>> from config.model.native_dialect import parse
    >>> certain(parse("cpu > 100").tree, {"cpu": (0.0, 100.0)})
    False
    """
    known = {key: ValueSpan(*ranges[key]) for key in map(key_of, names_of(tree))}
    match judge(Expression(text="", dialect=Dialect.NATIVE, tree=tree), known):
        case Truth.TRUE:
            return True
        case Truth.FALSE:
            return False
        case Truth.UNKNOWN:
            return None


class _Meaning(NamedTuple):
    """The operators and functions that simpleeval runs for one dialect."""

    operators: Mapping[type[ast.AST], Callable[..., Known | Truth]]
    functions: Mapping[str, Callable[..., Known]]


def _answer(expression: Expression, meaning: _Meaning, known: Mapping[str, Known]) -> Truth:
    names = defaultdict[str, Known](lambda: None, known)
    evaluator = SimpleEval(operators=meaning.operators, functions=meaning.functions, names=names)
    answer = evaluator.eval("", previously_parsed=_python(expression.tree))
    if not isinstance(answer, Truth):
        raise AssertionError(f"{expression.text!r} came to {answer!r}; a proposition comes to a truth")
    return answer


@lru_cache(maxsize=4096)
def _python(tree: Proposition) -> ast.expr:
    return _proposition(tree)


def _proposition(tree: Proposition) -> ast.expr:
    """Translate AND and OR into ``&`` and ``|``: Python's ``and`` and ``or`` have two truths, not three."""
    match tree:
        case Comparison(relation=relation, left=left, right=right):
            return ast.Compare(_quantity(left), [_COMPARED[relation]()], [_quantity(right)])
        case Not(of=of):
            return ast.UnaryOp(ast.Not(), _proposition(of))
        case And(left=left, right=right):
            return ast.BinOp(_proposition(left), ast.BitAnd(), _proposition(right))
        case Or(left=left, right=right):
            return ast.BinOp(_proposition(left), ast.BitOr(), _proposition(right))
        case _:
            assert_never(tree)


def _quantity(tree: Quantity) -> ast.expr:
    match tree:
        case NumberLiteral(value=value):
            return ast.Constant(spans.exactly(value))  # type: ignore[arg-type]  # simpleeval takes any constant
        case Name():
            return ast.Name(key_of(tree), ast.Load())
        case Calculation(sign=sign, left=left, right=right):
            return ast.BinOp(_quantity(left), _CALCULATED[sign](), _quantity(right))
        case Negative(of=of):
            return ast.UnaryOp(ast.USub(), _quantity(of))
        case FunctionCall(function=function, arguments=arguments):
            return _call(function.value, *arguments)
        case Fallback(first=first, second=second):
            return _call(_FALLBACK if any(True for _ in names_of(second)) else _WRITTEN_FALLBACK, first, second)
        case _:
            assert_never(tree)


def _call(name: str, *arguments: Quantity) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), [_quantity(each) for each in arguments], [])


def _two_decimals(known: Known) -> Known:
    return None if known is None else ValueSpan(rounded(known.low), rounded(known.high))


_WITHOUT_DECIMALS: Final = 2.0**53
"""From here on all numbers are whole, and times 100 they may come to infinity."""


def rounded(value: float) -> float:
    """Round to two decimals, half away from zero, on the binary number, as Ruby's ``Float#round(2)``.

    >>> rounded(1.005), rounded(0.004), rounded(-2.675), rounded(33.335)
    (1.0, 0.0, -2.68, 33.34)
    """
    if not abs(value) < _WITHOUT_DECIMALS:  # NaN is none of these, either
        return value
    scaled = abs(value) * 100
    cents = math.floor(scaled)
    return math.copysign((cents + (scaled - cents >= 0.5)) / 100, value)  # noqa: PLR2004 half


def _strict(relation: Callable[[Known, Known], Truth]) -> Callable[[Known, Known], Truth]:
    """Make a comparison that is false with a missing value."""
    return lambda a, b: Truth.FALSE if a is None or b is None else relation(a, b)


def _differs(a: Known, b: Known) -> Truth:
    return spans.opposite(spans.equals(a, b))


def _exactly_equals(a: Known, b: Known) -> Truth:
    return Truth.TRUE if a == b else Truth.FALSE


_COMPARED: Final[Mapping[Relation, type[ast.cmpop]]] = MappingProxyType(
    {
        Relation.ABOVE: ast.Gt,
        Relation.AT_LEAST: ast.GtE,
        Relation.BELOW: ast.Lt,
        Relation.AT_MOST: ast.LtE,
        Relation.EQUALS: ast.Eq,
        Relation.DIFFERS: ast.NotEq,
    }
)
_CALCULATED: Final[Mapping[Sign, type[ast.operator]]] = MappingProxyType(
    {Sign.PLUS: ast.Add, Sign.MINUS: ast.Sub, Sign.TIMES: ast.Mult, Sign.OVER: ast.Div}
)
_FALLBACK, _WRITTEN_FALLBACK = "known", "written"

_COMPARISONS: Final[Mapping[type[ast.AST], Callable[[Known, Known], Truth]]] = MappingProxyType(
    {
        ast.Gt: spans.above,
        ast.GtE: spans.at_least,
        ast.Lt: lambda a, b: spans.above(b, a),
        ast.LtE: lambda a, b: spans.at_least(b, a),
        ast.Eq: spans.equals,
        ast.NotEq: _differs,
    }
)
_KLEENE: Final = _Meaning(
    operators=MappingProxyType(
        {
            **_COMPARISONS,
            ast.Not: spans.opposite,
            ast.BitAnd: spans.both,
            ast.BitOr: spans.either,
            ast.Add: spans.plus,
            ast.Sub: spans.minus,
            ast.Mult: spans.times,
            ast.Div: spans.over,
            ast.USub: spans.negative,
        }
    ),
    functions=MappingProxyType(
        {
            Function.MIN.value: spans.least,
            Function.MAX.value: spans.greatest,
            Function.ABS.value: spans.magnitude,
            _FALLBACK: spans.first_known,
            _WRITTEN_FALLBACK: spans.first_known,
        }
    ),
)
_MEASURED_ONLY: Final = _KLEENE._replace(
    functions=MappingProxyType({**_KLEENE.functions, _WRITTEN_FALLBACK: lambda first, _: first})
)
"""Kleene's logic, where no number replaces a value that was not measured."""
_ABSENT_IS_FALSE: Final = _KLEENE._replace(
    operators=MappingProxyType(
        {
            **_KLEENE.operators,
            **{operator: _strict(compare) for operator, compare in _COMPARISONS.items()},
            ast.Eq: _strict(_exactly_equals),
            ast.NotEq: _strict(lambda a, b: spans.opposite(_exactly_equals(a, b))),
        }
    )
)
"""OneFlow compares exactly."""
