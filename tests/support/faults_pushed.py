"""Sources that send by themselves: members that push, read and judged by the daemon's own code; and alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from collector.boards.alerts import Brought
from collector.boards.pushes import Pushed
from collector.samples import Reply
from collector.sources.pushed import AlertedSource, PushedSource
from config.model.counters import AlertedValue, Per, PushedValue
from config.units import AlertId, GroupId, Instant, MemberName, Moment, Monotonic
from handler.ingest.pushes.judging import PushListener, PushMembers, PushRefusal, PushScope, judged
from handler.ingest.pushes.pushed_values import PushShape, UnreadablePush
from handler.ingest.pushes.receiver import Push, read
from tests.support.faults import (
    HOUR,
    INTERVAL,
    OURS,
    SECRET,
    Cells,
    Column,
    Declared,
    Fails,
    Fault,
    Harmless,
    Impossible,
    Overstated,
    Scenery,
    Side,
    Unrated,
)

_FRESH = 3 * INTERVAL
_SILENT = frozenset({Fault.REFUSED, Fault.TIMEOUT, Fault.DRIPPING, Fault.AUTH, Fault.RATE_LIMITED})
"""Faults in which nothing is accepted, or nothing arrives whole."""


class _Sender:
    """Every member sends its value just before the poll, as OpenMetrics."""

    def __init__(self, side: Side, scenery: Scenery) -> None:
        self._side = side
        self._pushes = scenery.pushes
        self._group = GroupId(side.group)
        self._listener = PushListener(
            reads={"LOAD": frozenset({Per.MEMBER})},
            members=PushMembers.of(dict.fromkeys(map(MemberName, side.members))),
            fresh=_FRESH,
        )

    async def open(self) -> Declared:
        return Declared(PushedValue(name="LOAD"))

    async def turn(self, fault: Fault | None) -> None:
        """Seen at the next telling."""

    async def close(self) -> None:
        """Nothing is open."""

    def tell(self, now: Moment) -> None:
        side = self._side
        if side.fault in _SILENT:
            return
        late = INTERVAL / 2 if side.fault is Fault.SLOW else 0.0
        arrives = Moment(wall=Instant(now.wall - late), steady=Monotonic(now.steady - late))
        for name in list(side.members)[:1] if side.fault is Fault.HALF else side.members:
            self._arrive(name, self._body(name, now), arrives)

    def _arrive(self, name: str, body: bytes, at: Moment) -> None:
        """As `handler.ingest.pushes.pushing` does with the push of a sender that it knows."""
        member = MemberName(name)
        entries = read(Push(token=SECRET, shape=PushShape.OPENMETRICS, member=None, group=None, body=body))
        if isinstance(entries, UnreadablePush):
            return
        scope = PushScope(member=member, groups=frozenset({self._group}))
        readings = judged(scope, entries, {self._group: self._listener}, at.wall)
        for reading in () if isinstance(readings, PushRefusal) else readings:
            assert reading.value is not None
            self._pushes.put(reading.group, reading.member, reading.name, Pushed(reading.value, at))

    def _body(self, name: str, now: Moment) -> bytes:
        value, fault = self._side.value(name), self._side.fault
        written: Mapping[Fault, object] = {
            Fault.NOT_FINITE: "NaN" if name.endswith("1") else "-Inf",
            Fault.WRONG_TYPE: "plenty",
            Fault.STALE: f"{value} {now.wall - 200.0}",
            Fault.SOURCE_AHEAD: f"{value} {now.wall + HOUR}",
            Fault.SOURCE_BEHIND: f"{value} {now.wall - HOUR}",
        }
        spoilt = {
            Fault.EMPTY: b"",
            Fault.TRUNCATED: f"LOAD {value}".encode(),
            Fault.GARBAGE: b"\x00\xff\x17" + bytes(range(256)),
        }
        honest = f"LOAD {value if fault is None else written.get(fault, value)}\n# EOF\n".encode()
        return honest if fault is None else spoilt.get(fault, honest)


_NOT_HEARD = (
    Fault.REFUSED,
    Fault.TIMEOUT,
    Fault.DRIPPING,
    Fault.EMPTY,
    Fault.NOT_FINITE,
    Fault.WRONG_TYPE,
    Fault.TRUNCATED,
    Fault.GARBAGE,
    Fault.AUTH,
    Fault.RATE_LIMITED,
)
"""Whatever keeps a value from coming, or from being taken: it is not there, and the one before it grows old."""
_CLOCKS = (Fault.STALE, Fault.SOURCE_AHEAD, Fault.SOURCE_BEHIND)
PUSHED = Column(
    name="push",
    kind=PushedValue,
    made=lambda scenery: PushedSource(scenery.pushes),
    counterpart=_Sender,
    stands=3,
    at_start=Reply.TIMEOUT,
    gauges={
        **dict.fromkeys((*_NOT_HEARD, *_CLOCKS), Fails(Reply.STALE)),
        Fault.SLOW: Harmless("a value is as old as its arrival"),
        Fault.HALF: Fails(Reply.STALE, half=True),
        Fault.COUNTER_RESET: Harmless("a gauge is no count"),
        **OURS,
    },
    counts={
        **dict.fromkeys(_CLOCKS, Fails(Reply.STALE)),
        Fault.COUNTER_RESET: Unrated("the count goes back", ends=False),
        **OURS,
        Fault.SUSPEND_UNCOUNTED: Overstated("no uptime contradicts a clock that stood still"),
    },
)


class _Alert:
    """An alert that is sent again before every poll, and stands for one and a half intervals."""

    def __init__(self, side: Side, scenery: Scenery) -> None:
        self._side = side
        self._board = scenery.board
        self._alert = AlertId(side.group)

    async def open(self) -> Declared:
        return Declared(AlertedValue(alert=self._alert))

    async def turn(self, fault: Fault | None) -> None:
        """Seen at the next telling."""

    async def close(self) -> None:
        """Nothing is open."""

    def tell(self, now: Moment) -> None:
        side = self._side
        if side.fault in _NOT_HEARD:  # what hooks cannot read or do not believe never comes to the board
            return
        value, until = side.value(next(iter(side.members))), Instant(now.wall + 1.5 * INTERVAL)
        brought = Brought(group=GroupId(side.group), alert=self._alert, key="f1", value=value, at=now, until=until)
        self._board.put(brought)


_ITS_WORD = Harmless("an alert's number is of the moment at which it was received")
_ALERTS: Cells = {
    **dict.fromkeys(_NOT_HEARD, Fails(Reply.TIMEOUT)),
    Fault.SLOW: _ITS_WORD,
    Fault.STALE: Impossible("a number stands for as long as its alert says"),
    Fault.HALF: Impossible("it is about the group as a whole"),
    Fault.COUNTER_RESET: Impossible("no alert brings a count"),
    Fault.SOURCE_AHEAD: _ITS_WORD,
    Fault.SOURCE_BEHIND: _ITS_WORD,
    **OURS,
}
ALERTED = Column(
    name="alert",
    kind=AlertedValue,
    made=lambda scenery: AlertedSource(scenery.board),
    counterpart=_Alert,
    per=Per.GROUP,
    stands=1,
    gauges=_ALERTS,
    counts="an alert brings a value, not a rising count: the model refuses it",
)
COLUMNS: Sequence[Column] = (PUSHED, ALERTED)
