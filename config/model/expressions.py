"""An expression over counters, as a tree: both dialects are read into the same one.

A *quantity* is a number, or unknown; a *proposition* is true, false, or unknown. Names stand for aggregates; what an
absent one means is the dialect's business (`trigger.conditions.expressions`).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, assert_never


class Dialect(enum.Enum):
    """How a text is read, and what the absent means in it."""

    NATIVE = "native"
    """Usual precedence; what is not known makes the answer unknown (Kleene's strong logic)."""
    ONEFLOW = "oneflow"
    """As OneFlow reads it: no precedence, means of two decimals, and what is absent compares false."""


class Sign(enum.Enum):
    """What is done to two quantities."""

    PLUS = "+"
    MINUS = "-"
    TIMES = "*"
    OVER = "/"


class Relation(enum.Enum):
    """How two quantities are compared."""

    ABOVE = ">"
    AT_LEAST = ">="
    BELOW = "<"
    AT_MOST = "<="
    EQUALS = "="
    DIFFERS = "!="


class Function(enum.Enum):
    """What can be called; ``abs`` takes one quantity, the others one or more."""

    MIN = "min"
    MAX = "max"
    ABS = "abs"


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberLiteral:
    """A number as written."""

    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A counter, and which statistic of it is meant."""

    name: str
    statistic: str | None = None
    """``p95`` of ``cpu.p95``; ``None``: whatever the condition says."""
    column: int
    """Where it stands in the text, from 1; for messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calculation:
    """Two quantities and a sign between them."""

    sign: Sign
    left: Quantity
    right: Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Negative:
    """A quantity with the opposite sign."""

    of: Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCall:
    """A function of quantities."""

    function: Function
    arguments: tuple[Quantity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """``first ?? second``: the first if it is known, else the second."""

    first: Quantity
    second: Quantity


Quantity = NumberLiteral | Name | Calculation | Negative | FunctionCall | Fallback


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two quantities and a relation between them."""

    relation: Relation
    left: Quantity
    right: Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Not:
    """The opposite of a proposition."""

    of: Proposition


@dataclass(frozen=True, slots=True, kw_only=True)
class And:
    """Both."""

    left: Proposition
    right: Proposition


@dataclass(frozen=True, slots=True, kw_only=True)
class Or:
    """Either, or both."""

    left: Proposition
    right: Proposition


Proposition = Comparison | Not | And | Or


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A text and what it says."""

    text: str
    dialect: Dialect
    tree: Proposition


_AROUND: Final = 50
"""Characters of a long expression that are shown on either side of a mistake."""


class ExpressionError(ValueError):
    """A text that is no expression.

    Attributes:
        expected: what was expected, as words that complete "expected …".
        column: where, from 1; one past the end where something is missing.
    """

    def __init__(self, text: str, expected: str, column: int) -> None:
        found = repr(text[column - 1]) if column <= len(text) else "the end"
        super().__init__(f"column {column}: expected {expected}, found {found}")
        self.text = text
        self.expected = expected
        self.column = column

    def pointed(self) -> str:
        """The text around the place, a caret below the place, and what was expected there.

        >>> print(ExpressionError("cpu > 80 && " + "load > 1 || " * 20 + "(", "a number or a name", 254).pointed())
        …  load > 1 || load > 1 || load > 1 || load > 1 || (
                                                            ^ expected a number or a name
        """
        place = self.column - 1
        begin, end = max(place - _AROUND, 0), place + _AROUND
        shown = "".join(each if each.isprintable() else "·" for each in self.text[begin:end])
        before, after = "… " if begin else "", " …" if end < len(self.text) else ""
        return f"{before}{shown}{after}\n{' ' * (len(before) + place - begin)}^ expected {self.expected}"


def names_of(tree: Proposition | Quantity) -> Iterator[Name]:
    """Every name, in the order of the text, as often as it stands there."""
    if isinstance(tree, Name):
        yield tree
    for part in _parts(tree):
        yield from names_of(part)


def quantities_of(tree: Proposition | Quantity) -> Iterator[Quantity]:
    """Every quantity, those within others too, in the order of the text."""
    if not isinstance(tree, Comparison | Not | And | Or):
        yield tree
    for part in _parts(tree):
        yield from quantities_of(part)


def number_of(tree: Quantity) -> float | None:
    """The number that is written, with its sign; ``None``: it is something else."""
    match tree:
        case NumberLiteral(value=value):
            return value
        case Negative(of=NumberLiteral(value=value)):
            return -value
        case _:
            return None


def key_of(name: Name) -> str:
    """The name and its statistic: what tells one term of an expression from another."""
    return name.name if name.statistic is None else f"{name.name}.{name.statistic}"


def depth_of(tree: Proposition | Quantity) -> int:
    """How many levels the tree has: one for a number or a name."""
    depth, level = 0, [tree]
    while level:
        depth, level = depth + 1, [part for node in level for part in _parts(node)]
    return depth


def _parts(tree: Proposition | Quantity) -> tuple[Proposition | Quantity, ...]:
    match tree:
        case Name() | NumberLiteral():
            return ()
        case Negative(of=of) | Not(of=of):
            return (of,)
        case FunctionCall(arguments=arguments):
            return arguments
        case Fallback(first=left, second=right):
            return (left, right)
        case Calculation() | Comparison() | And() | Or():
            return (tree.left, tree.right)
        case _:
            assert_never(tree)
