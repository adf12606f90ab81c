"""What was heard at one tick, and a value with its bounds: the words of both stages of reduction."""

from __future__ import annotations

from typing import NamedTuple

from aggregator.rates import Ints
from collector.samples import Floats


class Tally(NamedTuple):
    """What was heard at one tick. All arrays are (run,), or (track,) once picked; heads are whole numbers.

    Of many ticks at once they are (tick, run), but for ``expected``.
    """

    expected: Floats
    """Counted members: those that ought to answer."""
    heard: Floats
    total: Floats
    """0.0 where no member was heard."""
    least: Floats
    """inf where no member was heard."""
    greatest: Floats
    """-inf where no member was heard."""
    newest: Floats
    """Steady seconds of the newest answer; -inf where no member was heard."""

    def pick(self, places: Ints) -> Tally:
        """Take these entries, in this order."""
        return Tally(*(column[..., places] for column in self))


class Bounded(NamedTuple):
    """Values and what they could have been. Not clamped: a value may lie outside bounds that it does not fit."""

    low: Floats
    value: Floats
    high: Floats
