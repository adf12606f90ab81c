"""A NetScaler as it answers for one side: a service group, members by address, numbers as text."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from collector.samples import Reply
from collector.sources.netscaler.source import NetscalerSource
from config.model.access import NetscalerStats, SecretRef
from config.model.counters import NetscalerField
from config.units import SourceId
from tests.support.faults import NO_TIMES, OURS, Column, Declared, Fails, Fault, Harmless, Overstated, Side, Unrated
from tests.support.faults_http import OVER_HTTP, Answer, Call, Face, blameless, odd
from tests.support.netscaler import a_group_member


class _Appliance:
    def __init__(self, side: Side) -> None:
        self._side = side
        self._face = Face(side, self._answer)

    async def open(self) -> Declared:
        await self._face.open()
        source = NetscalerStats(
            id=SourceId(f"ns-{self._side.group}"),
            url=f"http://127.0.0.1:{self._face.port}",
            user="trimtab",
            password=SecretRef(env="PASSWORD"),
            service_group="web",
        )
        return Declared(NetscalerField(field="curclntconnections", server=source.id), server=source)

    async def turn(self, fault: Fault | None) -> None:
        await self._face.turn()

    def tell(self, now: object) -> None:
        """Do nothing: this source sends only answers."""

    async def close(self) -> None:
        await self._face.close()

    def _answer(self, call: Call) -> Answer:
        match call.path.removeprefix("/nitro/v1/"):
            case "config/login":
                return _done(sessionid=f"##{self._side.started:08X}")
            case "stat/system":
                started = time.asctime(time.gmtime(1.4e9 + 1e5 * self._side.started))
                return _done(system={"starttime": started, "timesincestart": "00:00:00"})
            case "stat/servicegroup/web":
                return _done(servicegroup=[{"servicegroupname": "web", "servicegroupmember": self._members()}])
            case _:
                return _done()

    def _members(self) -> Sequence[object]:
        side = self._side
        names = list(side.members)[:1] if side.fault is Fault.HALF else list(side.members)
        return [
            a_group_member(name, side.members[name], curclntconnections=f"{odd(side, name, side.value(name))}")
            for name in names
        ]


def _done(**objects: object) -> Answer:
    return Answer(json.dumps({"errorcode": 0, "message": "Done", "severity": "NONE", **objects}).encode())


_NO_CLOCK = Harmless("its age is counted by our clock, from when we first saw its start")
NETSCALER = Column(
    name="netscaler",
    kind=NetscalerField,
    made=lambda scenery: NetscalerSource(scenery.http),
    counterpart=lambda side, scenery: _Appliance(side),
    tells_uptime=True,
    gauges={
        **blameless(OVER_HTTP),
        Fault.AUTH: Fails(Reply.AUTH, lingers=3),  # a refused password is tried again after a minute, then after two
        Fault.STALE: NO_TIMES,
        Fault.SOURCE_AHEAD: Harmless("its answers carry no time"),
        Fault.SOURCE_BEHIND: Harmless("its answers carry no time"),
    },
    counts={
        Fault.COUNTER_RESET: Unrated("it has another start", ends=False),
        Fault.STALE: NO_TIMES,
        Fault.SOURCE_AHEAD: _NO_CLOCK,
        Fault.SOURCE_BEHIND: _NO_CLOCK,
        **OURS,
        Fault.SUSPEND_UNCOUNTED: Overstated("its age is counted by our clock, which stood still with the other one"),
    },
)
COLUMNS: Sequence[Column] = (NETSCALER,)
