"""Convert the times of samples from the server's clock to ours."""

from __future__ import annotations

from typing import NamedTuple

from collector.clients.http.client import HttpResponse
from collector.clients.http.failures import instant_of
from collector.samples import Series
from config.units import Moment, Seconds

_KEPT: Seconds = 900.0
_AGREEING: Seconds = 2.0
"""Clocks that differ by less count as equal: a ``Date`` has whole seconds only."""


class _Known(NamedTuple):
    taken: float
    at: float
    asked_at: float


class SampleTimes:
    """Keeps one sample at one instant of our clock, whatever the delay of each answer.

    A rising count that is read twice between two samples has not stood still: it was not counted. With two instants a
    few milliseconds apart its rate would be a made-up zero.
    """

    def __init__(self) -> None:
        self._known: dict[Series, _Known] = {}

    def instant(self, series: Series, taken: float, *, at: float, now: float) -> float:
        """Return when a sample was taken, in steady seconds.

        Args:
            series: the sample's series.
            taken: the sample's time, by the server's clock.
            at: the same time by our clock, including the network's delay.
            now: steady seconds.
        """
        before = self._known.get(series)
        instant = before.at if before is not None and before.taken == taken else at
        self._known[series] = _Known(taken, instant, now)
        return instant

    def tidy(self, now: float) -> None:
        """Forget series that were not requested for a quarter of an hour, by steady seconds."""
        self._known = {series: known for series, known in self._known.items() if known.asked_at > now - _KEPT}


def clock_of(answer: HttpResponse, now: Moment) -> float:
    """Return the server's time in seconds since the epoch: its ``Date``, if that differs from our clock."""
    date = instant_of(answer.headers.get("date", ""))
    return now.wall if date is None or abs(date - now.wall) <= _AGREEING else date
