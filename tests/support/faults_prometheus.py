"""A Prometheus as it answers for one side: a series for each member, with the time of its sample."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from email.utils import formatdate

from collector.samples import Reply
from collector.sources.prometheus.parsing import STAMP
from collector.sources.prometheus.source import PrometheusSource
from config.model.access import PrometheusServer
from config.model.counters import PrometheusQuery
from config.units import SourceId
from tests.support.faults import OURS, Column, Declared, Fails, Fault, Harmless, Overstated, Side, Unrated
from tests.support.faults_http import ACCESS, OVER_HTTP, Answer, Call, Face, blameless, odd
from tests.support.prometheus import a_vector

_STOPPED: float = 120.0
"""Seconds ago, when nothing is scraped any more: Prometheus goes on showing its last sample for five minutes."""


class _Server:
    def __init__(self, side: Side) -> None:
        self._side = side
        self._face = Face(side, self._answer)

    async def open(self) -> Declared:
        await self._face.open()
        group = self._side.group
        server = PrometheusServer(
            id=SourceId(f"prom-{group}"), url=f"http://127.0.0.1:{self._face.port}", access=ACCESS
        )
        query = PrometheusQuery(query=f'load{{group="{group}"}}', server=server.id, label="instance")
        return Declared(query, server=server)

    async def turn(self, fault: Fault | None) -> None:
        await self._face.turn()

    def tell(self, now: object) -> None:
        """Do nothing: this source sends only answers."""

    async def close(self) -> None:
        await self._face.close()

    def _answer(self, call: Call) -> Answer:
        side = self._side
        names = list(side.members)[:1] if side.fault is Fault.HALF else list(side.members)
        taken = side.clock - (_STOPPED if side.fault is Fault.STALE else 2.0)
        series: list[tuple[Mapping[str, str], str]] = []
        for name in names:
            labels = {"instance": f"{side.members[name]}:9100", "group": side.group}
            series.append(({"__name__": "load", **labels}, str(odd(side, name, side.value(name)))))
            if STAMP in call.form["query"]:
                series.append(({**labels, STAMP: "1"}, str(taken)))
        date = formatdate(side.clock, usegmt=True)
        return Answer(json.dumps(a_vector(*series, at=side.clock)).encode(), headers=(("Date", date),))


_ITS_OWN = Harmless("ages are counted by the server's clock alone")
PROMETHEUS = Column(
    name="prometheus",
    kind=PrometheusQuery,
    made=lambda scenery: PrometheusSource(scenery.http),
    counterpart=lambda side, scenery: _Server(side),
    gauges={
        **blameless(OVER_HTTP),
        Fault.HALF: Fails(Reply.NO_SUCH_COUNTER, half=True),
        Fault.STALE: Fails(Reply.STALE),
        Fault.SOURCE_AHEAD: _ITS_OWN,
        Fault.SOURCE_BEHIND: _ITS_OWN,
    },
    counts={
        Fault.COUNTER_RESET: Unrated("the count goes back", ends=False),
        Fault.STALE: Fails(Reply.STALE),
        Fault.SOURCE_AHEAD: _ITS_OWN,
        Fault.SOURCE_BEHIND: _ITS_OWN,
        **OURS,
        Fault.SUSPEND_UNCOUNTED: Overstated("no uptime contradicts a clock that stood still"),
    },
)
COLUMNS: Sequence[Column] = (PROMETHEUS,)
