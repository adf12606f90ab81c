"""A wall clock that does not jump: it goes on by the steady clock, until everything that is measured by it has moved.

# Note [Steps of the clock]

Quiet times, back-offs, budgets and the like are kept as instants of the wall clock, since they survive the process. A
wall clock that is set by a day would end them all at once, or a day late. So the daemon reads its time from here. When
the system's clock departs from it by more than a second, the daemon moves every persisted instant by the same step in
one transaction, between two decisions and two passes, and only then follows the clock. Spans keep what is left of them
to the millisecond, whichever way the clock went, and times on displays are right again seconds later.

The steady clock counts from the machine's boot, so the same holds over a restart within one boot: the store remembers
by how much both clocks differed. Over a reboot nothing is known but the wall clock: then no span may end later than its
declared length from now. Source: DESIGN.md "Moving" (time); ADR 0022.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from config.units import Instant, Moment, Seconds

LEAST_STEP: Seconds = 1.0
"""Less than this is followed and moves nothing: it is no more than what a busy machine is late by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockDifference:
    """By how much the wall clock was ahead of the steady clock, during one boot of the machine."""

    boot: str
    """Empty: not known, so it is comparable with nothing."""
    seconds: Seconds

    def step_to(self, now: ClockDifference) -> Seconds:
        """By how much the wall clock was set since; 0 where that cannot be known, or is too little to count."""
        step = now.seconds - self.seconds
        return step if self.boot and self.boot == now.boot and abs(step) >= LEAST_STEP else 0.0


class HeldClock:
    """Both clocks, the wall clock held. Any thread may read it."""

    def __init__(self, read: Callable[[], Moment]) -> None:
        self._read = read
        self._ahead = self._first = _ahead(read())

    def moment(self) -> Moment:
        """Both clocks, now."""
        steady = self._read().steady
        return Moment(wall=Instant(self._ahead + steady), steady=steady)

    def wall(self) -> Instant:
        """The held wall clock, now."""
        return self.moment().wall

    def elapsed(self) -> Instant:
        """The wall clock of the start, gone on since, whatever it was set to: for spans that end with the process."""
        return Instant(self._first + self._read().steady)

    def departed(self) -> Seconds:
        """By how much the system's wall clock is ahead of the held one."""
        return _ahead(self._read()) - self._ahead

    def follow(self, step: Seconds) -> None:
        """Go on from so much later: everything that is measured by this clock has moved."""
        self._ahead += step


def _ahead(now: Moment) -> Seconds:
    return now.wall - now.steady
