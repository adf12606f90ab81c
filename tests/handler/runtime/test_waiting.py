from __future__ import annotations

import asyncio

import pytest

from handler.runtime.waiting import until_set


def test_a_cancellation_is_not_lost_though_the_event_comes_in_the_same_turn() -> None:
    async def scene() -> None:
        event = asyncio.Event()
        waiting = asyncio.create_task(until_set(event, 60.0))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        event.set()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(scene())


def test_the_event_or_the_span_ends_the_waiting() -> None:
    async def scene() -> list[bool]:
        event, ended_by_event = asyncio.Event(), []
        for span in (0.001, 3600.0):
            async with asyncio.timeout(30.0):
                await until_set(event, span)
            ended_by_event.append(event.is_set())
            event.set()
        return ended_by_event

    assert asyncio.run(scene()) == [False, True]
