"""What an expression comes to, by the quantities that its names stand for.

The tree is turned into calls of a closed set of functions, once, and simpleeval evaluates these: it runs nothing but
what it is given. In the native dialect what is unknown makes the answer unknown, unless it cannot matter; in OneFlow's,
names stand for means of two decimals, and a comparison with something absent is false (so its negation is true).

# Note [Absence removes nobody]

A policy that may remove members must not fire because something is absent. For it, OneFlow's TRUE counts only if it is
also TRUE by Kleene's logic, that is whatever the absent values are; and what a native ``??`` puts in the place of the
absent has to be measured as well: ``cpu ?? 0`` is unknown without ``cpu``. Source: DESIGN.md "Judging".
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, assert_never

from simpleeval import SimpleEval

from config.model.expressions import (
    And,
    Calculation,
    Call,
    Comparison,
    Dialect,
    Expression,
    Fallback,
    Function,
    Name,
    Negative,
    Not,
    Number,
    Or,
    Proposition,
    Quantity,
    Relation,
    Sign,
    key_of,
    names_of,
)
from trigger.conditions import spans
from trigger.conditions.spans import Known, Span
from trigger.verdicts import Truth

LookUp = Callable[[Name], Known]
"""What a name stands for now; ``None``: nothing is known of it."""


def judge(expression: Expression, look_up: LookUp, *, shrinking: bool = False) -> Truth:
    """Evaluate an expression; in OneFlow's dialect never UNKNOWN, unless for a policy that may shrink.

    Args:
        expression: what is asked.
        look_up: what each of its names stands for.
        shrinking: members may be removed because of the answer: Note [Absence removes nobody].

    >>> from config.model.native_dialect import parse
    >>> known = {"cpu": Span(90.0, 95.0)}
    >>> judge(parse("cpu > 80 || load > 2"), lambda name: known.get(name.name)).value
    'true'
    """
    names = {key_of(name): look_up(name) for name in names_of(expression.tree)}
    match expression.dialect:
        case Dialect.NATIVE:
            return _answer(expression, _MEASURED_ONLY if shrinking else _KLEENE, names)
        case Dialect.ONEFLOW:
            means = {key: _two_decimals(known) for key, known in names.items()}
            answer = _answer(expression, _ABSENT_IS_FALSE, means)
            return spans.both(answer, _answer(expression, _MEASURED_ONLY, means)) if shrinking else answer
        case _:
            assert_never(expression.dialect)


def certain(tree: Proposition, ranges: Mapping[str, tuple[float, float]]) -> bool | None:
    """Whether a proposition is true, or false, whatever its names are; ``None``: it depends on them.

    Args:
        tree: what is asked, in the native dialect: no name is absent.
        ranges: from and to, for each of its names.

    >>> from config.model.native_dialect import parse
    >>> certain(parse("cpu > 100").tree, {"cpu": (0.0, 100.0)})
    False
    """
    expression = Expression(text="", dialect=Dialect.NATIVE, tree=tree)
    match judge(expression, lambda name: Span(*ranges[key_of(name)])):
        case Truth.TRUE:
            return True
        case Truth.FALSE:
            return False
        case Truth.UNKNOWN:
            return None


def _answer(
    expression: Expression, functions: Mapping[str, Callable[..., object]], names: Mapping[str, Known]
) -> Truth:
    evaluator = SimpleEval(functions=dict(functions), names=dict(names))
    answer = evaluator.eval("", previously_parsed=_compiled(expression.tree))
    if not isinstance(answer, Truth):
        raise AssertionError(f"{expression.text!r} came to {answer!r}; a proposition comes to a truth")
    return answer


@lru_cache(maxsize=4096)
def _compiled(tree: Proposition) -> ast.expr:
    return _proposition(tree)


def _proposition(tree: Proposition) -> ast.expr:
    match tree:
        case Comparison(relation=relation, left=left, right=right):
            return _call(relation.name, _quantity(left), _quantity(right))
        case Not(of=of):
            return _call("NOT", _proposition(of))
        case And(left=left, right=right):
            return _call("AND", _proposition(left), _proposition(right))
        case Or(left=left, right=right):
            return _call("OR", _proposition(left), _proposition(right))
        case _:
            assert_never(tree)


def _quantity(tree: Quantity) -> ast.expr:
    match tree:
        case Number(value=value):
            return _call("NUMBER", ast.Constant(value))
        case Name():
            return ast.Name(key_of(tree), ast.Load())
        case Calculation(sign=sign, left=left, right=right):
            return _call(sign.name, _quantity(left), _quantity(right))
        case Negative(of=of):
            return _call("NEGATIVE", _quantity(of))
        case Call(function=function, arguments=arguments):
            return _call(function.name, *map(_quantity, arguments))
        case Fallback(first=first, second=second):
            measured = any(True for _ in names_of(second))
            return _call("FALLBACK" if measured else "WRITTEN_FALLBACK", _quantity(first), _quantity(second))
        case _:
            assert_never(tree)


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), [*arguments], [])


def _two_decimals(known: Known) -> Known:
    return None if known is None else Span(rounded(known.low), rounded(known.high))


def rounded(value: float) -> float:
    """Two decimals, half away from zero, on the binary number: as Ruby's ``Float#round(2)``.

    >>> rounded(1.005), rounded(0.004), rounded(-2.675), rounded(33.335)
    (1.0, 0.0, -2.68, 33.34)
    """
    if not math.isfinite(value):
        return value
    scaled = abs(value) * 100
    whole = math.floor(scaled)
    return math.copysign((whole + (scaled - whole >= 0.5)) / 100, value)  # noqa: PLR2004 half


def _strict(relation: Callable[[Known, Known], Truth]) -> Callable[[Known, Known], Truth]:
    """A comparison that is false with anything absent."""
    return lambda a, b: Truth.FALSE if a is None or b is None else relation(a, b)


def _differs(a: Known, b: Known) -> Truth:
    return spans.opposite(spans.equals(a, b))


def _exactly_equals(a: Known, b: Known) -> Truth:
    return Truth.TRUE if a == b else Truth.FALSE


_RELATIONS: Final[Mapping[Relation, Callable[[Known, Known], Truth]]] = MappingProxyType(
    {
        Relation.ABOVE: spans.above,
        Relation.AT_LEAST: spans.at_least,
        Relation.BELOW: lambda a, b: spans.above(b, a),
        Relation.AT_MOST: lambda a, b: spans.at_least(b, a),
        Relation.EQUALS: spans.equals,
        Relation.DIFFERS: _differs,
    }
)
_LOGIC: Final[Mapping[str, Callable[..., object]]] = MappingProxyType(
    {
        "NOT": spans.opposite,
        "AND": spans.both,
        "OR": spans.either,
        "NUMBER": spans.exactly,
        "NEGATIVE": spans.negative,
        "FALLBACK": spans.first_known,
        "WRITTEN_FALLBACK": spans.first_known,
        Sign.PLUS.name: spans.plus,
        Sign.MINUS.name: spans.minus,
        Sign.TIMES.name: spans.times,
        Sign.OVER.name: spans.over,
        Function.MIN.name: spans.least,
        Function.MAX.name: spans.greatest,
        Function.ABS.name: spans.magnitude,
    }
)
_KLEENE: Final[Mapping[str, Callable[..., object]]] = MappingProxyType(
    {**_LOGIC, **{relation.name: compare for relation, compare in _RELATIONS.items()}}
)
_MEASURED_ONLY: Final[Mapping[str, Callable[..., object]]] = MappingProxyType(
    {**_KLEENE, "WRITTEN_FALLBACK": lambda first, _: first}
)
"""Kleene's logic, and no number stands in for what was not measured."""
_ABSENT_IS_FALSE: Final[Mapping[str, Callable[..., object]]] = MappingProxyType(
    {
        **_LOGIC,
        **{relation.name: _strict(compare) for relation, compare in _RELATIONS.items()},
        Relation.EQUALS.name: _strict(_exactly_equals),
        Relation.DIFFERS.name: _strict(lambda a, b: spans.opposite(_exactly_equals(a, b))),
    }
)
"""OneFlow compares exactly."""
