from __future__ import annotations

import asyncio

import pytest

from handler.runtime.whole import whole


def test_whoever_is_cancelled_is_so_only_after_the_work() -> None:
    done: list[str] = []

    async def scene() -> None:
        began, go_on = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            began.set()
            await go_on.wait()
            done.append("work")

        waiting = asyncio.create_task(whole(work()))
        await began.wait()
        waiting.cancel()
        await asyncio.sleep(0)
        assert not waiting.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert done == ["work"]

    asyncio.run(scene())


def test_results_and_errors_pass_through() -> None:
    async def give() -> int:
        return 7

    async def fail() -> int:
        raise ValueError("odd")

    assert asyncio.run(whole(give())) == 7
    with pytest.raises(ValueError, match="odd"):
        asyncio.run(whole(fail()))
