"""Combine several rows of one answer (of a path, a query, a page) into one reading."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from collector.clients.http.client import HttpFailure
from collector.samples import Reply, Series
from collector.snmp.totals import Totals, law_of
from config.model.counters import Counter, CounterKind
from config.model.reductions import Reduce
from config.units import Seconds

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


_KEPT: Seconds = 900.0


class RowNumber(NamedTuple):
    """One row of an answer."""

    value: float
    name: str | None
    """Identifies the row in the next answer; ``None``: it has no name."""


class ReducedRows(NamedTuple):
    """The combined rows."""

    value: float
    uptime: Seconds
    """How long the count has run; NaN: unknown."""


class _LastReading(NamedTuple):
    at: float
    """The time of its rows, in steady seconds: perhaps long ago."""
    reading: ReducedRows
    asked_at: float
    """When it was asked for, at least."""


class Reducer:
    """Combines an answer's rows into one reading; remembers the rows of counts that rise for ever.

    Such counts are summed by each row's rise since it was last read, so that a row that restarts, comes or goes never
    makes the sum jump. This needs rows with names.
    """

    def __init__(self) -> None:
        self._totals = Totals()
        self._last: dict[Series, _LastReading] = {}
        self._tidied_at = -math.inf

    def reading(
        self, series: Series, counter: Counter, rows: Sequence[RowNumber], *, at: float, interval: Seconds
    ) -> ReducedRows | HttpFailure:
        """Combine several rows into one reading.

        Args:
            series: owns the rows; the next answer's rows are compared with these.
            counter: declares how to combine them.
            rows: at least one, in the order of the answer.
            at: the rows' time in steady seconds; the same time as before means the same rows.
            interval: between two polls.
        """
        values = [row.value for row in rows]
        if counter.rows is None:
            many = HttpFailure(reply=Reply.AMBIGUOUS, detail=f"{len(rows)} values")
            return ReducedRows(values[0], math.nan) if len(rows) == 1 else many
        if counter.kind is not CounterKind.RISING:
            return ReducedRows(reduced(values, counter.rows), math.nan)
        named = {row.name: row.value for row in rows if row.name is not None}
        if len(named) < len(rows):
            return HttpFailure(
                reply=Reply.AMBIGUOUS, detail="rising counts in a list: positions do not identify its entries"
            )
        if not all(map(math.isfinite, values)):
            return ReducedRows(math.nan, math.nan)
        before, law = self._last.get(series), law_of(counter, interval)
        if before is not None and before.at == at:
            self._totals.repeat(series, law)
            reading = before.reading
        else:
            total = self._totals.advance(series, named, at=at, uptime=math.nan, law=law)
            reading = ReducedRows(total.value, total.uptime)
        self._last[series] = _LastReading(at, reading, max(at, self._tidied_at))
        return reading

    def tidy(self, now: float) -> None:
        """Forget the rows of series that are no longer asked for, by steady seconds."""
        self._totals.tidy(now)
        self._last = {series: last for series, last in self._last.items() if last.asked_at > now - _KEPT}
        self._tidied_at = now


def reduced(values: Sequence[float], how: Reduce) -> float:
    """Combine values, at least one, in the order of the answer; NaN if one of them is not finite.

    >>> [reduced([1.0, 2.0, 6.0], how) for how in Reduce]
    [3.0, 1.0, 6.0, 9.0, 6.0, 3.0]
    """
    return _WAYS[how](values) if all(map(math.isfinite, values)) else math.nan
