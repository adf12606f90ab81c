"""Several rows of one answer (of a path, a query, a table) that become one reading."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from config.reductions import Reduce

_WAYS: Mapping[Reduce, Callable[[Sequence[float]], float]] = MappingProxyType(
    {
        Reduce.AVG: lambda values: sum(values) / len(values),
        Reduce.MIN: min,
        Reduce.MAX: max,
        Reduce.SUM: sum,
        Reduce.LAST: lambda values: values[-1],
        Reduce.COUNT: lambda values: float(len(values)),
    }
)


def reduced(values: Sequence[float], how: Reduce) -> float:
    """Make one of several values, at least one, in the order of the answer; NaN if one of them is not finite.

    >>> [reduced([1.0, 2.0, 6.0], how) for how in Reduce]
    [3.0, 1.0, 6.0, 9.0, 6.0, 3.0]
    """
    return _WAYS[how](values) if all(map(math.isfinite, values)) else math.nan
