"""Agents of v3 that answer as a script says, over the engine of pysnmp, which signs and encrypts for them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from pysnmp.carrier.asyncio.dgram import udp  # type: ignore[import-untyped]
from pysnmp.entity import config, engine  # type: ignore[import-untyped]
from pysnmp.entity.rfc3413 import cmdrsp, context  # type: ignore[import-untyped]
from pysnmp.proto import rfc1902  # type: ignore[import-untyped]

from tests.support import quick_pysnmp  # noqa: F401 what it does is done by importing it
from tests.support.snmpd import AUTH_PASSWORD, PRIV_PASSWORD

OPEN, SIGNED, ENCRYPTED = "open", "signed", "encrypted"
_SHA = (config.USM_AUTH_HMAC96_SHA, AUTH_PASSWORD)
_USERS: Mapping[str, tuple[Any, ...]] = {
    OPEN: ("noAuthNoPriv",),
    SIGNED: ("authNoPriv", *_SHA),
    ENCRYPTED: ("authPriv", *_SHA, config.USM_PRIV_CFB128_AES, PRIV_PASSWORD),
}
Answer = Callable[[Sequence[str]], Sequence[tuple[str, Any]]]
"""What is answered to a question for these OIDs: whatever it likes."""


class _Liar:
    """Duck-typed to what pysnmp's responders ask for; a walk gets one round of answers at a time."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def read_variables(self, *pairs: tuple[Any, Any], **_context: object) -> list[tuple[Any, object]]:
        answered = self._answer([str(name) for name, _ in pairs])
        return [(rfc1902.ObjectName(oid), _value(value)) for oid, value in answered]

    read_next_variables = read_variables


def _value(value: object) -> object:
    return rfc1902.Integer32(value) if isinstance(value, int) else value


@contextlib.asynccontextmanager
async def lying(answer: Answer, user: str) -> AsyncIterator[int]:
    """Run an agent on a port of 127.0.0.1 until the block ends; its user is OPEN, SIGNED (SHA) or ENCRYPTED (AES)."""
    receiving = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiving.setblocking(False)
    receiving.bind(("127.0.0.1", 0))
    snmp = engine.SnmpEngine()
    config.add_transport(snmp, udp.DOMAIN_NAME, udp.UdpTransport().open_server_mode(sock=receiving))
    level, *keys = _USERS[user]
    config.add_v3_user(snmp, user, *keys)
    config.add_vacm_user(snmp, 3, user, level, (1,))
    here = context.SnmpContext(snmp)
    here.unregister_context_name(b"")
    here.register_context_name(b"", _Liar(answer))
    for responder in (cmdrsp.GetCommandResponder, cmdrsp.NextCommandResponder, cmdrsp.BulkCommandResponder):
        responder(snmp, here)
    try:
        yield receiving.getsockname()[1]
    finally:
        snmp.close_dispatcher()
        await asyncio.sleep(0)
