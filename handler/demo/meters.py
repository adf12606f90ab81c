"""Recent rates and shares. Time is an argument, in seconds of any steady clock."""

from __future__ import annotations

from collections import deque

from config.units import Seconds


class Trailing:
    """How fast a total grew over the last ``window`` seconds, or since the first reading if that is less."""

    def __init__(self, window: Seconds, *, at: Seconds, total: float = 0.0) -> None:
        self._window = window
        self._readings = deque([(at, total)])

    def add(self, at: Seconds, total: float) -> None:
        """Note the total; growth between two readings counts as even."""
        self._readings.append((at, total))
        since = at - self._window
        while len(self._readings) > 1 and self._readings[1][0] <= since:
            self._readings.popleft()

    def rate(self) -> float:
        """Return the growth per second up to the last reading; 0 before there are two at different times."""
        (began, first), (at, total) = self._readings[0], self._readings[-1]
        since = at - self._window
        if began < since:  # the oldest reading is before the window: cut its span at the edge
            following, then = self._readings[1]
            first += (then - first) * (since - began) / (following - began)
            began = since
        return (total - first) / (at - began) if at > began else 0.0


class Busy:
    """The share of busy slots, weighted by time, over the last ``window`` seconds."""

    def __init__(self, slots: int, window: Seconds, *, at: Seconds) -> None:
        self._slots = slots
        self._taken = 0
        self._at = at
        self._total = 0.0
        self._trailing = Trailing(window, at=at)

    def take(self, at: Seconds) -> None:
        """Note that a slot becomes busy."""
        self._pass(at)
        self._taken += 1

    def give(self, at: Seconds) -> None:
        """Note that a slot becomes free."""
        self._pass(at)
        self._taken -= 1

    def percent(self, at: Seconds) -> float:
        """Return the share in percent, from 0 to 100."""
        self._pass(at)
        return 100.0 * self._trailing.rate() / self._slots

    def _pass(self, at: Seconds) -> None:
        self._total += self._taken * (at - self._at)
        self._at = at
        self._trailing.add(at, self._total)
