"""A CloudStack as it answers for one side: an account's machines, with what was measured of each."""

from __future__ import annotations

import json
from collections.abc import Sequence

from collector.samples import Reply
from collector.sources.cloudstack.source import CloudstackSource
from config.model.access import SecretRef
from config.model.catalogue import CloudstackCloud
from config.model.counters import CloudstackField
from config.units import CloudId
from tests.support.faults import Column, Declared, Fails, Fault, Harmless, Impossible, Side
from tests.support.faults_http import OVER_HTTP, Answer, Call, Face, blameless, odd
from tests.support.waiting import PATIENT


class _Front:
    def __init__(self, side: Side) -> None:
        self._side = side
        self._face = Face(side, self._answer)

    async def open(self) -> Declared:
        await self._face.open()
        cloud = CloudstackCloud(
            id=CloudId(f"cs-{self._side.group}"),
            endpoint=f"http://127.0.0.1:{self._face.port}/client/api",
            api_key=SecretRef(env="TOKEN"),
            secret=SecretRef(env="PASSWORD"),
            timeout=PATIENT,
        )
        return Declared(CloudstackField(name="cpuused"), cloud=cloud)

    async def turn(self, fault: Fault | None) -> None:
        await self._face.turn()

    def tell(self, now: object) -> None:
        """Do nothing: this source sends only answers."""

    async def close(self) -> None:
        await self._face.close()

    def _answer(self, call: Call) -> Answer:
        side = self._side
        names = list(side.members)[:1] if side.fault is Fault.HALF else list(side.members)
        listed = {"count": len(names), "virtualmachine": [self._machine(name) for name in names]}
        return Answer(json.dumps({"listvirtualmachinesmetricsresponse": listed}).encode())

    def _machine(self, name: str) -> dict[str, object]:
        honest = f"{self._side.value(name):.2f}%"
        freed = int(self._side.clock) % 1_000_000
        return {"name": name, "state": "Running", "cpuused": odd(self._side, name, honest), "memoryintfreekbs": freed}


CLOUDSTACK = Column(
    name="cloudstack",
    kind=CloudstackField,
    made=lambda scenery: CloudstackSource(scenery.http),
    counterpart=lambda side, scenery: _Front(side),
    gauges={
        **blameless(OVER_HTTP),
        Fault.OUTSIDE_RANGE: Fails(Reply.MALFORMED),  # CloudStack measures nothing below zero
        Fault.STALE: Impossible("an old measurement is only told by standing still, for longer than any fault here"),
        Fault.SOURCE_AHEAD: Harmless("its answers carry no time"),
        Fault.SOURCE_BEHIND: Harmless("its answers carry no time"),
    },
    counts="CloudStack tells what has moved in one collection: no field of it rises for ever",
)
COLUMNS: Sequence[Column] = (CLOUDSTACK,)
