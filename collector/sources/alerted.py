"""Counters whose readings alerts bring: read off the board, nobody is asked.

A number stands from the moment its alert brought it until its time to live is over. For that long it is a fresh answer
at every poll: the alert still says so. Without one, and once it is over, the row stays TIMEOUT: that nobody complains
is not a measurement, and no zero is made up.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping

from collector.board import Board
from collector.samples import Layout
from collector.sources.interface import Round
from config.counters import AlertedValue
from config.model import Catalogue
from config.units import AlertId, CounterId, GroupId


class AlertedSource:
    """Reads the board.

    Args:
        board: written to by whoever takes alerts in.
    """

    def __init__(self, board: Board) -> None:
        self._board = board

    async def fetch(self, asked: Round) -> None:
        """Fill the rows of whole groups whose alert has brought a number that is not over."""
        now = asked.clock()
        for row, group, alert in _rows(asked.sheet.layout, _alerts(asked.catalogue)):
            value = self._board.value(group, alert, now.wall)
            if value is not None:
                asked.sheet.put(row, value, at=now.steady)

    async def close(self) -> None:
        """Nothing to give back."""


def _alerts(catalogue: Catalogue) -> Mapping[CounterId, AlertId]:
    sources = ((counter.id, counter.source) for counter in catalogue.counters.values())
    return {counter: source.alert for counter, source in sources if isinstance(source, AlertedValue)}


def _rows(layout: Layout, alerts: Mapping[CounterId, AlertId]) -> Iterator[tuple[int, GroupId, AlertId]]:
    """The rows of these counters. A layout is sorted, so members' rows are never walked through."""
    series, start = layout.series, 0
    while alerts and start < len(series):
        group = series[start].group
        end = bisect_right(series, group, lo=start, key=lambda one: one.group)
        for counter, alert in alerts.items():
            row = bisect_left(series, counter, lo=start, hi=end, key=lambda one: one.counter)
            if row < end and series[row].counter == counter:
                yield row, group, alert
        start = end
