"""Numbers with a unit: thresholds, in the unit of their counter, and sizes in bytes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import PlainValidator

from config.document.declared import SIZE_PATTERN, worded
from config.model.counters import Counter
from config.model.measures import alternatives, factor

_WRITTEN = re.compile(r"(?P<number>[+-]?\d+(\.\d+)?([eE][+-]?\d+)?)\s*(?P<unit>[^\s\d.].{0,39})")
_EXPECTED = 'a plain number, or one with a unit such as "250 ms" or "80 %"'
_LARGEST, _SMALLEST = 1e100, 1e-100
"""Of what is written: any unit, size and tolerance may be multiplied with it without coming to infinity, or to 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number, and the unit that it is written in; ``None``: that of the counter."""

    number: float
    unit: str | None = None


def read_quantity(value: object) -> Quantity:
    """Read ``80`` or ``"250 ms"``.

    Raises:
        ValueError: says what was expected.
    """
    if isinstance(value, Quantity):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Quantity(number=_moderate(value))
    match = _WRITTEN.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(_EXPECTED)
    return Quantity(number=_moderate(float(match["number"])), unit=match["unit"])


def _moderate(number: float) -> float:
    if not abs(number) < math.inf:
        raise ValueError(_EXPECTED)
    if number != 0 and not _SMALLEST <= abs(number) <= _LARGEST:
        raise ValueError(f"a number from {_SMALLEST:g} to {_LARGEST:g}, or 0")
    return float(number)


def read_positive_quantity(value: object) -> Quantity:
    """Read a quantity above 0.

    Raises:
        ValueError: says what was expected.
    """
    try:
        quantity = read_quantity(value)
    except ValueError as error:
        raise ValueError(str(error).removesuffix(", or 0") + ", above 0") from error
    if quantity.number <= 0:
        raise ValueError(f"{_EXPECTED}, above 0")
    return quantity


_SCHEMA = [
    {"type": "number"},
    {"type": "string", "pattern": r"^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?\s*[^\s\d.].*$"},
]
_WORDS = "number in the counter's unit, or with a unit"
Threshold = Annotated[Quantity, PlainValidator(read_quantity), worded(_WORDS, anyOf=_SCHEMA)]
Level = Annotated[Quantity, PlainValidator(read_positive_quantity), worded(_WORDS, "above 0", anyOf=_SCHEMA)]


def conversion(written: str, unit: str) -> float | None:
    """By what to multiply a number in one unit to have it in that of the counter; ``None``: that has no meaning.

    Stricter than `config.model.measures.factor`: a word that is no unit of measure stands for nothing but itself.

    >>> conversion("ms", "s"), conversion("%", "percent"), conversion("jobs", "orders")
    (0.001, 1.0, None)
    """
    like = written.partition("/")[0] == unit.partition("/")[0] or written in alternatives(unit)
    return factor(written, unit) if like else None


def brought(quantity: Quantity, counter: Counter | None, *, counts: bool = False) -> tuple[float, str | None]:
    """Bring a quantity into the unit of its counter: the number, and the unit if that has no meaning there.

    Args:
        quantity: as written.
        counter: what is measured; ``None``: it is not declared, so its unit is unknown.
        counts: what is compared counts members or ticks, and has no unit at all.
    """
    if quantity.unit is None or counter is None:
        return quantity.number, None
    by = None if counts else conversion(quantity.unit, counter.unit)
    return (quantity.number, quantity.unit) if by is None else (float(f"{quantity.number * by:.12g}"), None)


_SIZE = re.compile(r"(?P<number>\d{1,6}(?:\.\d{1,3})?)\s*(?P<power>[KMGT])(?P<binary>i?)B")
_POWERS = "KMGT"


def size_of(value: object) -> int:
    """Read a size in bytes, such as ``10GiB``.

    Raises:
        ValueError: says what was expected.

    >>> size_of("16 MiB"), size_of("1.5GB")
    (16777216, 1500000000)
    """
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError("a size with a unit, such as 500MiB or 10GiB")
    base = 1024 if match["binary"] else 1000
    return round(float(match["number"]) * float(base ** (_POWERS.index(match["power"]) + 1)))


_LEAST_BODY, _MOST_BODY = 1 << 10, 64 << 20


def read_body_limit(value: object) -> int:
    """Read a size in bytes.

    Raises:
        ValueError: says what was expected.

    >>> read_body_limit("4MiB")
    4194304
    """
    size = size_of(value)
    if not _LEAST_BODY <= size <= _MOST_BODY:
        raise ValueError("a size from 1KiB to 64MiB, such as 4MiB")
    return size


BodyLimit = Annotated[
    int,
    PlainValidator(read_body_limit),
    worded("size with a unit", "1KiB to 64MiB", type="string", pattern=SIZE_PATTERN),
]
