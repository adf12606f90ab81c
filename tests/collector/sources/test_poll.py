from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from collector.samples import Reply
from collector.sources.poll import Poller
from collector.targets import Round
from config.units import GroupId
from tests.support.collector import a_catalogue, a_column, a_moment, an_object, answers, no_secret, rosters
from tests.support.waiting import PATIENT

CPU = an_object("1.1", id="cpu")
SESSIONS = a_column("scur")


class Scripted:
    """A source that does as the test says."""

    def __init__(self, act: Callable[[Round], Awaitable[None]]) -> None:
        self._act = act
        self.closed = False

    async def fetch(self, asked: Round) -> None:
        await self._act(asked)

    async def close(self) -> None:
        self.closed = True


def puts(row: int, value: float) -> Scripted:
    async def act(asked: Round) -> None:
        asked.sheet.put(row, value, at=asked.clock().steady)

    return Scripted(act)


def a_poller(*sources: Scripted, at: float = 100.0) -> Poller:
    return Poller(clock=lambda: a_moment(at), read_secret=no_secret, sources=sources)


def test_all_sources_fill_one_scrape() -> None:
    poller = a_poller(puts(0, 42.0), puts(1, 7.0))

    scrape = asyncio.run(poller.poll(a_catalogue([CPU, SESSIONS]), rosters({"a": "127.0.0.1"}), timeout=PATIENT))

    assert answers(scrape) == {("a", "cpu"): 42.0, ("a", "scur"): 7.0}
    assert scrape.at == a_moment(100.0)


def test_a_source_that_hangs_costs_the_time_limit_and_no_answer_of_others() -> None:
    ended = []

    async def hang(asked: Round) -> None:
        asked.sheet.put(1, 7.0, at=0.0)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def scene() -> int:
        poller = a_poller(puts(0, 42.0), Scripted(hang))
        catalogue = a_catalogue([CPU, SESSIONS])
        scrape = await poller.poll(catalogue, rosters({"a": "127.0.0.1", "b": "127.0.0.2"}), timeout=0.05)
        assert answers(scrape) == {
            ("a", "cpu"): 42.0,
            ("b", "cpu"): 7.0,
            ("a", "scur"): Reply.TIMEOUT,
            ("b", "scur"): Reply.TIMEOUT,
        }
        return len(asyncio.all_tasks())

    assert asyncio.run(scene()) == 1
    assert ended == [True]


def test_a_poll_that_is_cancelled_stops_its_sources() -> None:
    ended = []

    async def scene() -> None:
        begun = asyncio.Event()

        async def hang(asked: Round) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        polling = asyncio.create_task(
            a_poller(Scripted(hang)).poll(a_catalogue([CPU]), rosters({"a": "127.0.0.1"}), timeout=60.0)
        )
        await begun.wait()
        polling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await polling

    asyncio.run(scene())
    assert ended == [True]


def test_a_mistake_in_a_source_is_not_taken_for_silence() -> None:
    async def stumble(asked: Round) -> None:
        raise KeyError("scur")

    with pytest.raises(ExceptionGroup):
        asyncio.run(a_poller(Scripted(stumble)).poll(a_catalogue([CPU]), rosters({"a": "127.0.0.1"}), timeout=PATIENT))


def test_a_layout_is_the_same_object_until_a_member_comes_goes_or_is_declared_otherwise() -> None:
    async def scene() -> list[bool]:
        poller, same = a_poller(), []
        catalogue, other = a_catalogue([CPU]), a_catalogue([CPU, SESSIONS])
        one, two = {"a": "127.0.0.1"}, {"a": "127.0.0.1", "b": "127.0.0.2"}
        before = None
        for declared, members in (
            (catalogue, one),
            (catalogue, one),
            (catalogue, two),
            (catalogue, two),
            (other, two),
            (other, two),
        ):
            scrape = await poller.poll(declared, rosters(members), timeout=PATIENT)
            same.append(scrape.layout is before)
            before = scrape.layout
        return same

    assert asyncio.run(scene()) == [False, True, False, True, False, True]


def test_polls_of_different_groups_keep_a_layout_each() -> None:
    async def scene() -> bool:
        poller, catalogue = a_poller(), a_catalogue([CPU], groups=["api", "web"])
        api, web = rosters({"a": "127.0.0.1"}, group="api"), rosters({"a": "127.0.0.1"}, group="web")
        first = await poller.poll(catalogue, api, timeout=PATIENT)
        await poller.poll(catalogue, web, timeout=PATIENT)
        again = await poller.poll(catalogue, api, timeout=PATIENT)
        assert {series.group for series in again.layout.series} == {GroupId("api")}
        return again.layout is first.layout

    assert asyncio.run(scene())


def test_no_member_to_ask_is_an_empty_scrape() -> None:
    scrape = asyncio.run(a_poller().poll(a_catalogue([CPU]), rosters({}), timeout=PATIENT))

    assert scrape.layout.series == ()


def test_closing_closes_every_source() -> None:
    sources = [puts(0, 1.0), puts(0, 1.0)]

    asyncio.run(a_poller(*sources).close())

    assert all(source.closed for source in sources)
