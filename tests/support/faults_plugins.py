"""Plugins that behave as their side's fault says: installed as an installer leaves them, one for each group."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence

from collector.samples import Reply, Sheet
from collector.sources.plugins import PluginSource
from collector.targets import Round
from config.model.access import SecretRef
from config.model.counters import PluginValue
from tests.support.faults import (
    OURS,
    SECRET,
    Cells,
    Column,
    Declared,
    Fails,
    Fault,
    Harmless,
    Scenery,
    Side,
    Unrated,
)
from tests.support.still_time import running
from tests.support.waiting import until

_SIDES: dict[str, Side] = {}
_HANGS: dict[str, Callable[[], object]] = {}
"""What a plugin is to call once it has begun to hang, by its name."""


class Plugin:
    """The class behind every entry point; the rows that it is given tell it for which side it plays."""

    async def fetch(self, asked: Round) -> None:
        assert asked.read_secret(SecretRef(env="TOKEN")) == SECRET
        side = _SIDES[asked.sheet.layout.series[0].group]
        for row, series in enumerate(asked.sheet.layout.series):
            await self._answer(asked, side, row, series.member or "")

    async def close(self) -> None:
        """Nothing is open."""

    async def _answer(self, asked: Round, side: Side, row: int, name: str) -> None:
        first, sheet = name == next(iter(side.members)), asked.sheet
        match side.fault:
            case Fault.REFUSED:
                raise ConnectionRefusedError(f"not to {SECRET}")
            case Fault.TRUNCATED if not first:
                raise EOFError
            case Fault.SLOW:
                await asyncio.sleep(0.002)
            case Fault.TIMEOUT:
                await _hang(side)
            case Fault.DRIPPING if not first:
                await _hang(side)
            case Fault.EMPTY:
                return
        self._write(sheet, row, side, asked.clock().steady, first=first)

    def _write(self, sheet: Sheet, row: int, side: Side, now: float, *, first: bool) -> None:
        match side.fault:
            case Fault.NOT_FINITE:
                sheet.put(row, float("nan") if first else float("-inf"), at=now)
            case Fault.WRONG_TYPE:
                sheet.put(row, "plenty", at=now)  # type: ignore[arg-type]
            case Fault.GARBAGE:
                sheet.reply[row] = 99
            case Fault.AUTH | Fault.RATE_LIMITED | Fault.STALE as fault:
                sheet.fail(row, Reply[fault.name], f"not with {SECRET}")
            case Fault.HALF if not first:
                sheet.fail(row, Reply.NO_SUCH_COUNTER, "not here")
            case _:
                sheet.put(row, side.value(list(side.members)[not first]), at=now, uptime=side.uptime)


async def _hang(side: Side) -> None:
    _HANGS[side.group]()
    await asyncio.sleep(60.0)


class _Watched(PluginSource):
    """Time stands still while a plugin does what it means to do."""

    async def _ask(self, plugin: str, asked: Round, rows: Mapping[int, int]) -> None:
        if plugin in self._stages:
            until(lambda: not self._stages[plugin].stuck)
        loop, counted = running(), [plugin]
        loop.wait_for_another()

        def one_less() -> None:
            if counted:
                counted.clear()
                loop.wait_for_one_less()

        _HANGS[plugin] = lambda: loop.call_soon_threadsafe(one_less)
        try:
            await super()._ask(plugin, asked, rows)
        finally:
            one_less()


class _Player:
    def __init__(self, side: Side, scenery: Scenery) -> None:
        self._side = side
        self._home = scenery.home

    async def open(self) -> Declared:
        group = self._side.group
        _SIDES[group] = self._side
        records = self._home / f"{group.replace('-', '_')}-1.0.dist-info"
        records.mkdir()
        (records / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {group}\nVersion: 1.0\n")
        (records / "entry_points.txt").write_text(f"[trimtab.sources]\n{group} = {__name__}:Plugin\n")
        if str(self._home) not in sys.path:
            sys.path.append(str(self._home))
        return Declared(PluginValue(plugin=group))

    async def turn(self, fault: Fault | None) -> None:
        """Seen at the next round."""

    def tell(self, now: object) -> None:
        """Do nothing: this source sends only answers."""

    async def close(self) -> None:
        _SIDES.pop(self._side.group)
        _HANGS.pop(self._side.group, None)
        if str(self._home) in sys.path:
            sys.path.remove(str(self._home))


def _untold(plugin: str, wrong: str | None) -> None:
    """That a plugin as such fails is told beside what is told of its rows; see the tests of plugins."""
    assert SECRET not in (wrong or "")


_FAILED = Fails(Reply.UNREACHABLE)
_ANOTHER = "what has run for much longer, or shorter, than our clock is another process"
_GAUGES: Cells = {
    Fault.REFUSED: _FAILED,
    Fault.TIMEOUT: Fails(Reply.TIMEOUT),
    Fault.SLOW: Harmless("it answers within the poll"),
    Fault.DRIPPING: Fails(Reply.TIMEOUT, half=True),
    Fault.EMPTY: Fails(Reply.TIMEOUT),
    Fault.NOT_FINITE: Fails(Reply.MALFORMED),
    Fault.WRONG_TYPE: _FAILED,
    Fault.TRUNCATED: Fails(Reply.UNREACHABLE, half=True),
    Fault.GARBAGE: Fails(Reply.MALFORMED),
    Fault.AUTH: Fails(Reply.AUTH),
    Fault.RATE_LIMITED: Fails(Reply.RATE_LIMITED),
    Fault.STALE: Fails(Reply.STALE),
    Fault.HALF: Fails(Reply.NO_SUCH_COUNTER, half=True),
    Fault.COUNTER_RESET: Harmless("a gauge is no count"),
    Fault.SOURCE_AHEAD: Harmless("the time of an answer is our clock's"),
    Fault.SOURCE_BEHIND: Harmless("the time of an answer is our clock's"),
    **OURS,
}
PLUGIN = Column(
    name="plugin",
    kind=PluginValue,
    made=lambda scenery: _Watched(_untold),
    counterpart=_Player,
    tells_uptime=True,
    gauges=_GAUGES,
    counts={
        Fault.COUNTER_RESET: Unrated("it has begun to count anew since", ends=False),
        Fault.STALE: Fails(Reply.STALE),
        Fault.SOURCE_AHEAD: Unrated(_ANOTHER),
        Fault.SOURCE_BEHIND: Unrated(_ANOTHER),
        **OURS,
        Fault.SUSPEND_UNCOUNTED: Unrated(_ANOTHER, ends=False),
    },
)
COLUMNS: Sequence[Column] = (PLUGIN,)
