"""Long answers are parsed beside the event loop, one at a time, and for no user of it more than its share."""

from __future__ import annotations

import asyncio
import threading
import time

from collector.clients.http.failures import HttpFailure
from collector.clients.http.parsing import ALLOWED, INLINE, SHARE, Parser
from collector.samples import Reply
from config.units import Instant, Moment, Monotonic

LONG = INLINE + 1


class Clock:
    """Stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> Moment:
        return Moment(wall=Instant(self.at), steady=Monotonic(self.at))


def burning(seconds: float) -> str:
    began = time.thread_time()
    while time.thread_time() - began < seconds:
        pass
    return "parsed"


def test_a_source_that_has_cost_more_than_its_share_is_put_off_until_time_has_paid_for_it_and_no_other_is() -> None:
    clock = Clock()

    async def scene() -> None:
        parser = Parser(clock)
        cost = ALLOWED + 0.1
        assert await parser.run("heavy", LONG, lambda: burning(cost)) == "parsed"

        late = await parser.run("heavy", LONG, lambda: "parsed")
        assert isinstance(late, HttpFailure)
        assert late.reply is Reply.PUT_OFF
        assert "more than its share" in late.detail
        assert parser.put_off("light") is None
        assert await parser.run("light", LONG, lambda: "parsed") == "parsed"

        clock.at += 2.0 * cost / SHARE
        assert await parser.run("heavy", LONG, lambda: "parsed") == "parsed"
        parser.close()

    asyncio.run(scene())


def test_of_many_answers_that_wait_only_those_within_the_share_are_parsed() -> None:
    async def scene() -> list[object]:
        parser = Parser(Clock())
        found = await asyncio.gather(*(parser.run("heavy", LONG, lambda: burning(0.1)) for _ in range(20)))
        parser.close()
        return list(found)

    found = asyncio.run(scene())

    assert found[:3] == ["parsed"] * 3
    assert all(isinstance(one, HttpFailure) for one in found[4:])


def test_cheap_answers_are_never_counted_however_many_they_are() -> None:
    async def scene() -> None:
        parser = Parser(Clock())
        for _ in range(1000):
            assert await parser.run("many", LONG, lambda: "parsed") == "parsed"
        parser.close()

    asyncio.run(scene())


def test_short_answers_are_parsed_at_once_and_long_ones_beside_the_event_loop() -> None:
    async def scene() -> tuple[str, str]:
        parser = Parser(Clock())
        names = (
            await parser.run("a", INLINE - 1, lambda: threading.current_thread().name),
            await parser.run("a", LONG, lambda: threading.current_thread().name),
        )
        parser.close()
        assert not isinstance(names[0], HttpFailure)
        assert not isinstance(names[1], HttpFailure)
        return names[0], names[1]

    short, long = asyncio.run(scene())

    assert short == threading.main_thread().name
    assert long.startswith("parser")
