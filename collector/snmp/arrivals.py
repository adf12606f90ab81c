"""What agents answer for single objects, on its way to the sheet: gathered as it comes, and written together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from collector.samples import Reply
from collector.snmp.engine import UPTIME, Raw, Trouble
from collector.snmp.requests import AgentRequest
from collector.snmp.values import decode, described
from collector.targets import Round
from config.model.counters import SnmpObject
from config.units import Seconds

_TICK: Seconds = 0.01
_NUMBERS_ONLY = {int}
_AT_ONCE = 4096
"""Readings that are written together, at most: that takes less than a millisecond."""
OF_THE_AGENT = frozenset({Reply.TIMEOUT, Reply.REFUSED, Reply.AUTH, Reply.UNREACHABLE})
"""What makes it useless to ask the same agent for more."""


class Arrivals:
    """Readings of one round on their way to its sheet.

    Args:
        poll: the round.
    """

    def __init__(self, poll: Round) -> None:
        self._poll = poll
        self._rows: list[int] = []
        self._values: list[float] = []
        self._at: list[float] = []
        self._uptimes: list[Seconds] = []

    def add(self, request: AgentRequest, answer: Sequence[Raw | Trouble], at: float) -> Seconds:
        """Take what an agent answers; give its uptime, NaN where that is not known or not due.

        Args:
            request: what was asked.
            answer: the value of each of its OIDs, or why it has none.
            at: when it came, in steady seconds.
        """
        if request.single_rows is not None and set(map(type, answer)) == _NUMBERS_ONLY:
            self._take(request.single_rows, answer, at, math.nan)  # type: ignore[arg-type]  # all are whole numbers
            return math.nan
        uptime = seconds_of(answer[request.oids().index(UPTIME)]) if request.rising else math.nan
        for rows, raw in zip(request.rows.values(), answer, strict=False):  # an uptime that is only ours comes last
            value = raw if isinstance(raw, Trouble) else decode(raw)
            if isinstance(value, Reply):
                value = Trouble(reply=value, detail=described(raw))  # type: ignore[arg-type]  # what was decoded
            if isinstance(value, Trouble):
                fail(self._poll, rows, value)
            else:
                self._take(rows, [value] * len(rows), at, uptime)
        return uptime

    def write(self) -> None:
        """Write to the sheet what came since the last time."""
        if self._rows:
            self._poll.sheet.put_all(self._rows, self._values, at=self._at, uptimes=self._uptimes)
            self._rows, self._values, self._at, self._uptimes = [], [], [], []

    def _take(self, rows: Sequence[int], values: Sequence[float], at: float, uptime: Seconds) -> None:
        self._rows += rows
        self._values += values
        self._at += [at] * len(rows)
        self._uptimes += [uptime] * len(rows)
        if len(self._rows) >= _AT_ONCE:
            self.write()


def fail(poll: Round, rows: Iterable[int], trouble: Trouble) -> None:
    """Write down why these rows have no reading."""
    for row in rows:
        source = poll.catalogue.counters[poll.sheet.layout.series[row].counter].source
        name = f"{source.name}: " if isinstance(source, SnmpObject) and trouble.reply not in OF_THE_AGENT else ""
        poll.sheet.fail(row, trouble.reply, name + trouble.detail)


def seconds_of(ticks: Raw | Trouble) -> Seconds:
    """Read an uptime; NaN if there is none."""
    return ticks * _TICK if isinstance(ticks, int) else math.nan
