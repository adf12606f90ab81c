from __future__ import annotations

import asyncio
import gc
import io
from collections.abc import Iterator

import pytest

from config.errors import StoreError
from config.units import Instant, Moment
from handler import logs
from handler.runtime import loops
from handler.runtime.loops import Guard, RefusalLooks, until_beat, until_set, whole


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    logs.configure(stream=stream)
    yield stream
    logs.configure()


def rounds(*outcomes: Exception | None) -> list[str | None]:
    """The log of the rounds of one guarded loop, each of which fails as given."""
    guard = Guard("tick", group="web")

    async def play() -> list[str | None]:
        return [await guard.run(lambda outcome=outcome: once(outcome)) for outcome in outcomes]

    async def once(outcome: Exception | None) -> str:
        if outcome is not None:
            raise outcome
        return "done"

    return asyncio.run(play())


def test_a_round_that_fails_does_not_stop_the_loop(log: io.StringIO) -> None:
    assert rounds(ValueError("odd"), None) == [None, "done"]


def test_trouble_is_logged_when_it_begins_and_when_it_ends_and_not_in_between(log: io.StringIO) -> None:
    rounds(None, *[StoreError("no room")] * 5, None, None, StoreError("no room"))
    lines = [line.split(" ", 2)[2] for line in log.getvalue().splitlines()]
    began = 'event=tick_not_recorded error="no room" group=web'
    assert lines == [began, "event=tick_works_again group=web", began]


def test_other_trouble_is_reported_too(log: io.StringIO) -> None:
    rounds(StoreError("no room"), ValueError("odd"))
    assert 'event=tick_failed error="ValueError: odd"' in log.getvalue()


def test_what_libraries_say_becomes_one_line_like_ours(log: io.StringIO) -> None:
    import logging

    try:
        raise RuntimeError("two\nlines")
    except RuntimeError:
        logging.getLogger("asyncio").exception("a task\nfailed")
    [line] = log.getvalue().splitlines()
    assert 'event=library logger=asyncio message="a task\\nfailed" error="RuntimeError: two\\nlines"' in line
    assert "test_loops.py:" in line


def test_what_waits_for_beats_meets_there_whenever_it_began_to_wait() -> None:
    waits = ((50.0, 0.25), (50.013, 0.2), (50.04, 0.2), (50.1, 0.2), (50.199, 0.05))
    assert {round(now + until_beat(after, now), 6) for now, after in waits} == {50.3}


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


def test_a_cancellation_takes_effect_only_after_the_work() -> None:
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


class Stopped(Exception):
    """As if the daemon stopped."""


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def _settled(monkeypatch: pytest.MonkeyPatch, pauses: int, busy: int = 0) -> list[str]:
    """The calls to the collector, until so many pauses are over; ``busy``: how many looks find a waiting request."""
    events: list[str] = []
    looks = iter([True] * busy)
    monkeypatch.setattr(gc, "collect", lambda generation=2: events.append(f"collect {generation}"))
    monkeypatch.setattr(gc, "freeze", lambda: events.append("freeze"))
    monkeypatch.setattr(gc, "unfreeze", lambda: events.append("unfreeze"))

    async def pause(seconds: float) -> None:
        if sum(line.startswith("pause") for line in events) == pauses:
            raise Stopped
        events.append(f"pause {seconds:.0f}")

    with pytest.raises(Stopped):
        asyncio.run(loops.keep_settled(lambda: next(looks, False), pause))
    monkeypatch.undo()
    return events


def test_what_came_since_the_start_settles_without_a_search_of_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    events = _settled(monkeypatch, pauses=1)
    assert events == ["unfreeze", "collect 2", "freeze", "pause 30", "collect 1", "freeze"]


def test_every_few_hours_all_of_it_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    events = _settled(monkeypatch, pauses=3)
    assert events[6:] == [
        "pause 21600",
        "unfreeze",
        "collect 2",
        "freeze",
        "pause 21600",
        "unfreeze",
        "collect 2",
        "freeze",
    ]


def test_a_full_collection_waits_until_it_delays_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    events = _settled(monkeypatch, pauses=4, busy=2)
    assert events[6:] == ["pause 21600", "pause 1", "pause 1", "unfreeze", "collect 2", "freeze"]


def test_it_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "_QUIET_LOOKS", 2)
    assert "collect 2" in _settled(monkeypatch, pauses=4, busy=99)[6:]


def test_rounds_of_the_young_are_short() -> None:
    """At a hundred thousand objects a round takes as long as the event loop may be held."""

    async def scene() -> None:
        task = asyncio.create_task(loops.keep_settled(lambda: False))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(scene())
    youngest, rounds, _ = gc.get_threshold()
    assert youngest * rounds <= 20_000


def test_a_flood_of_refusals_has_few_groups_looked_at() -> None:
    looks = RefusalLooks()
    instants = [number / 1000 for number in range(10_000)]  # a thousand a second for ten seconds

    granted = [at for at in instants if looks.granted(Moment(wall=Instant(at), steady=at))]

    assert len([at for at in granted if at < 1.0]) in range(20, 31)
    assert len(granted) in range(110, 121)


def test_refusals_now_and_then_have_their_groups_looked_at() -> None:
    looks = RefusalLooks()

    assert all(looks.granted(Moment(wall=Instant(at), steady=at)) for at in range(0, 600, 5))
