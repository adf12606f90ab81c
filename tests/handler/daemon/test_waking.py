"""A notification ends a wait at once; without notifications it is looked all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from config.units import Seconds
from handler.daemon import waking
from handler.daemon.waking import LookEvery, Wakes
from tests.support.waiting import PATIENT
from tests.support.wakes import FakeSession, NoSession

AT_A_NOTIFICATION = LookEvery(heard=PATIENT, unheard=PATIENT)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waking, "_AGAIN", 0.001)


def play(session: FakeSession, act: Callable[[Wakes], Awaitable[None]], within: Seconds = PATIENT / 2) -> None:
    """Act while notifications are heard, in less time than it takes until one looks all the same."""

    async def whole() -> None:
        wakes = Wakes(session)
        async with asyncio.timeout(within), wakes.listening():
            await heard(wakes)
            await act(wakes)

    asyncio.run(whole())


async def heard(wakes: Wakes) -> None:
    while not wakes.are_heard:  # noqa: ASYNC110
        await asyncio.sleep(0.001)


def test_a_notification_wakes_what_waits_for_it_also_if_it_came_before_the_wait() -> None:
    session = FakeSession()

    async def act(wakes: Wakes) -> None:
        with wakes.expecting("r1") as one, wakes.expecting("r2") as two:
            session.notify("r1")
            session.notify("r3")
            await wakes.next_look(one, AT_A_NOTIFICATION)
            assert (one.is_set(), two.is_set()) == (False, False)

    play(session, act)


def test_after_a_loss_it_is_listened_anew_and_all_is_looked_at(caplog: pytest.LogCaptureFixture) -> None:
    session = FakeSession()

    async def act(wakes: Wakes) -> None:
        with wakes.expecting("r1") as one:
            session.lose()
            await wakes.next_look(one, AT_A_NOTIFICATION)
            session.notify("r1")
            await wakes.next_look(one, AT_A_NOTIFICATION)

    play(session, act)
    assert session.connects == 2
    assert "waking_interrupted" in caplog.text


def test_while_nothing_can_be_heard_it_is_looked_from_time_to_time() -> None:
    async def act() -> None:
        wakes = Wakes(NoSession())
        async with asyncio.timeout(PATIENT / 2), wakes.listening():
            with wakes.expecting("r1") as one:
                await wakes.next_look(one, LookEvery(heard=PATIENT, unheard=0.001))
            assert not wakes.are_heard

    asyncio.run(act())
