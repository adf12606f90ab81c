"""The result of a replay in a few numbers, by which two declarations are compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from collector.samples import Bools, Floats
from config.units import Seconds
from handler.replay.outcomes import ReplayLine, TickOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTally:
    """One group under one declaration."""

    actions: int
    """How often the desired size rose or fell."""
    reversals: int
    """How often its direction changed."""
    size_hours: float
    """Desired size × time."""
    busy_minutes: float
    """Time in which all conditions of a policy that adds members held, by the declaration's own thresholds."""
    short_minutes: float | None
    """Time in which the load was above the capacity of the members in service; ``None``: unknown."""
    hours: float
    """The time replayed."""


class TickMeter:
    """Adds up the ticks of one group. A tick counts until the next, at most for one and a half intervals."""

    def __init__(self, interval: Seconds) -> None:
        self._interval = interval
        self._at: float | None = None
        self._size, self._busy, self._short = 0, False, False
        self._size_time = self._busy_time = self._short_time = self._time = 0.0
        self._knows_short = False

    def tick(self, at: float, size: int | None, *, busy: bool, short: bool | None = None) -> None:
        """Add one tick: the size from then on, and whether a policy that adds members held."""
        if self._at is not None:
            self._pass(min(at - self._at, 1.5 * self._interval))
        self._at, self._size = at, size or 0
        self._busy = busy
        self._short, self._knows_short = bool(short), self._knows_short or short is not None

    def ticks(self, at: Floats, size: int | None, busy: Bools) -> None:
        """Add ticks of one size: as `tick` does one by one, to the last bit."""
        self.tick(float(at[0]), size, busy=bool(busy[0]))
        spans = np.minimum(np.diff(at), 1.5 * self._interval)
        self._time = _added(self._time, spans)
        self._size_time = _added(self._size_time, self._size * spans)
        self._busy_time = _added(self._busy_time, spans * busy[:-1])
        self._at, self._busy = float(at[-1]), bool(busy[-1])

    def tally(self, lines: Iterable[ReplayLine]) -> GroupTally:
        """Return the totals."""
        ways = [line.outcome for line in lines if line.outcome in {TickOutcome.OUT, TickOutcome.IN}]
        return GroupTally(
            actions=len(ways),
            reversals=sum(one is not other for one, other in pairwise(ways)),
            size_hours=self._size_time / 3600.0,
            busy_minutes=self._busy_time / 60.0,
            short_minutes=self._short_time / 60.0 if self._knows_short else None,
            hours=self._time / 3600.0,
        )

    def _pass(self, span: Seconds) -> None:
        self._time += span
        self._size_time += self._size * span
        self._busy_time += span * self._busy
        self._short_time += span * self._short


def _added(total: float, spans: Floats) -> float:
    """Add one after the other: `sum` of numpy rounds otherwise."""
    return float(np.add.accumulate(np.append(total, spans))[-1])
