from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator

import pytest

from config.errors import StoreError
from handler import logs
from handler.runtime.guard import Guard


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    logs.configure(stream=stream)
    yield stream
    logs.configure()


def rounds(*outcomes: Exception | None) -> list[str | None]:
    """What the rounds of one guarded loop give, each of which fails as told."""
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


def test_trouble_is_told_when_it_begins_and_when_it_ends_and_not_in_between(log: io.StringIO) -> None:
    rounds(None, *[StoreError("no room")] * 5, None, None, StoreError("no room"))
    told = [line.split(" ", 2)[2] for line in log.getvalue().splitlines()]
    began = 'event=tick_not_recorded error="no room" group=web'
    assert told == [began, "event=tick_works_again group=web", began]


def test_other_trouble_is_told_too(log: io.StringIO) -> None:
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
    assert "test_guard.py:" in line
