"""When samples were taken that carry a time of the other side's clock."""

from __future__ import annotations

from typing import NamedTuple

from collector.clients.http.client import HttpResponse
from collector.clients.http.failures import instant_of
from collector.samples import Series
from config.units import Moment, Seconds

_KEPT: Seconds = 900.0
_AGREEING: Seconds = 2.0
"""Clocks that differ by less are taken for one: a ``Date`` has whole seconds only."""


class _Known(NamedTuple):
    taken: float
    at: float
    asked: float


class SampleTimes:
    """Keeps the same sample at the same instant of our clock, however long each answer was under way.

    A count that rises, read twice between two of its samples, has not stood still: it has not been counted. With two
    instants a few milliseconds apart its rate would be a made-up zero.
    """

    def __init__(self) -> None:
        self._known: dict[Series, _Known] = {}

    def instant(self, series: Series, taken: float, *, at: float, now: float) -> float:
        """Say when a sample was taken, in steady seconds.

        Args:
            series: whose sample.
            taken: when, by the other side's clock.
            at: what that comes to by our clock, with the error of the way.
            now: steady seconds.
        """
        before = self._known.get(series)
        instant = before.at if before is not None and before.taken == taken else at
        self._known[series] = _Known(taken, instant, now)
        return instant

    def tidy(self, now: float) -> None:
        """Forget the series that nobody has asked for in a quarter of an hour, by steady seconds."""
        self._known = {series: known for series, known in self._known.items() if known.asked > now - _KEPT}


def clock_of(answer: HttpResponse, now: Moment) -> float:
    """What time it was over there, in seconds since the epoch: by its own word where our clock is another."""
    date = instant_of(answer.headers.get("date", ""))
    return now.wall if date is None or abs(date - now.wall) <= _AGREEING else date
