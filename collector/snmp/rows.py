"""Many rows to one reading."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import assert_never

from collector.samples import Reply
from collector.snmp.engine import Raw, Trouble
from collector.snmp.values import decode, described
from config.model.reductions import Reduce


def numbers_of(rows: Mapping[str, Raw]) -> Mapping[str, float] | Trouble:
    """Read the number in every row; one that has none spoils them all, since a sum without it would be too small."""
    numbers: dict[str, float] = {}
    for row, raw in rows.items():
        value = decode(raw)
        if isinstance(value, Reply):
            return Trouble(reply=value, said=f"row {row}: {described(raw)}")
        numbers[row] = value
    return numbers


def reduced(rows: Mapping[str, Raw], reduce: Reduce) -> float | Trouble:
    """Make one reading of a column's rows, of which there is at least one.

    Rows are counted whatever is in them; for anything else each must be a number.

    >>> column = {"1": 30, "2": 90, "10": b"60"}
    >>> [reduced(column, how) for how in Reduce]
    [60.0, 30, 90, 180.0, 60.0, 3]
    >>> reduced({"1": b"eth0"}, Reduce.COUNT), reduced({"1": 5, "2": b"eth0"}, Reduce.SUM).said
    (1, "row 2: a string where a number is due: 'eth0'")
    """
    if reduce is Reduce.COUNT:
        return len(rows)
    numbers = numbers_of(rows)
    if isinstance(numbers, Trouble):
        return numbers
    return _reduced(list(numbers.values()), reduce)


def _reduced(values: list[float], reduce: Reduce) -> float:
    match reduce:
        case Reduce.AVG:
            return math.fsum(values) / len(values)
        case Reduce.MIN:
            return min(values)
        case Reduce.MAX:
            return max(values)
        case Reduce.SUM:
            return math.fsum(values)
        case Reduce.LAST:
            return values[-1]
        case Reduce.COUNT:
            return len(values)
        case _:
            assert_never(reduce)
