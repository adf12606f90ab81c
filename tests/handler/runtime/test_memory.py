"""The garbage collector settles what stays, and picks its moments."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest

from handler.runtime import memory


class Stopped(Exception):
    """As if the daemon stopped."""


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def _settled(monkeypatch: pytest.MonkeyPatch, pauses: int, busy: int = 0) -> list[str]:
    """What the collector was told, until as many pauses are over; ``busy``: how many looks find somebody waiting."""
    told: list[str] = []
    looks = iter([True] * busy)
    monkeypatch.setattr(gc, "collect", lambda generation=2: told.append(f"collect {generation}"))
    monkeypatch.setattr(gc, "freeze", lambda: told.append("freeze"))
    monkeypatch.setattr(gc, "unfreeze", lambda: told.append("unfreeze"))

    async def pause(seconds: float) -> None:
        if sum(line.startswith("pause") for line in told) == pauses:
            raise Stopped
        told.append(f"pause {seconds:.0f}")

    with pytest.raises(Stopped):
        asyncio.run(memory.keep_settled(lambda: next(looks, False), pause))
    monkeypatch.undo()
    return told


def test_what_came_since_the_start_settles_without_a_search_of_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told = _settled(monkeypatch, pauses=1)
    assert told == ["unfreeze", "collect 2", "freeze", "pause 30", "collect 1", "freeze"]


def test_every_few_hours_all_of_it_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    told = _settled(monkeypatch, pauses=3)
    assert told[6:] == [
        "pause 21600",
        "unfreeze",
        "collect 2",
        "freeze",
        "pause 21600",
        "unfreeze",
        "collect 2",
        "freeze",
    ]


def test_a_search_of_all_waits_until_nobody_is_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    told = _settled(monkeypatch, pauses=4, busy=2)
    assert told[6:] == ["pause 21600", "pause 1", "pause 1", "unfreeze", "collect 2", "freeze"]


def test_it_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_LOOKS", 2)
    assert "collect 2" in _settled(monkeypatch, pauses=4, busy=99)[6:]


def test_rounds_of_the_young_are_short() -> None:
    """At a hundred thousand objects a round takes as long as the event loop may be held."""

    async def scene() -> None:
        task = asyncio.create_task(memory.keep_settled(lambda: False))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(scene())
    youngest, rounds, _ = gc.get_threshold()
    assert youngest * rounds <= 20_000
