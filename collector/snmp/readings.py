"""One agent's readings in one round: asked for over its line, made of one row or many, and written to the sheet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from collector.samples import Reply
from collector.snmp.agent_state import AgentState
from collector.snmp.arrivals import OF_THE_AGENT, Arrivals, fail, seconds_of
from collector.snmp.engine import UPTIME, Cure, Raw, Trouble, Varbinds
from collector.snmp.polling import Found, get_all
from collector.snmp.requests import AgentRequest, TableColumn
from collector.snmp.totals import Totals, law_of
from collector.snmp.values import decode, described
from collector.snmp.walking import walk
from collector.targets import Round
from config.model.counters import CounterKind
from config.model.reductions import Reduce
from config.units import Seconds


def numbers_of(rows: Mapping[str, Raw]) -> Mapping[str, float] | Trouble:
    """Read the number in every row; one that has none spoils them all, since a sum without it would be too small."""
    numbers: dict[str, float] = {}
    for row, raw in rows.items():
        value = decode(raw)
        if isinstance(value, Reply):
            return Trouble(reply=value, detail=f"row {row}: {described(raw)}")
        numbers[row] = value
    return numbers


def reduced(rows: Mapping[str, Raw], reduce: Reduce) -> float | Trouble:
    """Make one reading of a column's rows, of which there is at least one.

    Rows are counted whatever is in them; for anything else each must be a number.

    >>> column = {"1": 30, "2": 90, "10": b"60"}
    >>> [reduced(column, how) for how in Reduce]
    [60.0, 30, 90, 180.0, 60.0, 3]
    >>> reduced({"1": b"eth0"}, Reduce.COUNT), reduced({"1": 5, "2": b"eth0"}, Reduce.SUM).detail
    (1, "row 2: a string where a number is due: 'eth0'")
    """
    if reduce is Reduce.COUNT:
        return len(rows)
    numbers = numbers_of(rows)
    if isinstance(numbers, Trouble):
        return numbers
    return _reduced(list(numbers.values()), reduce)


def _reduced(values: list[float], reduce: Reduce) -> float:
    match reduce:
        case Reduce.AVG:
            return math.fsum(values) / len(values)
        case Reduce.MIN:
            return min(values)
        case Reduce.MAX:
            return max(values)
        case Reduce.SUM:
            return math.fsum(values)
        case Reduce.LAST:
            return values[-1]
        case Reduce.COUNT:
            return len(values)
        case _:
            assert_never(reduce)


_RESTARTED = Trouble(reply=Reply.INCOMPLETE, detail="the agent restarted while it was read")


class AgentReadings:
    """Fills the rows of one agent; no other task may use its line meanwhile.

    Args:
        line: to the agent.
        request: what is wanted from it.
        poll: the round.
        totals: of rows that rise for ever, from round to round.
    """

    def __init__(self, line: AgentState, request: AgentRequest, poll: Round, totals: Totals) -> None:
        self._line = line
        self._request = request
        self._poll = poll
        self._sheet = poll.sheet
        self._totals = totals

    async def fill(self) -> None:
        """Get all objects together, then walk the columns one after the other."""
        self._line.habits.begin()
        found = await self._objects()
        if isinstance(found, Trouble):
            self._fail(self._request.all_rows(), found)
            return
        arrivals, arrived = Arrivals(self._poll), self._poll.clock().steady
        uptime = arrivals.add(self._request, [found[oid] for oid in self._request.oids()], arrived)
        arrivals.write()
        columns: dict[str, list[TableColumn]] = {}
        for column in self._request.columns:
            columns.setdefault(column.oid, []).append(column)
        while columns:
            oid, wanted = columns.popitem()
            trouble = await self._column(oid, wanted, uptime)
            if trouble is not None and trouble.reply in OF_THE_AGENT and trouble.cure is not Cure.SPLIT:
                self._fail([column.row for left in columns.values() for column in left], trouble)
                return

    async def _objects(self) -> Found | Trouble:
        oids = self._request.oids()
        return await get_all(self._get, oids, self._line.habits) if oids else {}

    async def _get(self, oids: Sequence[str]) -> Varbinds | Trouble:
        return await self._line.ask(lambda session, patience: session.get(oids, patience))

    async def _after(self, oid: str, most: int) -> Varbinds | Trouble:
        return await self._line.ask(lambda session, patience: session.after(oid, most, patience))

    async def _column(self, oid: str, wanted: Sequence[TableColumn], uptime: Seconds) -> Trouble | None:
        """Walk a column and write what it comes to; hand back why it could not be walked."""
        rows = await walk(self._after, oid, self._line.habits)
        arrived = self._poll.clock().steady
        rising = [column for column in wanted if column.counter.kind is CounterKind.RISING]
        if rising and not isinstance(rows, Trouble) and not math.isnan(uptime):
            rows = await self._of_one_life(rows, uptime)
        if isinstance(rows, Trouble):
            self._fail([column.row for column in wanted], rows)
            return rows
        for column in wanted:
            self._reduce(column, rows, arrived, uptime)
        return None

    async def _of_one_life(self, rows: Mapping[str, Raw], uptime: Seconds) -> Mapping[str, Raw] | Trouble:
        """Make sure that the uptime, which was read first, is that of the agent that gave the rows."""
        answer = await self._get([UPTIME])
        if isinstance(answer, Trouble):
            return answer
        return _RESTARTED if seconds_of(answer.get(UPTIME)) < uptime else rows

    def _reduce(self, column: TableColumn, rows: Mapping[str, Raw], arrived: float, uptime: Seconds) -> None:
        if column.counter.kind is CounterKind.RISING:
            numbers = numbers_of(rows)
            if isinstance(numbers, Trouble):
                self._fail([column.row], numbers)
                return
            law = law_of(column.counter, column.interval)
            total = self._totals.advance(
                self._sheet.layout.series[column.row], numbers, at=arrived, uptime=uptime, law=law
            )
            self._sheet.put(column.row, total.value, at=arrived, uptime=total.uptime)
            return
        if column.counter.rows is None:
            raise AssertionError("a column has a reduction")
        value = reduced(rows, column.counter.rows)
        if isinstance(value, Trouble):
            self._fail([column.row], value)
            return
        self._sheet.put(column.row, value, at=arrived)

    def _fail(self, rows: Iterable[int], trouble: Trouble) -> None:
        fail(self._poll, rows, trouble)
