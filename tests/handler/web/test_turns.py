from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from handler.web.gate import BEARER, Message, Receive, Scope, Send
from handler.web.turns import RequestTurns
from tests.support.waiting import PATIENT


@dataclass
class Pages:
    """An application whose pages are made when the test says so."""

    begun: list[str] = field(default_factory=list)
    made: asyncio.Event = field(default_factory=asyncio.Event)
    read: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun.append(scope["path"])
        await self.made.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await self.read.wait()
        await send({"type": "http.response.body", "body": b""})


async def ask(turns: RequestTurns, path: str, *, method: str = "GET", bearer: bool = False) -> int:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await turns({"type": "http", "method": method, "path": path, BEARER: bearer}, receive, send)
    status: int = sent[0]["status"]
    return status


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def play(scene: Callable[[Pages], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENT), asyncio.TaskGroup() as group:
            await group.create_task(scene(Pages()))

    asyncio.run(run())


def test_only_so_many_pages_are_made_at_once_and_the_others_in_their_order() -> None:
    async def scene(pages: Pages) -> None:
        turns = RequestTurns(pages, at_once=2)
        asked = [asyncio.create_task(ask(turns, path)) for path in ("/1", "/2", "/3", "/4")]
        await settle()
        assert pages.begun == ["/1", "/2"]
        pages.made.set()
        pages.read.set()
        assert await asyncio.gather(*asked) == [200] * 4
        assert pages.begun == ["/1", "/2", "/3", "/4"]

    play(scene)


def test_a_client_that_does_not_read_its_answer_holds_no_turn() -> None:
    async def scene(pages: Pages) -> None:
        turns = RequestTurns(pages, at_once=1)
        pages.made.set()
        asked = [asyncio.create_task(ask(turns, path)) for path in ("/unread", "/next")]
        await settle()
        assert pages.begun == ["/unread", "/next"]
        pages.read.set()
        await asyncio.gather(*asked)

    play(scene)


@pytest.mark.parametrize(
    ("path", "method", "bearer"),
    [("/healthz", "GET", False), ("/readyz", "GET", False), ("/1", "GET", True), ("/hooks/alerts", "POST", False)],
    ids=["alive", "ready", "token", "change"],
)
def test_what_must_be_answered_waits_for_no_turn(path: str, method: str, bearer: bool) -> None:
    async def scene(pages: Pages) -> None:
        turns = RequestTurns(pages, at_once=1)
        crowd = [asyncio.create_task(ask(turns, "/page")) for _ in range(10)]
        await settle()
        asked = asyncio.create_task(ask(turns, path, method=method, bearer=bearer))
        await settle()
        assert pages.begun == ["/page", path]
        pages.made.set()
        pages.read.set()
        await asyncio.gather(asked, *crowd)

    play(scene)


@pytest.mark.parametrize(("waiting_at_most", "within"), [(3, 60.0), (100, 0.01)], ids=["too many", "too long"])
def test_one_that_cannot_have_its_turn_is_answered_so(waiting_at_most: int, within: float) -> None:
    async def scene(pages: Pages) -> None:
        turns = RequestTurns(pages, at_once=1, waiting_at_most=waiting_at_most, within=within)
        asked = [asyncio.create_task(ask(turns, "/page")) for _ in range(1 + 3 + 2)]
        done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        assert {task.result() for task in done} == {503}
        pages.made.set()
        pages.read.set()
        assert sorted(await asyncio.gather(*asked))[0] == 200

    play(scene)


def test_a_page_that_fails_gives_its_turn_back() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise LookupError(scope["path"])

    async def scene(_: Pages) -> None:
        turns = RequestTurns(broken, at_once=1, within=1.0)
        for _ in range(3):
            with pytest.raises(LookupError):
                await ask(turns, "/1")

    play(scene)
