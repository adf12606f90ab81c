"""The daemon asks its store every other second, since a group at rest would not notice that it is away."""

from __future__ import annotations

import asyncio
import threading

from config.errors import StoreError
from config.units import Instant, Moment, Monotonic
from handler.engine.health import StoreWatch, health_of
from handler.ports.held_clock import ClockDifference
from tests.support.memory_store import MemoryStore


class Moody(MemoryStore):
    """Fails or hangs as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.problem = ""
        self.answers = threading.Event()
        self.answers.set()

    def clock(self) -> ClockDifference | None:
        self.answers.wait(20)
        if self.problem:
            raise StoreError(self.problem)
        return super().clock()


class Clock:
    steady = 100.0

    def __call__(self) -> Moment:
        return Moment(wall=Instant(self.steady), steady=Monotonic(self.steady))


def shown(watch: StoreWatch, clock: Clock) -> tuple[bool, str]:
    health = health_of((), (), clock(), taken=True, store=watch.problem)
    return health.ready, health.checks["store"]


def test_a_store_that_is_away_shows_until_it_is_back() -> None:
    store, clock = Moody(), Clock()
    watch = StoreWatch(store, clock)
    assert shown(watch, clock) == (True, "ok")
    store.problem = "it cannot be reached"
    asyncio.run(watch.look())
    assert shown(watch, clock) == (False, "it cannot be reached")
    store.problem = ""
    asyncio.run(watch.look())
    assert shown(watch, clock) == (True, "ok")


def test_a_store_that_hangs_is_away_after_five_seconds() -> None:
    store, clock = Moody(), Clock()
    watch = StoreWatch(store, clock)

    async def scene() -> None:
        store.answers.clear()
        look = asyncio.create_task(watch.look())
        await asyncio.sleep(0)
        clock.steady += 5.0
        assert shown(watch, clock) == (True, "ok")
        clock.steady += 2.0
        assert shown(watch, clock) == (False, "the store has not answered for 7 s")
        store.answers.set()
        await look
        assert shown(watch, clock) == (True, "ok")

    asyncio.run(scene())
