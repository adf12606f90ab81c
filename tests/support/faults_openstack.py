"""An OpenStack as it answers for one side; each client has a token already."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import formatdate

from collector.clients.openstack.session import COMPUTE, METRIC, Grant
from collector.samples import Reply
from collector.sources.openstack.gnocchi import GnocchiSource
from collector.sources.openstack.keystone import Keystone
from collector.sources.openstack.nova import NovaSource
from collector.sources.openstack.nova_servers import NovaServers
from config.model.access import BY_SYSTEM, SecretRef
from config.model.catalogue import OpenstackCloud
from config.model.counters import CounterSource, GnocchiMetric, NovaField
from config.model.openstack import ApplicationCredential, OpenstackAccess
from config.units import CloudId
from tests.support.faults import (
    NO_TIMES,
    OURS,
    Column,
    Declared,
    Fails,
    Fault,
    Harmless,
    Overstated,
    Scenery,
    Side,
    Unrated,
)
from tests.support.faults_http import OVER_HTTP, Answer, Call, Face, blameless, odd
from tests.support.waiting import PATIENT

_PERIOD = 10.0
_AGE = 2.0


class _Front:
    """Nova or Gnocchi, with wrong answers if the fault says so. Gnocchi is asked after Nova, which answered right."""

    def __init__(self, side: Side, kind: type[CounterSource]) -> None:
        self._side = side
        self._kind = kind
        self._face = Face(side, self._nova if kind is NovaField else self._gnocchi)
        self._honest = Face(dataclasses.replace(side, fault=None, spoil=bytes, wire=bytes), self._nova)
        self._stale: float | None = None

    async def open(self) -> Declared:
        await self._face.open()
        await self._honest.open()
        faces = self._face if self._kind is NovaField else self._honest, self._face
        places = " ".join(f"http://127.0.0.1:{face.port}" for face in faces)
        credentials = ApplicationCredential(auth_url=places, id="id", secret=SecretRef(env="PASSWORD"))
        cloud = OpenstackCloud(
            id=CloudId(f"os-{self._side.group}"), access=OpenstackAccess(credentials=credentials, timeout=PATIENT)
        )
        if self._kind is NovaField:
            name = "nic_details.rx_octets" if self._side.rising else "memory_details.used"
            return Declared(NovaField(name=name), cloud=cloud)
        return Declared(GnocchiMetric(name="load", aggregation="mean", granularity=_PERIOD), cloud=cloud)

    async def turn(self, fault: Fault | None) -> None:
        self._stale = self._side.clock - 200.0 if fault is Fault.STALE else None
        await self._face.turn()

    def tell(self, now: object) -> None:
        """Do nothing: this source sends only answers."""

    async def close(self) -> None:
        await self._face.close()
        await self._honest.close()

    def _nova(self, call: Call) -> Answer:
        side = self._side
        if not call.path.endswith("/diagnostics"):
            half = self._kind is NovaField and side.fault is Fault.HALF
            names = list(side.members)[:1] if half else list(side.members)
            servers = [{"id": name, "metadata": {"trimtab.member": name}} for name in names]
            return Answer(json.dumps({"servers": servers}).encode())
        name = call.path.split("/")[-2]
        if side.fault is Fault.HALF and name != next(iter(side.members)):
            return Answer(b'{"itemNotFound": {"code": 404}}', status="404 Not Found")
        value = odd(side, name, side.value(name))
        nic = {"mac_address": "01:23:45:67:89:ab", "rx_octets": value}
        diagnostics = {"state": "running", "memory_details": {"used": value, "maximum": 512}, "nic_details": [nic]}
        return Answer(json.dumps(diagnostics).encode())

    def _gnocchi(self, call: Call) -> Answer:
        side = self._side
        names = list(side.members)[:1] if side.fault is Fault.HALF else list(side.members)
        began = (side.clock - _AGE if self._stale is None else self._stale) - _PERIOD
        when = datetime.fromtimestamp(began, UTC).isoformat()
        measures = {name: {"load": {"mean": [[when, _PERIOD, odd(side, name, side.value(name))]]}} for name in names}
        date = formatdate(side.clock, usegmt=True)
        return Answer(json.dumps({"measures": measures}).encode(), headers=(("Date", date),))


def _begun(access: OpenstackAccess, _: object) -> Grant:
    """A token at once: it is got long before it is used. The address tells both services' ports."""
    assert isinstance(access.credentials, ApplicationCredential)
    compute, metric = access.credentials.auth_url.split(" ")
    return Grant(token="t", ends_soon=lambda: False, trust=BY_SYSTEM, services={COMPUTE: compute, METRIC: metric})


def _nova(scenery: Scenery) -> NovaSource:
    keystone = Keystone(scenery.http, _begun)
    return NovaSource(keystone, NovaServers(keystone))


def _gnocchi(scenery: Scenery) -> GnocchiSource:
    keystone = Keystone(scenery.http, _begun)
    return GnocchiSource(keystone, NovaServers(keystone))


_NO_CLOCK = Harmless("its answers carry no time")
_CLOCK = Harmless("the answer says what time it is over there")
NOVA = Column(
    name="nova",
    kind=NovaField,
    made=_nova,
    counterpart=lambda side, scenery: _Front(side, NovaField),
    gauges={
        **blameless(OVER_HTTP),
        Fault.STALE: NO_TIMES,
        Fault.SOURCE_AHEAD: _NO_CLOCK,
        Fault.SOURCE_BEHIND: _NO_CLOCK,
    },
    counts={
        Fault.COUNTER_RESET: Unrated("the count goes back", ends=False),
        Fault.STALE: NO_TIMES,
        Fault.SOURCE_AHEAD: _NO_CLOCK,
        Fault.SOURCE_BEHIND: _NO_CLOCK,
        **OURS,
        Fault.SUSPEND_UNCOUNTED: Overstated("no uptime contradicts a clock that stood still"),
    },
)
GNOCCHI = Column(
    name="gnocchi",
    kind=GnocchiMetric,
    made=_gnocchi,
    counterpart=lambda side, scenery: _Front(side, GnocchiMetric),
    gauges={
        **blameless(OVER_HTTP),
        Fault.HALF: Fails(Reply.NO_SUCH_COUNTER, half=True),
        Fault.STALE: Fails(Reply.STALE),
        Fault.SOURCE_AHEAD: _CLOCK,
        Fault.SOURCE_BEHIND: _CLOCK,
    },
    counts={
        Fault.COUNTER_RESET: Unrated("the count goes back", ends=False),
        Fault.STALE: Fails(Reply.STALE),
        Fault.SOURCE_AHEAD: _CLOCK,
        Fault.SOURCE_BEHIND: _CLOCK,
        **OURS,
        Fault.SUSPEND_UNCOUNTED: Overstated("no uptime contradicts a clock that stood still"),
    },
)
COLUMNS: Sequence[Column] = (NOVA, GNOCCHI)
