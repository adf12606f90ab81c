"""An OpenNebula as it answers for one side: a pool of machines, each with its mark and its last measurement."""

from __future__ import annotations

import xmlrpc.client
from collections.abc import Sequence
from email.utils import formatdate

from collector.samples import Reply
from collector.sources.opennebula.source import OpennebulaSource
from config.model.access import SecretRef
from config.model.catalogue import OpennebulaCloud
from config.model.counters import OpennebulaAttribute
from config.units import CloudId
from tests.support.faults import OURS, Column, Declared, Fails, Fault, Harmless, Overstated, Side, Unrated
from tests.support.faults_http import OVER_HTTP, Answer, Call, Face, blameless, odd
from tests.support.opennebula_documents import Vm, measured_xml, vm_xml
from tests.support.waiting import PATIENT

_AGE = 2.0


class _Front:
    def __init__(self, side: Side) -> None:
        self._side = side
        self._face = Face(side, self._answer)
        self._stale: float | None = None

    async def open(self) -> Declared:
        await self._face.open()
        cloud = OpennebulaCloud(
            id=CloudId(f"one-{self._side.group}"),
            endpoint=f"http://127.0.0.1:{self._face.port}/RPC2",
            user="fleet",
            password=SecretRef(env="PASSWORD"),
            timeout=PATIENT,
        )
        return Declared(OpennebulaAttribute(name="NETTX" if self._side.rising else "CPU"), cloud=cloud)

    async def turn(self, fault: Fault | None) -> None:
        self._stale = self._side.clock - 200.0 if fault is Fault.STALE else None
        await self._face.turn()

    def tell(self, now: object) -> None:
        """Do nothing: this source sends only answers."""

    async def close(self) -> None:
        await self._face.close()

    def _answer(self, call: Call) -> Answer:
        side = self._side
        names = list(side.members)[:1] if side.fault is Fault.HALF else list(side.members)
        machines = [self._machine(place, name) for place, name in enumerate(names)]
        pool = f"<VM_POOL>{''.join(vm_xml(machine) for machine in machines)}</VM_POOL>"
        document = measured_xml(machines) if b"vmpool.monitoring" in call.body else pool
        body = xmlrpc.client.dumps(([True, document, 0],), methodresponse=True).encode()
        return Answer(body, "text/xml", (("Date", formatdate(side.clock, usegmt=True)),))

    def _machine(self, place: int, name: str) -> Vm:
        side = self._side
        taken = side.clock - _AGE if self._stale is None else self._stale
        measured = {"NETTX" if side.rising else "CPU": f"{odd(side, name, side.value(name))}"}
        return Vm(
            id=place,
            name=name,
            owner="fleet",
            started=1,
            template={"CPU": "1"},
            user_template={"TRIMTAB": name},
            state=3,
            lcm=3,
            monitoring=measured,
            polled=int(taken),
        )


OPENNEBULA = Column(
    name="opennebula",
    kind=OpennebulaAttribute,
    made=lambda scenery: OpennebulaSource(scenery.http),
    counterpart=lambda side, scenery: _Front(side),
    gauges={
        **blameless(OVER_HTTP),
        Fault.STALE: Fails(Reply.STALE),
        Fault.SOURCE_AHEAD: Harmless("the answer says what time it is over there"),
        Fault.SOURCE_BEHIND: Harmless("the answer says what time it is over there"),
    },
    counts={
        Fault.COUNTER_RESET: Unrated("the count goes back", ends=False),
        Fault.STALE: Fails(Reply.STALE),
        Fault.SOURCE_AHEAD: Harmless("the answer says what time it is over there"),
        Fault.SOURCE_BEHIND: Harmless("the answer says what time it is over there"),
        **OURS,
        Fault.SUSPEND_UNCOUNTED: Overstated("no uptime contradicts a clock that stood still"),
    },
)
COLUMNS: Sequence[Column] = (OPENNEBULA,)
