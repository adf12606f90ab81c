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
OF_THE_AGENT = frozenset({Reply.TIMEOUT, Reply.REFUSED, Reply.AUTH, Reply.UNREACHABLE})
"""What makes it useless to ask the same agent for more."""


class Arrivals:
    """Readings that arrive together, which is when the first of them is added.

    Args:
        asked: the round to whose sheet they are written.
    """

    def __init__(self, asked: Round) -> None:
        self._asked = asked
        self._at = math.nan
        self._rows: list[int] = []
        self._values: list[float] = []
        self._uptimes: list[Seconds] = []

    def add(self, request: AgentRequest, answer: Sequence[Raw | Trouble]) -> Seconds:
        """Take what an agent answers; give its uptime, NaN where that is not known or not due.

        Args:
            request: what was asked.
            answer: the value of each of its `oids`, or why it has none.
        """
        if not self._rows:
            self._at = self._asked.clock().steady
        if request.single_rows is not None and set(map(type, answer)) == _NUMBERS_ONLY:
            self._rows += request.single_rows
            self._values += answer  # type: ignore[arg-type]  # all are whole numbers
            self._uptimes += [math.nan] * len(answer)
            return math.nan
        uptime = seconds_of(answer[request.oids().index(UPTIME)]) if request.rising else math.nan
        for rows, raw in zip(request.rows.values(), answer, strict=False):  # an uptime that is only ours comes last
            self._add(rows, raw, uptime)
        return uptime

    def write(self) -> None:
        """Write to the sheet what came since the last time."""
        if self._rows:
            self._asked.sheet.put_all(self._rows, self._values, at=self._at, uptimes=self._uptimes)
            self._rows, self._values, self._uptimes = [], [], []

    def _add(self, rows: Sequence[int], raw: Raw | Trouble, uptime: Seconds) -> None:
        if isinstance(raw, Trouble):
            fail(self._asked, rows, raw)
            return
        value = decode(raw)
        if isinstance(value, Reply):
            fail(self._asked, rows, Trouble(reply=value, said=described(raw)))
            return
        self._rows += rows
        self._values += [value] * len(rows)
        self._uptimes += [uptime] * len(rows)


def fail(asked: Round, rows: Iterable[int], trouble: Trouble) -> None:
    """Write down why these rows have no reading."""
    for row in rows:
        source = asked.catalogue.counters[asked.sheet.layout.series[row].counter].source
        name = f"{source.name}: " if isinstance(source, SnmpObject) and trouble.reply not in OF_THE_AGENT else ""
        asked.sheet.fail(row, trouble.reply, name + trouble.said)


def seconds_of(ticks: Raw | Trouble) -> Seconds:
    """Read an uptime; NaN if there is none."""
    return ticks * _TICK if isinstance(ticks, int) else math.nan
