"""SNMP in tests: counters and access with defaults, and agents that answer as a script says.

Scripted agents are built with pysnmp's message classes, which are not those of the code under test.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from pyasn1.codec.ber import decoder, encoder  # type: ignore[import-untyped]
from pysnmp.proto import api  # type: ignore[import-untyped]

from collector.sources.poll import Poller
from collector.sources.snmp import SnmpSource
from config.model.access import AuthProtocol, PrivProtocol, SecretRef, SnmpAccess, SnmpLibrary, SnmpUser, SnmpVersion
from config.model.counters import Counter, CounterKind, SnmpObject
from config.model.reductions import Reduce
from config.units import CounterId
from tests.support import quick_pysnmp  # noqa: F401 what it does is done by importing it
from tests.support.collector import a_poller
from tests.support.snmpd import AUTH_PASSWORD, PRIV_PASSWORD
from tests.support.waiting import PATIENT

SECRETS: Mapping[str, str] = {
    "COMMUNITY": "public",
    "NARROW": "narrow",
    "WRONG": "guess-guess",
    "AUTH": AUTH_PASSWORD,
    "PRIV": PRIV_PASSWORD,
}
V2C = api.PROTOCOL_MODULES[api.SNMP_VERSION_2C]
V1 = api.PROTOCOL_MODULES[api.SNMP_VERSION_1]


def a_column(oid: str, rows: Reduce = Reduce.SUM, *, rising: bool = False, bits: int = 64) -> Counter:
    return Counter(
        id=CounterId(f"{oid} {rows.value}"),
        source=SnmpObject(oid=oid, name=oid),
        rows=rows,
        kind=CounterKind.RISING if rising else CounterKind.GAUGE,
        bits=bits,
    )


def an_access(
    port: int,
    *,
    version: SnmpVersion = SnmpVersion.V2C,
    community: str | None = None,
    engine: SnmpLibrary = SnmpLibrary.GUFO,
) -> SnmpAccess:
    """Community by the name of its secret."""
    secret = None if community is None else SecretRef(env=community)
    return SnmpAccess(port=port, version=version, community=secret, engine=engine)


def a_user(
    port: int,
    name: str,
    *,
    auth: AuthProtocol | None = None,
    priv: PrivProtocol | None = None,
    passwords: tuple[str, str] = ("AUTH", "PRIV"),
    engine: SnmpLibrary = SnmpLibrary.GUFO,
) -> SnmpAccess:
    user = SnmpUser(
        name=name,
        auth=None if auth is None else (auth, SecretRef(env=passwords[0])),
        priv=None if priv is None else (priv, SecretRef(env=passwords[1])),
    )
    return SnmpAccess(port=port, version=SnmpVersion.V3, user=user, engine=engine)


def a_source(*patience: float) -> SnmpSource:
    return SnmpSource(patience=patience or (20.0, PATIENT))


def snmp_poller(source: SnmpSource | None = None) -> Poller:
    return a_poller(source or a_source(), secrets=SECRETS)


class Ask:
    """One request as a scripted agent sees it, and the ways to answer it."""

    def __init__(self, datagram: bytes) -> None:
        self.version = api.decodeMessageVersion(datagram)
        self._module = api.PROTOCOL_MODULES[self.version]
        self._message, _ = decoder.decode(datagram, asn1Spec=self._module.Message())
        self._pdu = self._module.apiMessage.get_pdu(self._message)
        self.bulk = self.version == api.SNMP_VERSION_2C and isinstance(self._pdu, V2C.GetBulkRequestPDU)
        self.next = isinstance(self._pdu, self._module.GetNextRequestPDU)
        pdu_api = V2C.apiBulkPDU if self.bulk else self._module.apiPDU
        self.oids = [str(oid) for oid, _ in pdu_api.get_varbinds(self._pdu)]

    def answer(self, values: Sequence[tuple[str, Any]], *, status: int = 0, other_id: bool = False) -> bytes:
        """With these values; ``other_id``: as if to another request."""
        module = self._module
        reply = module.Message()
        module.apiMessage.set_defaults(reply)
        module.apiMessage.set_community(reply, module.apiMessage.get_community(self._message))
        pdu = module.GetResponsePDU()
        module.apiPDU.set_defaults(pdu)
        asked = V2C.apiBulkPDU if self.bulk else module.apiPDU
        module.apiPDU.set_request_id(pdu, int(asked.get_request_id(self._pdu)) ^ int(other_id))
        module.apiPDU.set_varbinds(pdu, [(oid, _value(module, value)) for oid, value in values])
        if status:
            module.apiPDU.set_error_status(pdu, status)
        module.apiMessage.set_pdu(reply, pdu)
        return bytes(encoder.encode(reply))

    def refusal(self, status: int) -> bytes:
        """With an error, and the objects as they were asked for. Source: RFC 3416, 4.2.1."""
        return self.answer([(oid, None) for oid in self.oids], status=status)


def _value(module: Any, value: object) -> object:
    match value:
        case None:
            return module.Null("")
        case int():
            return module.Integer(value)
        case str():
            return module.OctetString(value)
        case _:
            return value


Script = Callable[[Ask], Sequence[bytes]]


class Agent(asyncio.DatagramProtocol):
    """Counts what it is asked, and answers by its script."""

    def __init__(self, script: Script, delay: float) -> None:
        self.script = script
        self.asked: list[Ask] = []
        self.under_way = 0
        self.most_under_way = 0
        self._delay = delay

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        ask = Ask(data)
        self.asked.append(ask)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        asyncio.get_running_loop().call_later(self._delay, self._reply, ask, addr)

    def _reply(self, ask: Ask, addr: Any) -> None:
        self.under_way -= 1
        for answer in self.script(ask):
            self._transport.sendto(answer, addr)


@contextlib.asynccontextmanager
async def scripted(script: Script, *, delay: float = 0.0) -> AsyncIterator[tuple[int, Agent]]:
    """Run an agent on a port of 127.0.0.1 until the block ends; it takes its time over each answer."""
    transport, agent = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: Agent(script, delay), local_addr=("127.0.0.1", 0)
    )
    try:
        yield transport.get_extra_info("sockname")[1], agent
    finally:
        transport.close()
        await asyncio.sleep(0)


def table(rows: Sequence[tuple[str, Any]]) -> Script:
    """A well-behaved agent with these objects, in order."""

    def script(ask: Ask) -> Sequence[bytes]:
        if not (ask.next or ask.bulk):
            known = dict(rows)
            return [ask.answer([(oid, known.get(oid, V2C.NoSuchObject())) for oid in ask.oids])]
        at = tuple(map(int, ask.oids[0].split(".")))
        following = [row for row in rows if tuple(map(int, row[0].split("."))) > at]
        return [ask.answer(following[:10] or [(ask.oids[0], V2C.EndOfMibView())])]

    return script
