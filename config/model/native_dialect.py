"""Trimtab's own expressions: usual precedence, arithmetic, functions, statistics, fallbacks.

From the loosest to the tightest: ``||`` (or), ``&&`` (and), ``!`` (not), comparisons, ``??``, ``+ -``, ``* /``, a
leading ``-``. Comparisons do not chain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeVar

from config.bounds import DEEPEST_BRACKETS, DEEPEST_EXPRESSION, MOST_TERMS
from config.model.expressions import (
    And,
    Calculation,
    Comparison,
    Dialect,
    Expression,
    ExpressionError,
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
    depth_of,
)

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)(?![A-Za-z_0-9.])"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*|\"[^\"]+\"|'[^']+')"
    r"|(?P<sign>\|\||&&|\?\?|==|!=|<>|>=|<=|[-+*/<>=!(),.]))"
)
_BLANK: Final = re.compile(r"\s*")
_RELATIONS: Final[Mapping[str, Relation]] = MappingProxyType(
    {"==": Relation.EQUALS, "<>": Relation.DIFFERS, **{relation.value: relation for relation in Relation}}
)
_WORDS: Final[Mapping[str, str]] = MappingProxyType({"or": "||", "and": "&&", "not": "!"})
STATISTICS: Final = ("avg", "min", "max", "sum", "last", "count", "stddev", "p50", "p90", "p95", "p99")
"""What may follow a name: how its values over the window become one."""

_Node = Proposition | Quantity
_Kind = TypeVar("_Kind", bound=_Node)


def parse(text: str) -> Expression:
    """Read an expression.

    Raises:
        ExpressionError: says what was expected and where.
    """
    reader = _Reader(text)
    at = reader.column
    tree = reader.either(0)
    if reader.sign or reader.name or reader.number is not None:
        raise ExpressionError(text, "an operator or the end", reader.column)
    if depth_of(tree) > DEEPEST_EXPRESSION:
        raise ExpressionError(text, f"at most {DEEPEST_EXPRESSION} operations in one another", at)
    return Expression(text=text, dialect=Dialect.NATIVE, tree=_proposition(text, tree, at))


class _Reader:
    """Looks at one token, and takes it when it fits."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._end = 0
        self._terms = 0
        self._next()

    def _next(self) -> None:
        blank = _BLANK.match(self.text, self._end)
        self.column = (blank.end() if blank else self._end) + 1
        found = _TOKEN.match(self.text, self._end)
        if found is None and self.column <= len(self.text):
            raise ExpressionError(self.text, "a number, a name or an operator", self.column)
        self.number = float(found["number"]) if found and found["number"] else None
        self.name = (found["name"] or "") if found else ""
        self.sign = _WORDS.get(self.name, (found["sign"] or "") if found else "")
        if self.sign:
            self.name = ""
        self._end = found.end() if found else len(self.text)

    def _takes(self, *signs: str) -> str:
        taken = self.sign if self.sign in signs else ""
        if taken:
            self._next()
        return taken

    def either(self, depth: int) -> _Node:
        at, left = self.column, self._both(depth)
        while self._takes("||"):
            left, right = _proposition(self.text, left, at), self._right(self._both, depth)
            left = Or(left=left, right=right)
        return left

    def _both(self, depth: int) -> _Node:
        at, left = self.column, self._opposite(depth)
        while self._takes("&&"):
            left, right = _proposition(self.text, left, at), self._right(self._opposite, depth)
            left = And(left=left, right=right)
        return left

    def _right(self, operand: Callable[[int], _Node], depth: int) -> Proposition:
        at = self.column
        return _proposition(self.text, operand(depth), at)

    def _opposite(self, depth: int) -> _Node:
        self._bounded(depth)
        if not self._takes("!"):
            return self._compared(depth)
        at = self.column
        return Not(of=_proposition(self.text, self._opposite(depth + 1), at))

    def _compared(self, depth: int) -> _Node:
        at, left = self.column, self._fallback(depth)
        if (relation := _RELATIONS.get(self._takes(*_RELATIONS))) is None:
            return left
        left, here = _quantity(self.text, left, at), self.column
        right = _quantity(self.text, self._fallback(depth), here)
        return Comparison(relation=relation, left=left, right=right)

    def _fallback(self, depth: int) -> _Node:
        return self._series(self._sum, ("??",), depth, lambda _, left, right: Fallback(first=left, second=right))

    def _sum(self, depth: int) -> _Node:
        return self._series(self._product, ("+", "-"), depth, _calculation)

    def _product(self, depth: int) -> _Node:
        return self._series(self._signed, ("*", "/"), depth, _calculation)

    def _series(
        self,
        operand: Callable[[int], _Node],
        signs: tuple[str, ...],
        depth: int,
        join: Callable[[str, Quantity, Quantity], Quantity],
    ) -> _Node:
        at, left = self.column, operand(depth)
        while sign := self._takes(*signs):
            here = self.column
            left = join(sign, _quantity(self.text, left, at), _quantity(self.text, operand(depth), here))
        return left

    def _signed(self, depth: int) -> _Node:
        self._bounded(depth)
        if not self._takes("-"):
            return self._primary(depth)
        at = self.column
        return Negative(of=_quantity(self.text, self._signed(depth + 1), at))

    def _primary(self, depth: int) -> _Node:
        self._terms += 1
        if self._terms > MOST_TERMS:
            raise ExpressionError(self.text, f"at most {MOST_TERMS} numbers and names", self.column)
        if self.number is not None:
            value = self.number
            self._next()
            return NumberLiteral(value=value)
        if self.name:
            return self._named(depth)
        if self._takes("("):
            inside = self.either(depth + 1)
            self._closed()
            return inside
        raise ExpressionError(self.text, "a number, a name, ! or (", self.column)

    def _named(self, depth: int) -> Quantity:
        written, column = self.name, self.column
        self._next()
        if self.sign == "(":
            return self._call(written, column, depth)
        statistic = None
        if self._takes("."):
            if self.name not in STATISTICS:
                raise ExpressionError(self.text, f"one of {', '.join(STATISTICS)}", self.column)
            statistic = self.name
            self._next()
        return Name(name=written.strip("\"'"), statistic=statistic, column=column)

    def _call(self, written: str, column: int, depth: int) -> FunctionCall:
        function = next((each for each in Function if each.value == written), None)
        if function is None:
            raise ExpressionError(self.text, f"one of the functions {', '.join(f.value for f in Function)}", column)
        self._takes("(")
        arguments = [self._argument(depth)]
        while self._takes(","):
            if function is Function.ABS:
                raise ExpressionError(self.text, "one quantity only", self.column)
            arguments.append(self._argument(depth))
        self._closed()
        return FunctionCall(function=function, arguments=tuple(arguments))

    def _argument(self, depth: int) -> Quantity:
        at = self.column
        return _quantity(self.text, self.either(depth + 1), at)

    def _closed(self) -> None:
        if not self._takes(")"):
            raise ExpressionError(self.text, "an operator or )", self.column)

    def _bounded(self, depth: int) -> None:
        if depth > DEEPEST_BRACKETS:
            raise ExpressionError(self.text, f"at most {DEEPEST_BRACKETS} levels of nesting", self.column)


def _calculation(sign: str, left: Quantity, right: Quantity) -> Quantity:
    return Calculation(sign=Sign(sign), left=left, right=right)


def _proposition(text: str, node: _Node, column: int) -> Proposition:
    match node:
        case Comparison() | Not() | And() | Or():
            return node
        case _:
            raise ExpressionError(text, "something true or false: compare this with something", column)


def _quantity(text: str, node: _Node, column: int) -> Quantity:
    match node:
        case Comparison() | Not() | And() | Or():
            raise ExpressionError(text, "a quantity, not something true or false", column)
        case _:
            return node
