"""Counters whose readings alerts bring: read off the board, nobody is asked.

A number stands from the moment its alert brought it until its time to live is over. For that long it is a fresh answer
at every poll: the alert still says so. Without one, and once it is over, the row stays TIMEOUT: that nobody complains
is not a measurement, and no zero is made up.
"""

from __future__ import annotations

from collections.abc import Mapping

from collector.boards.alerts import Board
from collector.samples import Reply
from collector.source import Round
from collector.targets import whole_rows
from config.model.catalogue import Catalogue
from config.model.counters import AlertedValue
from config.units import AlertId, CounterId


class AlertedSource:
    """Reads the board.

    Args:
        board: written to by whoever takes alerts in.
    """

    def __init__(self, board: Board) -> None:
        self._board = board

    async def fetch(self, asked: Round) -> None:
        """Fill the rows of whole groups whose alert has brought a number that is not over."""
        now, alerts = asked.clock(), _alerts(asked.catalogue)
        for row, group, counter in whole_rows(asked.sheet.layout, alerts):
            value = self._board.value(group, alerts[counter], now)
            if value is None:
                asked.sheet.fail(row, Reply.TIMEOUT, f"no number of the alert {alerts[counter]} stands now")
            else:
                asked.sheet.put(row, value, at=now.steady)

    async def close(self) -> None:
        """Nothing to give back."""


def _alerts(catalogue: Catalogue) -> Mapping[CounterId, AlertId]:
    sources = ((counter.id, counter.source) for counter in catalogue.counters.values())
    return {counter: source.alert for counter, source in sources if isinstance(source, AlertedValue)}
