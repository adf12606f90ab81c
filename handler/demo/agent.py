"""A member's SNMP agent: real v2c GET, GETNEXT and GETBULK with pysnmp, over values that are computed when read.

The objects are under NET-SNMP's playground, ``1.3.6.1.4.1.8072.9999.9999`` (netSnmpPlaypen, NET-SNMP-MIB).
Importing this costs a sixth of a second: do it in a thread, once everything else is up.
"""

from __future__ import annotations

import bisect
import socket
from collections.abc import Callable, Mapping
from typing import Any

from pysnmp.carrier.asyncio.dgram import udp  # type: ignore[import-untyped]
from pysnmp.entity import config, engine  # type: ignore[import-untyped]
from pysnmp.entity.rfc3413 import cmdrsp, context  # type: ignore[import-untyped]
from pysnmp.proto import rfc1902, rfc1905  # type: ignore[import-untyped]

Oid = tuple[int, ...]

SYS_DESCR: Oid = (1, 3, 6, 1, 2, 1, 1, 1, 0)
SYS_UP_TIME: Oid = (1, 3, 6, 1, 2, 1, 1, 3, 0)
_MEMBER: Oid = (1, 3, 6, 1, 4, 1, 8072, 9999, 9999, 1)
BUSY_PERCENT: Oid = (*_MEMBER, 1, 0)
REQUESTS: Oid = (*_MEMBER, 2, 0)
CPU_PERCENT: Oid = (*_MEMBER, 3, 0)


class MibTable:
    """A read-only MIB: object → function of its present value. Has the methods that pysnmp's responders call."""

    def __init__(self, objects: Mapping[Oid, Callable[[], object]]) -> None:
        self._objects = dict(sorted(objects.items()))
        self._order = tuple(self._objects)

    def read_variables(self, *pairs: tuple[Any, Any], **_context: object) -> list[tuple[Any, object]]:
        """GET: return the values of these objects."""
        values = ((name, self._objects.get(tuple(name))) for name, _ in pairs)
        return [(name, rfc1905.noSuchObject if value is None else value()) for name, value in values]

    def read_next_variables(self, *pairs: tuple[Any, Any], **_context: object) -> list[tuple[Any, object]]:
        """GETNEXT, and each round of GETBULK: return the first object after each of these."""
        answers: list[tuple[Any, object]] = []
        for name, _ in pairs:
            place = bisect.bisect_right(self._order, tuple(name))
            ended = place == len(self._order)
            following = name if ended else name.clone(self._order[place])
            answers.append((following, rfc1905.endOfMibView if ended else self._objects[self._order[place]]()))
        return answers


def gauge(value: float) -> object:
    """Return a Gauge32, rounded."""
    return rfc1902.Gauge32(min(max(round(value), 0), 2**32 - 1))


def counter64(value: int) -> object:
    """Return a Counter64."""
    return rfc1902.Counter64(value % 2**64)


def ticks(seconds: float) -> object:
    """Return TimeTicks: hundredths of a second."""
    return rfc1902.TimeTicks(int(seconds * 100) % 2**32)


def text(value: str) -> object:
    """Return an OCTET STRING."""
    return rfc1902.OctetString(value.encode())


def open_agent(address: tuple[str, int], community: str, table: MibTable) -> Callable[[], None]:
    """Answer on this address, on the running event loop; return a function that closes the agent.

    Raises:
        OSError: the address cannot be bound.
    """
    receiving = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)  # bound here: pysnmp hides the error
    try:
        receiving.setblocking(False)
        receiving.bind(address)
    except OSError:
        receiving.close()
        raise
    snmp = engine.SnmpEngine()
    config.add_transport(snmp, udp.DOMAIN_NAME, udp.UdpTransport().open_server_mode(sock=receiving))
    config.add_v1_system(snmp, "member", community)
    here = context.SnmpContext(snmp)
    here.unregister_context_name(b"")
    here.register_context_name(b"", table)
    for responder in (cmdrsp.GetCommandResponder, cmdrsp.NextCommandResponder, cmdrsp.BulkCommandResponder):
        responder(snmp, here)

    def close() -> None:
        snmp.close_dispatcher()

    return close
