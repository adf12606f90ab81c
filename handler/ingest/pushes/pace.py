"""How often somebody may knock: a bucket of tokens for each."""

from __future__ import annotations

from dataclasses import dataclass

from config.units import Monotonic, Seconds

_KEPT = 100_000
"""Buckets; where there are more, the full ones are forgotten: they are like new ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """So many in the long run, and so many at once."""

    per_second: float
    at_once: float


class Pace:
    """Counts by whoever knocks."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, Monotonic]] = {}

    def admits(self, who: str, rate: Rate, now: Monotonic) -> bool:
        """Say whether one more is within the rate, and count it if it is."""
        left, at = self._left.get(who, (rate.at_once, now))
        left = min(left + max(now - at, 0.0) * rate.per_second, rate.at_once)
        admitted = left >= 1.0
        self._left[who] = (left - admitted, now)
        if len(self._left) > _KEPT:
            self._forget(rate, now)
        return admitted

    def _forget(self, rate: Rate, now: Monotonic) -> None:
        full: Seconds = rate.at_once / rate.per_second
        self._left = {who: (left, at) for who, (left, at) in self._left.items() if now - at < full}
