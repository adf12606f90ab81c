"""Stands between a poller and a real agent: counts, loses, holds back and spoils what passes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from typing import cast

from tests.support.snmpd import Snmpd
from tests.support.waiting import PATIENT

Spoil = Callable[[bytes], bytes]


class Relay(asyncio.DatagramProtocol):
    """Counts requests, loses the first ones, holds answers until more come, and changes them."""

    def __init__(self, agent: Snmpd, lose: int, hold: int) -> None:
        self.requests = 0
        self.spoil: Spoil = lambda answer: answer
        self.caller = ("", 0)
        self.deaf = False
        self._lose = lose
        self._hold = hold
        self._answers: list[bytes] = []
        self._agent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._agent.settimeout(PATIENT)
        self._agent.connect((agent.address, agent.port))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.requests += 1
        self.caller = addr
        if self.deaf or self.requests <= self._lose:
            return
        self._agent.send(data)
        self._answers.append(self.spoil(self._agent.recv(65536)))
        if len(self._answers) > self._hold:
            for answer in self._answers:
                self._transport.sendto(answer, addr)
            self._answers.clear()

    def connection_lost(self, exc: Exception | None) -> None:
        self._agent.close()


@contextlib.asynccontextmanager
async def relayed(agent: Snmpd, *, lose: int = 0, hold: int = 0) -> AsyncIterator[tuple[int, Relay]]:
    """The port of the relay on 127.0.0.1, and the relay, until the block ends."""
    transport, relay = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: Relay(agent, lose, hold), local_addr=("127.0.0.1", 0)
    )
    try:
        yield transport.get_extra_info("sockname")[1], relay
    finally:
        transport.close()
        await asyncio.sleep(0)
