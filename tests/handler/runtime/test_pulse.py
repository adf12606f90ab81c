from __future__ import annotations

import asyncio
from collections.abc import Coroutine

import pytest

from config.errors import Refused
from config.units import GroupId
from handler.runtime.pulse import Pulse, PulseListener
from tests.support.waiting import PATIENT

WEB, DB = GroupId("web"), GroupId("db")


async def heard(listener: PulseListener) -> frozenset[GroupId] | None:
    async with asyncio.timeout(PATIENT):
        return await listener.news()


def play(scene: Coroutine[object, object, None]) -> None:
    asyncio.run(scene)


def test_a_slow_listener_hears_of_a_group_once() -> None:
    async def scene() -> None:
        pulse = Pulse()
        with pulse.listen() as listener:
            for group in (WEB, WEB, DB, WEB):
                pulse.beat(group)
            assert await heard(listener) == {WEB, DB}
            pulse.beat(DB)
            assert await heard(listener) == {DB}

    play(scene())


def test_a_listener_of_one_group_gets_no_news_of_others() -> None:
    async def scene() -> None:
        pulse = Pulse(heartbeat=0.01)
        with pulse.listen(WEB) as listener:
            pulse.beat(DB)
            assert await heard(listener) == frozenset()
            pulse.beat(WEB)
            assert await heard(listener) == {WEB}

    play(scene())


def test_without_news_there_is_a_heartbeat() -> None:
    async def scene() -> None:
        with Pulse(heartbeat=0.01).listen() as listener:
            assert await heard(listener) == frozenset()
            assert await heard(listener) == frozenset()

    play(scene())


def test_closing_ends_a_wait_and_refuses_newcomers() -> None:
    async def scene() -> None:
        pulse = Pulse(heartbeat=60.0)
        with pulse.listen() as listener:
            waiting = asyncio.create_task(heard(listener))
            await asyncio.sleep(0)
            pulse.close()
            assert await waiting is None
        with pytest.raises(Refused, match="stops"):
            pulse.listen()

    play(scene())


def test_only_so_many_may_listen_and_a_reader_that_leaves_makes_room() -> None:
    async def scene() -> None:
        pulse = Pulse(listeners_at_most=2)
        with pulse.listen(), pulse.listen(), pytest.raises(Refused, match="2 listen already"):
            pulse.listen()
        with pulse.listen():
            pass

    play(scene())


def test_every_beat_has_a_number_and_a_group_keeps_that_of_its_last() -> None:
    pulse = Pulse()
    for group in (WEB, DB, WEB):
        pulse.beat(group)
    assert (pulse.beats(WEB), pulse.beats(DB), pulse.beats(GroupId("other"))) == (3, 2, 0)
    assert [pulse.since(number) for number in (1, 2, pulse.serial)] == [{WEB, DB}, {WEB}, frozenset()]
