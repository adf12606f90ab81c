from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from itertools import count

import pytest
from gufo.snmp import NoSuchInstance
from gufo.snmp.aio import SnmpSession

from handler.demo.agent import SYS_DESCR, SYS_UP_TIME, MibTable, counter64, gauge, open_agent, text, ticks
from tests.support.waiting import PATIENT

FIRST, SECOND = (1, 3, 6, 1, 4, 1, 8072, 9999, 9999, 1, 1, 0), (1, 3, 6, 1, 4, 1, 8072, 9999, 9999, 1, 2, 0)

Scene = Callable[[SnmpSession], Awaitable[None]]


def dotted(oid: tuple[int, ...]) -> str:
    return ".".join(map(str, oid))


def a_table(steps: Iterator[int] | None = None) -> MibTable:
    steps = steps or count(1)
    return MibTable(
        {
            SECOND: lambda: counter64(2**63 + next(steps)),
            FIRST: lambda: gauge(41.6),
            SYS_DESCR: lambda: text("grüß"),
            SYS_UP_TIME: lambda: ticks(1.239),
        }
    )


def play(scene: Scene, community: str = "public", patience: float = PATIENT) -> None:
    async def on_stage() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            address = probe.getsockname()
        close = open_agent(address, "public", a_table())
        try:
            async with SnmpSession(*address, community=community, timeout=patience) as session:
                async with asyncio.timeout(PATIENT):
                    await scene(session)
        finally:
            close()
            await asyncio.sleep(0)

    asyncio.run(on_stage())


def test_values_are_typed_and_asked_for_each_time() -> None:
    async def scene(agent: SnmpSession) -> None:
        assert await agent.get(dotted(FIRST)) == 42
        assert await agent.get(dotted(SECOND)) == 2**63 + 1
        assert await agent.get(dotted(SECOND)) == 2**63 + 2
        assert await agent.get_many([dotted(SYS_DESCR), dotted(SYS_UP_TIME)]) == {
            dotted(SYS_DESCR): "grüß".encode(),
            dotted(SYS_UP_TIME): 123,
        }

    play(scene)


def test_an_unknown_object_is_answered_with_no_such_instance() -> None:
    async def scene(agent: SnmpSession) -> None:
        with pytest.raises(NoSuchInstance):
            await agent.get("1.3.6.1.4.1.8072.9999.9999.1.9.0")
        assert await agent.get_many([dotted(FIRST), "1.3.6.1.2.1.1.5.0"]) == {dotted(FIRST): 42}

    play(scene)


@pytest.mark.parametrize("walk", [SnmpSession.getnext, SnmpSession.getbulk], ids=["GETNEXT", "GETBULK"])
@pytest.mark.parametrize(
    ("root", "found"),
    [("1.3.6.1.2.1", [SYS_DESCR, SYS_UP_TIME]), ("1.3.6.1.4.1.8072", [FIRST, SECOND]), ("1.3.6.1.5", [])],
)
def test_a_walk_sees_everything_in_order(walk: Callable[..., object], root: str, found: list[tuple[int, ...]]) -> None:
    async def scene(agent: SnmpSession) -> None:
        assert [oid async for oid, _ in walk(agent, root)] == [dotted(oid) for oid in found]  # type: ignore[attr-defined]

    play(scene)


def test_a_wrong_community_is_not_answered() -> None:
    async def scene(agent: SnmpSession) -> None:
        with pytest.raises(TimeoutError):
            await agent.get(dotted(FIRST))

    play(scene, community="private", patience=0.5)


def test_an_address_that_is_taken_is_reported_at_once() -> None:
    async def scene() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", 0))
            with pytest.raises(OSError, match="in use"):
                open_agent(taken.getsockname(), "public", a_table())

    asyncio.run(scene())
