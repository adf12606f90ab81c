from __future__ import annotations

import asyncio

from config.units import GroupId, Seconds
from handler.ingest.capabilities.looks import APART, GroupLooks

WEB, API = GroupId("web"), GroupId("api")


class Stage:
    """Looks that are counted, and time that passes when the test says so."""

    def __init__(self, *, fails: bool = False) -> None:
        self.looked: list[GroupId] = []
        self.pauses: list[Seconds] = []
        self.over = asyncio.Event()
        self.paused = asyncio.Event()
        self.fails = fails
        self.looks = GroupLooks(self.look, self.pause)

    async def look(self, group: GroupId) -> None:
        self.looked.append(group)
        if self.fails:
            raise RuntimeError("no listing")

    async def pause(self, seconds: Seconds) -> None:
        self.pauses.append(seconds)
        self.paused.set()
        await self.over.wait()

    async def until_paused(self) -> None:
        async with asyncio.timeout(30):
            await self.paused.wait()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_burst_of_events_is_one_look_now_and_one_when_ten_seconds_are_over() -> None:
    async def scene() -> None:
        stage = Stage()
        assert [stage.looks.wanted(WEB) for _ in range(100)] == [True] + [False] * 99
        await stage.until_paused()
        assert stage.looked == [WEB]
        stage.looks.wanted(WEB)
        stage.over.set()
        await settle()
        assert stage.looked == [WEB, WEB]
        assert stage.pauses == [APART, APART]
        await stage.looks.stop()

    asyncio.run(scene())


def test_groups_do_not_wait_for_each_others_ten_seconds() -> None:
    async def scene() -> None:
        stage = Stage()
        assert stage.looks.wanted(WEB)
        assert stage.looks.wanted(API)
        await settle()
        assert stage.looked == [WEB, API]
        await stage.looks.stop()

    asyncio.run(scene())


def test_a_look_that_fails_costs_that_look_alone() -> None:
    async def scene() -> None:
        stage = Stage(fails=True)
        stage.looks.wanted(WEB)
        await stage.until_paused()
        stage.over.set()
        await settle()
        assert stage.looks.wanted(WEB), "the earlier one is over"
        await settle()
        assert stage.looked == [WEB, WEB]
        await stage.looks.stop()

    asyncio.run(scene())
