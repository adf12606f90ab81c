"""SNMP agents as they answer for one side, one for each member; in a few lines of BER of its own."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator, Sequence
from typing import cast

from collector.samples import Reply
from collector.sources.snmp import SnmpSource
from config.model.access import SecretRef, SnmpAccess, SnmpLibrary
from config.model.counters import SnmpObject
from tests.support.faults import (
    NO_TIMES,
    OURS,
    SECRET,
    Column,
    Declared,
    Fails,
    Fault,
    Harmless,
    Impossible,
    Phase,
    Side,
    Unrated,
)
from tests.support.ports import free_udp_port

LOAD, UPTIME = "1.3.6.1.4.1.8072.9999.1.0", "1.3.6.1.2.1.1.3.0"
_INTEGER, _OCTETS, _OID, _SEQUENCE, _RESPONSE = 0x02, 0x04, 0x06, 0x30, 0xA2
_GAUGE, _TICKS, _OPAQUE, _COUNTER64, _NO_SUCH = 0x42, 0x43, 0x44, 0x46, 0x80


def _tlv(tag: int, body: bytes) -> bytes:
    length = bytes([len(body)]) if len(body) < 128 else bytes([0x82, *len(body).to_bytes(2, "big")])
    return bytes([tag]) + length + body


def _number(tag: int, value: int) -> bytes:
    return _tlv(tag, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _parts(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Elements that follow on each other; lengths as requests have them."""
    at = 0
    while at < len(body):
        length, start = body[at + 1], at + 2
        if length & 0x80:
            start += length & 0x7F
            length = int.from_bytes(body[at + 2 : start], "big")
        yield body[at], body[start : start + length]
        at = start + length


def _dotted(body: bytes) -> str:
    arcs, arc = [1, 3], 0
    for octet in body[1:]:
        arc = arc << 7 | octet & 0x7F
        if not octet & 0x80:
            arcs.append(arc)
            arc = 0
    return ".".join(map(str, arcs))


class _Agent(asyncio.DatagramProtocol):
    def __init__(self, side: Side, name: str) -> None:
        self._side = side
        self._name = name

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        side = self._side
        ((_, message),) = _parts(data)
        (_, version), (_, community), (_, pdu) = _parts(message)
        (_, number), _, _, (_, varbinds) = _parts(pdu)
        asked = [next(_parts(pair))[1] for _, pair in _parts(varbinds)]
        if community.decode() != SECRET or (side.fault is Fault.HALF and self._name != next(iter(side.members))):
            return
        answers = [] if side.fault is Fault.EMPTY else [(oid, self._value(_dotted(oid))) for oid in asked]
        status = 16 if side.fault is Fault.AUTH else 0
        found = _tlv(_SEQUENCE, b"".join(_tlv(_SEQUENCE, _tlv(_OID, oid) + value) for oid, value in answers))
        body = _tlv(_INTEGER, number) + _number(_INTEGER, status) + _number(_INTEGER, int(status > 0)) + found
        head = _tlv(_INTEGER, version) + _tlv(_OCTETS, community)
        self._say(_tlv(_SEQUENCE, head + _tlv(_RESPONSE, body)), addr)

    def _value(self, oid: str) -> bytes:
        side = self._side
        if oid == UPTIME:
            return _number(_TICKS, int(side.uptime * 100))
        if oid != LOAD:
            return _tlv(_NO_SUCH, b"")
        match side.fault:
            case Fault.NOT_FINITE:
                odd = float("nan") if self._name.endswith("1") else float("-inf")
                return _tlv(_OPAQUE, b"\x9f\x78\x04" + struct.pack(">f", odd))
            case Fault.WRONG_TYPE:
                return _tlv(_OCTETS, b"plenty")
        if side.rising:
            return _number(_COUNTER64, round(side.value(self._name)))
        return _tlv(_OPAQUE, b"\x9f\x78\x04" + struct.pack(">f", side.value(self._name)))

    def _say(self, honest: bytes, addr: tuple[str, int]) -> None:
        match self._side.fault:
            case Fault.TIMEOUT:
                pass
            case Fault.SLOW:
                asyncio.get_running_loop().call_later(0.8, self._transport.sendto, honest, addr)
            case Fault.TRUNCATED:
                self._transport.sendto(honest[:-6], addr)
            case Fault.GARBAGE:
                self._transport.sendto(b"\x00\xff\x17" + SECRET.encode() + bytes(range(256)), addr)
            case _:
                self._transport.sendto(self._side.spoil(honest), addr)


