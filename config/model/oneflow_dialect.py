"""OneFlow's expressions, exactly as its parser takes them.

There is no precedence: the operand to the right of ``&`` or ``|`` is all that follows, and ``!`` negates all that
follows, up to the end or the closing parenthesis. Its documentation says otherwise; the parser is what runs.
Source: the compiled grammar of OpenNebula OneFlow, 6.8 to 7.4.
"""

from __future__ import annotations

import re
from typing import Final

from config.model.expressions import (
    And,
    Comparison,
    Dialect,
    Expression,
    ExpressionError,
    Name,
    Not,
    NumberLiteral,
    Or,
    Proposition,
    Quantity,
    Relation,
)

_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*|'[A-Za-z][A-Za-z0-9_]*'|\"[A-Za-z][A-Za-z0-9_]*\"")
_RELATIONS: Final = (
    ("==", Relation.EQUALS),
    ("=", Relation.EQUALS),
    ("!=", Relation.DIFFERS),
    ("<>", Relation.DIFFERS),
    (">=", Relation.AT_LEAST),
    (">", Relation.ABOVE),
    ("<=", Relation.AT_MOST),
    ("<", Relation.BELOW),
)
_DEEPEST = 100
"""Levels of nesting; no rule in use is nested deeper."""


def parse(text: str) -> Expression:
    """Read an expression as OneFlow does.

    Names are turned to upper case, except quoted ones: these keep their quotes in OneFlow and so never find anything.

    Raises:
        ExpressionError: OneFlow would refuse it; says what it expected and where.
    """
    reader = _Reader(text)
    tree = reader.expression(0)
    if reader.place < len(text):
        raise reader.expected("&, | or the end")
    return Expression(text=text, dialect=Dialect.ONEFLOW, tree=tree)


class _Reader:
    """Walks along a text; the only blank is the space."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def expected(self, what: str) -> ExpressionError:
        return ExpressionError(self.text, what, self.place + 1)

    def expression(self, depth: int) -> Proposition:
        if depth > _DEEPEST:
            raise self.expected(f"at most {_DEEPEST} levels of nesting")
        self._blanks()
        left = self._condition(depth)
        self._blanks()
        both = self._takes("&&", "&")
        if not both and not self._takes("||", "|"):
            return left
        right = self.expression(depth + 1)
        return And(left=left, right=right) if both else Or(left=left, right=right)

    def _condition(self, depth: int) -> Proposition:
        if self._takes("!"):
            return Not(of=self.expression(depth + 1))
        if self._takes("("):
            inside = self.expression(depth + 1)
            if not self._takes(")"):
                raise self.expected("&, | or )")
            return inside
        left = self._operand("a number, a name, ! or (")
        self._blanks()
        relation = next((relation for sign, relation in _RELATIONS if self._takes(sign)), None)
        if relation is None:
            raise self.expected("a comparison")
        self._blanks()
        return Comparison(relation=relation, left=left, right=self._operand("a number or a name"))

    def _operand(self, what: str) -> Quantity:
        if number := _NUMBER.match(self.text, self.place):
            self.place = number.end()
            return NumberLiteral(value=float(number[0]))
        if name := _NAME.match(self.text, self.place):
            column = self.place + 1
            self.place = name.end()
            return Name(name=name[0].upper(), column=column)
        raise self.expected(what)

    def _takes(self, *signs: str) -> bool:
        for sign in signs:
            if self.text.startswith(sign, self.place):
                self.place += len(sign)
                return True
        return False

    def _blanks(self) -> None:
        while self.text.startswith(" ", self.place):
            self.place += 1
