"""Whether two policies can be true at once, as far as thresholds tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import assert_never

from config.model.catalogue import Compare, Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The values for which a comparison is true."""

    low: float
    high: float
    closed_low: bool
    closed_high: bool

    def meets(self, other: Interval) -> bool:
        """Whether some value lies in both."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low < high:
            return True
        return low == high and all(interval.holds(low) for interval in (self, other))

    def holds(self, value: float) -> bool:
        """Whether a value lies in it."""
        above = value > self.low or (self.closed_low and value == self.low)
        below = value < self.high or (self.closed_high and value == self.high)
        return above and below


def true_for(condition: Condition) -> Interval:
    """The values of the aggregate for which a condition is true."""
    threshold = condition.threshold
    match condition.compare:
        case Compare.ABOVE:
            return Interval(low=threshold, high=math.inf, closed_low=False, closed_high=False)
        case Compare.AT_LEAST:
            return Interval(low=threshold, high=math.inf, closed_low=True, closed_high=False)
        case Compare.BELOW:
            return Interval(low=-math.inf, high=threshold, closed_low=False, closed_high=False)
        case Compare.AT_MOST:
            return Interval(low=-math.inf, high=threshold, closed_low=False, closed_high=True)
        case Compare.EQUALS:
            return Interval(low=threshold, high=threshold, closed_low=True, closed_high=True)
    assert_never(condition.compare)


def overlap_of(first: tuple[Condition, ...], second: tuple[Condition, ...]) -> tuple[Condition, Condition] | None:
    """One pair of comparable conditions that shows that all can be true at once; ``None`` if none does.

    One comparable pair that cannot be true together keeps the policies apart. Windows are not looked at: thresholds
    that keep apart do so in the long run, whatever the windows.
    """
    pairs = [(one, other) for one in first for other in second if comparable(one, other)]
    if not all(true_for(one).meets(true_for(other)) for one, other in pairs):
        return None
    return pairs[0] if pairs else None


def comparable(first: Condition, second: Condition) -> bool:
    """Whether two conditions judge the same counter by the same reductions, and both or none for each member."""
    return _subject(first) == _subject(second)


def _subject(condition: Condition) -> tuple[object, ...]:
    return condition.counter, condition.across, condition.aggregate, condition.per_member