class _Agents:
    def __init__(self, side: Side, engine: SnmpLibrary) -> None:
        self._side = side
        self._engine = engine
        self._port = free_udp_port()  # one for all addresses: the kernel's choice is free for the first alone
        self._transports: list[asyncio.DatagramTransport] = []

    async def open(self) -> Declared:
        await self._listen()
        access = SnmpAccess(port=self._port, community=SecretRef(env="COMMUNITY"), engine=self._engine)
        return Declared(SnmpObject(oid=LOAD, name="load"), snmp=access)

    async def turn(self, fault: Fault | None) -> None:
        await self.close()
        if fault is not Fault.REFUSED:
            await self._listen()

    def tell(self, now: object) -> None:
        """Do nothing: this source sends only answers."""

    async def close(self) -> None:
        for transport in self._transports:
            transport.close()
        self._transports.clear()
        await asyncio.sleep(0)

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        for name, address in self._side.members.items():
            transport, _ = await loop.create_datagram_endpoint(
                lambda name=name: _Agent(self._side, name), local_addr=(address, self._port)
            )
            self._transports.append(transport)


_DATAGRAM = Impossible("an answer is one datagram")
_ANOTHER = "an agent that has run for much longer, or shorter, than our clock is another one"


def _column(name: str, engine: SnmpLibrary, phases: Sequence[Phase], unread: Reply, refused: Reply) -> Column:
    return Column(
        name=name,
        kind=SnmpObject,
        made=lambda scenery: SnmpSource(),
        counterpart=lambda side, scenery: _Agents(side, engine),
        tells_uptime=True,
        phases=phases,
        gauges={
            Fault.REFUSED: Fails(refused),
            Fault.TIMEOUT: Fails(Reply.TIMEOUT),
            Fault.SLOW: Harmless("it answers within our patience"),
            Fault.DRIPPING: _DATAGRAM,
            Fault.EMPTY: Fails(Reply.MALFORMED),
            Fault.NOT_FINITE: Fails(Reply.MALFORMED),
            Fault.WRONG_TYPE: Fails(Reply.MALFORMED),
            Fault.TRUNCATED: Fails(unread),
            Fault.GARBAGE: Fails(unread),
            Fault.AUTH: Fails(Reply.AUTH),
            Fault.RATE_LIMITED: Impossible("agents that are asked too often are silent, which is TIMEOUT"),
            Fault.STALE: NO_TIMES,
            Fault.HALF: Fails(Reply.TIMEOUT, half=True),
            Fault.COUNTER_RESET: Harmless("a gauge is no count"),
            Fault.SOURCE_AHEAD: Harmless("a gauge carries no time"),
            Fault.SOURCE_BEHIND: Harmless("a gauge carries no time"),
            **OURS,
        },
        counts={
            Fault.COUNTER_RESET: Unrated("its uptime went back", ends=False),
            Fault.STALE: Unrated("an uptime that stands still is that of an earlier answer", throughout=True),
            Fault.SOURCE_AHEAD: Unrated(_ANOTHER),
            Fault.SOURCE_BEHIND: Unrated(_ANOTHER),
            **OURS,
            Fault.SUSPEND_UNCOUNTED: Unrated(_ANOTHER, ends=False),
        },
    )


GUFO = _column("snmp gufo", SnmpLibrary.GUFO, tuple(Phase), Reply.MALFORMED, Reply.REFUSED)
PYSNMP = _column("snmp pysnmp", SnmpLibrary.PYSNMP, (Phase.JUST_BEFORE_FIRING,), Reply.TIMEOUT, Reply.TIMEOUT)
"""In one phase only: it is slow, and all that it shares with the other engine is above it. The library itself throws
away what it cannot read, and does not hear of closed ports: both are silence."""
COLUMNS: Sequence[Column] = (GUFO, PYSNMP)
