"""How many values become one: across members, over a window, or across the rows of one answer."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Reduce(enum.Enum):
    """How many values become one, across members, over a window, or across rows."""

    __hash__ = object.__hash__  # every cell of every tick is looked up by two of these; an enum's own hashes its name

    AVG = "avg"
    MIN = "min"
    MAX = "max"
    SUM = "sum"
    LAST = "last"
    """Not across members, which have no order."""
    COUNT = "count"
    """Members (or samples) that have a value."""


class Statistic(enum.Enum):
    """How values are spread, across members or over a window."""

    STDDEV = "stddev"
    """Of the whole population: by n, not n - 1. Of one value it is 0."""
    P50 = "p50"
    """Percentiles lie between two values in proportion, as numpy's and pandas' do by default (Hyndman and Fan's 7)."""
    P90 = "p90"
    P95 = "p95"
    P99 = "p99"

    @property
    def share(self) -> float | None:
        """What share of the values lies below a percentile; ``None`` for what is none."""
        return None if self is Statistic.STDDEV else int(self.value[1:]) / 100


@dataclass(frozen=True, slots=True)
class Rank:
    """The nth highest or lowest value: M of N.

    That at least 3 members are above 80 is to say that the third highest value is above 80. Where there are fewer
    values than ``nth``, all of them must be: then it is the last in rank.
    """

    nth: int
    """From 1."""
    highest: bool

    @property
    def value(self) -> str:
        """As it is written: ``highest 3``."""
        return f"{'highest' if self.highest else 'lowest'} {self.nth}"


Reduction = Reduce | Statistic | Rank
"""Closed union; each has its written form as ``value``."""

OUTGROWING: frozenset[Reduction] = frozenset({Reduce.SUM, Reduce.COUNT, Statistic.STDDEV})
"""Their result may lie outside the range of the values."""
