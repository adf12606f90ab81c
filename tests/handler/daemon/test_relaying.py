"""A request to a standby is carried out once, by the holder; its caller learns what became of it."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from config.errors import Refused, StoreError
from config.units import Monotonic
from handler.daemon import carrying_out as carrying_out_module
from handler.daemon import relaying
from handler.daemon.relaying import Asking, OutcomeUnknown, RelayThreads
from handler.daemon.waking import LookEvery, Wakes
from handler.leasing.relaying import PutDown
from handler.sealing.key_sources import OwnKeyFile
from handler.sealing.seal import Seal
from handler.web import relayed
from handler.web.gate import Receive, Scope, Send
from handler.web.relayed import (
    AnswerTooLong,
    CannotRelay,
    HolderAnswer,
    Listener,
    RelayedAnswer,
)
from tests.support.relayed import ORIGIN, REQUEST, Echo, Rows, carrying_out, seal
from tests.support.waiting import PATIENT
from tests.support.wakes import NoSession


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = LookEvery(heard=PATIENT, unheard=0.001)
    monkeypatch.setattr(relaying, "_LOOKS", at_once)
    monkeypatch.setattr(carrying_out_module, "_TAKES_UP", at_once)


def asking(rows: Any, own: Seal) -> Asking:
    return Asking(rows, lambda: own, "b", lambda: Monotonic(0.0), Wakes(NoSession()), RelayThreads())


def test_the_holder_sees_the_request_as_it_was_and_its_answer_comes_back(tmp_path: Path) -> None:
    rows, app = Rows(), Echo()

    async def play() -> RelayedAnswer:
        async with carrying_out(rows, seal(tmp_path / "key"), app, 4).running():
            return await asking(rows, seal(tmp_path / "key")).relay(REQUEST)

    assert asyncio.run(play()) == RelayedAnswer(status=202, headers=(("x-of", "echo"), *ORIGIN), body=b"\x00{}!")
    (scope,) = app.scopes
    assert (scope["path"], scope["raw_path"]) == ("/api/v1/groups/web a/size", b"/api/v1/groups/web%20a/size")
    assert (scope["client"], scope["headers"]) == (("uid 7 on worker b", 0), [(b"a", b"b")])
    assert not rows.put


def test_what_came_over_tcp_is_answered_as_over_tcp_for_the_client_that_the_standby_saw(tmp_path: Path) -> None:
    rows, unix, tcp, own = Rows(), Echo(), Echo(), seal(tmp_path / "key")
    request = replace(REQUEST, listener=Listener.TCP, scheme="https", peer="192.0.2.7")

    async def play() -> None:
        async with carrying_out(rows, own, unix, 4, tcp).running():
            await asking(rows, own).relay(request)

    asyncio.run(play())
    (scope,) = tcp.scopes
    assert (scope["client"], scope["scheme"], unix.scopes) == (("192.0.2.7", 0), "https", [])


@pytest.mark.parametrize(("method", "is_kept"), [("GET", False), ("POST", True)])
def test_of_what_is_read_over_tcp_a_long_answer_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, is_kept: bool
) -> None:
    monkeypatch.setattr(relayed, "ANSWER_AT_MOST", 100)
    rows, tcp, own = Rows(), Echo(), seal(tmp_path / "key")
    request = replace(REQUEST, listener=Listener.TCP, method=method, body=bytes(100))

    async def play() -> HolderAnswer:
        async with carrying_out(rows, own, Echo(), 4, tcp).running():
            return await asking(rows, own).relay(request)

    assert isinstance(asyncio.run(play()), RelayedAnswer if is_kept else AnswerTooLong)


def test_requests_over_tcp_that_hold_the_holder_up_do_not_delay_those_over_unix_sockets(tmp_path: Path) -> None:
    rows, own, go_on, held_up = Rows(), seal(tmp_path / "key"), asyncio.Event(), Echo()

    async def held(scope: Scope, receive: Receive, send: Send) -> None:
        await go_on.wait()
        await held_up(scope, receive, send)

    async def play() -> None:
        async with carrying_out(rows, own, Echo(), 4, held).running():
            flood = replace(REQUEST, listener=Listener.TCP)
            waiting = [asyncio.create_task(asking(rows, own).relay(flood)) for _ in range(40)]
            assert isinstance(await asking(rows, own).relay(REQUEST), RelayedAnswer)
            assert not any(each.done() for each in waiting)
            go_on.set()
            await asyncio.gather(*waiting)

    asyncio.run(play())
    assert len(held_up.scopes) == 40


def test_a_database_that_hangs_holds_up_no_request_of_another_worker_of_the_process(tmp_path: Path) -> None:
    goes_on = threading.Event()

    class Hanging(Rows):
        def epoch(self) -> int:
            goes_on.wait(PATIENT)
            return super().epoch()

    async def play() -> bool:
        own, rows = seal(tmp_path / "key"), Rows()
        elsewhere = asking(Hanging(), own)
        hanging = [asyncio.create_task(elsewhere.relay(REQUEST)) for _ in range(9)]
        async with carrying_out(rows, own, Echo(), 4).running():
            assert isinstance(await asking(rows, own).relay(REQUEST), RelayedAnswer)
        is_hanging = not any(each.done() for each in hanging)
        goes_on.set()
        for each in hanging:
            each.cancel()
        return is_hanging

    assert asyncio.run(play())


def test_nothing_that_travels_is_readable_without_the_key(tmp_path: Path) -> None:
    rows = Rows()

    async def play() -> None:
        waiting = asyncio.create_task(asking(rows, seal(tmp_path / "key")).relay(REQUEST))
        put = await rows.arrives()
        assert "size" not in put.request
        waiting.cancel()

    asyncio.run(play())


def test_a_request_that_its_holder_left_behind_may_have_been_carried_out_and_is_not_tried_again(tmp_path: Path) -> None:
    rows = Rows()

    async def play() -> None:
        waiting = asyncio.create_task(asking(rows, seal(tmp_path / "key")).relay(REQUEST))
        put = await rows.arrives()
        assert rows.take_up(4) == (put,)
        rows.now = 5
        assert rows.take_up(5) == ()
        with pytest.raises(Refused, match="may have been carried out, so look before you repeat it"):
            await waiting

    asyncio.run(play())


def test_a_request_that_waits_while_the_lease_changes_hands_is_carried_out_by_the_next_holder(tmp_path: Path) -> None:
    rows, app = Rows(), Echo()

    async def play() -> None:
        waiting = asyncio.create_task(asking(rows, seal(tmp_path / "key")).relay(REQUEST))
        await rows.arrives()
        rows.now = 5
        async with carrying_out(rows, seal(tmp_path / "key"), app, 5).running():
            assert (await waiting).status == 202

    asyncio.run(play())
    assert len(app.scopes) == 1


@pytest.mark.parametrize("epoch", [4, 5])
def test_a_request_that_another_hand_puts_down_again_is_not_carried_out(tmp_path: Path, epoch: int) -> None:
    rows, app, own = Rows(), Echo(), seal(tmp_path / "key")

    async def play() -> None:
        holder = carrying_out(rows, own, app, 4)
        async with holder.running():
            waiting = asyncio.create_task(asking(rows, own).relay(REQUEST))
            kept = await rows.arrives()
            await waiting
        rows.now = epoch
        rows.put_down(replace(kept, epoch=epoch))
        later = holder if epoch == 4 else carrying_out(rows, own, app, epoch)
        async with later.running():
            while rows.progresses[kept.id].answer is None:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        assert rows.progresses[kept.id].answer == ""

    asyncio.run(play())
    assert len(app.scopes) == 1


def test_a_worker_that_is_no_standby_any_more_withdraws_what_waits(tmp_path: Path) -> None:
    rows = Rows()

    async def play() -> None:
        ours = asking(rows, seal(tmp_path / "key"))
        ours.ended.set()
        with pytest.raises(Refused, match="nothing was done; try again"):
            await ours.relay(REQUEST)

    asyncio.run(play())


@dataclass
class LostAnswers(Rows):
    """Rows of a database that writes a request, and is away before it has said so."""

    is_taken_up: bool = False
    is_away: bool = False
    """Also when the request is to be withdrawn."""

    def put_down(self, request: PutDown) -> None:
        super().put_down(request)
        if self.is_taken_up:
            assert self.take_up(self.now) == (request,)
        raise StoreError("the store cannot be reached")

    def withdraw(self, row: str) -> bool:
        if self.is_away:
            raise StoreError("the store cannot be reached")
        return super().withdraw(row)


def test_a_request_that_was_written_though_the_database_did_not_say_so_is_withdrawn(tmp_path: Path) -> None:
    rows = LostAnswers()
    with pytest.raises(StoreError, match="the store cannot be reached"):
        asyncio.run(asking(rows, seal(tmp_path / "key")).relay(REQUEST))
    assert not rows.put


@pytest.mark.parametrize("rows", [LostAnswers(is_taken_up=True), LostAnswers(is_away=True)], ids=["taken up", "away"])
def test_a_request_that_may_have_been_written_and_cannot_be_withdrawn_is_not_called_undone(
    tmp_path: Path, rows: LostAnswers
) -> None:
    with pytest.raises(OutcomeUnknown, match="it may have been carried out, or may still be, so look before you rep"):
        asyncio.run(asking(rows, seal(tmp_path / "key")).relay(REQUEST))


def test_a_holder_with_another_key_carries_nothing_out(tmp_path: Path) -> None:
    rows, app = Rows(), Echo()

    async def play() -> None:
        async with carrying_out(rows, seal(tmp_path / "other"), app, 4).running():
            with pytest.raises(CannotRelay, match=r"is not the holder's \(copy that here\), .*; nothing was done"):
                await asking(rows, seal(tmp_path / "key")).relay(REQUEST)

    asyncio.run(play())
    assert not app.scopes


def test_a_worker_without_a_key_says_what_to_copy(tmp_path: Path) -> None:
    own = Seal(OwnKeyFile(tmp_path / "key"))
    own.load()
    with pytest.raises(
        CannotRelay, match=r"cannot pass requests on without the key in .*: copy it from the holder.*none there yet"
    ):
        asyncio.run(asking(Rows(), own).relay(REQUEST))
