"""One session for all: who logs in, how often, and when no more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import numpy as np
import pytest
from aiohttp import web

from collector.clients.http.client import HttpClient
from collector.clients.http.failures import HttpFailure
from collector.clients.nitro.async_client import AsyncNitroClient, TimedAnswer
from collector.clients.nitro.session import NitroCall, NitroLogin
from collector.samples import Layout, Reply, Sheet
from collector.targets import Round
from config.errors import TrimtabError
from config.model.access import SecretRef, Trust
from config.units import Instant, Moment, Monotonic
from tests.support.collector import a_catalogue
from tests.support.netscaler import PASSWORD, USER, FakeNetscaler, a_source, a_virtual_server, nitro, running

PATH = "stat/lbvserver/web-vip"


class Scene:
    """A session with a running appliance, on a clock that is set by hand."""

    def __init__(self, netscaler: FakeNetscaler) -> None:
        self.netscaler = netscaler
        self.now = 0.0
        self.secret: str | None = PASSWORD
        self.http = HttpClient(clock=self._clock, read_secret=self._read)
        login = NitroLogin(url=netscaler.url, user=USER, password=SecretRef(env="NS"), trust=Trust())
        self.client = AsyncNitroClient(login, self.http)

    def _clock(self) -> Moment:
        return Moment(wall=Instant(self.now), steady=Monotonic(self.now))

    def _read(self, ref: SecretRef) -> str:
        if self.secret is None:
            raise TrimtabError(f"{ref.env} is not set")
        return self.secret

    async def get(self, path: str = PATH, *, within: float = 2.0) -> TimedAnswer | HttpFailure:
        sheet = Sheet(Layout(series=(), counted=np.zeros(0, dtype=np.bool_)))
        asked = Round(catalogue=a_catalogue([]), targets=(), sheet=sheet, clock=self._clock, read_secret=self._read)
        return await self.client.get(NitroCall(path=path), asked, within=within)


def played(scene: Callable[[Scene], Awaitable[None]], **netscaler: object) -> FakeNetscaler:
    async def play() -> FakeNetscaler:
        there = FakeNetscaler(virtual_servers={"web-vip": a_virtual_server()})
        for name, value in netscaler.items():
            setattr(there, name, value)
        async with running(there):
            stage = Scene(there)
            try:
                await scene(stage)
            finally:
                await stage.client.close()
                await stage.http.close()
        return there

    return asyncio.run(play())


def kind(found: TimedAnswer | HttpFailure) -> Reply:
    return found.reply if isinstance(found, HttpFailure) else Reply.OK


def test_many_callers_at_once_share_one_login_and_leave_nothing_behind() -> None:
    async def scene(stage: Scene) -> None:
        found = await asyncio.gather(*(stage.get() for _ in range(50)))
        found += [await stage.get()]
        assert {kind(one) for one in found} == {Reply.OK}

    netscaler = played(scene)

    assert netscaler.logins == 1
    assert netscaler.sessions == set()
    assert netscaler.asked[-1] == "config/logout"


@pytest.mark.parametrize(
    "over",
    [
        lambda: nitro(401, 444, "Session expired or killed. Please login again"),
        lambda: nitro(200, 444, "Session expired or killed. Please login again"),
        lambda: nitro(599, 1027, "Authentication timed out"),
        lambda: web.Response(status=401, text="<html>"),
    ],
    ids=["401 and 444", "200 and 444", "1027", "only 401"],
)
def test_a_session_that_is_over_is_renewed_once_for_all(over: Callable[[], web.StreamResponse]) -> None:
    async def scene(stage: Scene) -> None:
        assert kind(await stage.get()) is Reply.OK
        old = set(stage.netscaler.sessions)

        def instead(path: str) -> web.StreamResponse | None:
            return over() if path == PATH and stage.netscaler.sessions == old else None

        stage.netscaler.instead = instead
        old_only = asyncio.gather(*(stage.get() for _ in range(20)))
        found = await old_only
        assert {kind(one) for one in found} == {Reply.OK}

    assert played(scene).logins == 2


def test_a_login_that_fails_while_others_wait_fails_for_them_too() -> None:
    async def scene(stage: Scene) -> None:
        stage.netscaler.instead = lambda path: web.Response(status=503)
        found = await asyncio.gather(*(stage.get() for _ in range(30)))
        assert {kind(one) for one in found} == {Reply.UNREACHABLE}
        assert stage.netscaler.asked == ["config/login"]
        stage.netscaler.instead = lambda path: None
        assert kind(await stage.get()) is Reply.OK

    played(scene)


def test_a_wrong_password_is_tried_once_and_again_only_after_a_while_that_doubles() -> None:
    async def scene(stage: Scene) -> None:
        stage.secret = "wrong"
        found = await asyncio.gather(*(stage.get() for _ in range(30)))
        assert {kind(one) for one in found} == {Reply.AUTH}
        tries = []
        for stage.now in (0.0, 59.0, 61.0, 100.0, 180.0, 182.0, 400.0):
            assert kind(await stage.get()) is Reply.AUTH
            tries.append(stage.netscaler.logins)
        assert tries == [1, 1, 2, 2, 2, 3, 3]

    played(scene)


def test_a_refusal_has_the_message_of_the_appliance_and_never_the_password() -> None:
    async def scene(stage: Scene) -> None:
        stage.secret = "wrong-one"
        stage.netscaler.instead = lambda path: (
            nitro(401, 355, "Invalid password wrong-one") if "login" in path else None
        )
        found = await stage.get()
        assert isinstance(found, HttpFailure)
        assert found.detail == "error 355: Invalid password …"
        assert "not tried again for 60 s" in (await stage.get()).detail  # type: ignore[union-attr]
        assert "wrong-one" not in repr(stage.client._session._denial)

    played(scene)


def test_an_appliance_that_repeats_the_password_in_another_answer_does_not_bring_it_into_a_log() -> None:
    async def scene(stage: Scene) -> None:
        stage.netscaler.instead = lambda path: nitro(429, 447, f"not with {PASSWORD}") if "stat/" in path else None
        found = await stage.get()
        assert isinstance(found, HttpFailure)
        assert found.detail == "error 447: not with …"

    played(scene)


def test_a_password_that_has_changed_is_tried_at_once() -> None:
    async def scene(stage: Scene) -> None:
        stage.secret = "wrong"
        assert kind(await stage.get()) is Reply.AUTH
        stage.secret = PASSWORD
        assert kind(await stage.get()) is Reply.OK

    assert played(scene).logins == 2


def test_a_secret_that_is_not_there_is_reported_and_nothing_is_asked() -> None:
    async def scene(stage: Scene) -> None:
        stage.secret = None
        found = await stage.get()
        assert found == HttpFailure(reply=Reply.AUTH, detail="NS is not set")

    assert played(scene).asked == []


def test_sessions_that_are_over_at_once_end_in_a_pause_and_not_in_a_storm() -> None:
    async def scene(stage: Scene) -> None:
        stage.netscaler.instead = lambda path: nitro(401, 444, "Session expired") if path == PATH else None
        for _ in range(10):
            assert kind(await stage.get()) is Reply.AUTH
        assert stage.netscaler.logins == 2
        stage.netscaler.instead = lambda path: None
        stage.now = 61.0
        assert kind(await stage.get()) is Reply.OK

    played(scene)


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (lambda: nitro(201, 0, "Done"), Reply.MALFORMED),
        (lambda: nitro(201, 0, "Done", sessionid="a\r\nX-Evil: 1"), Reply.MALFORMED),
        (lambda: nitro(201, 0, "Done", sessionid=7), Reply.MALFORMED),
        (lambda: nitro(200, 445, "Session limit exceeded"), Reply.RATE_LIMITED),
        (lambda: nitro(401, 1027, "Authentication timed out"), Reply.UNREACHABLE),
        (lambda: web.Response(status=503), Reply.UNREACHABLE),
        (lambda: web.Response(status=404), Reply.UNREACHABLE),
        (lambda: web.Response(status=302, headers={"Location": "/"}), Reply.MALFORMED),
        (lambda: web.Response(text="<html>"), Reply.MALFORMED),
        (lambda: web.Response(status=401), Reply.AUTH),
    ],
    ids=[
        *("no session", "a header within", "a number", "too many", "no answer from behind", "not ready", "elsewhere"),
        *("a redirect", "HTML", "401 only"),
    ],
)
def test_a_login_that_brings_no_session_fails_in_a_way_of_its_own(
    answer: Callable[[], web.StreamResponse], reply: Reply
) -> None:
    async def scene(stage: Scene) -> None:
        stage.netscaler.instead = lambda path: answer() if "login" in path else None
        assert kind(await stage.get()) is reply

    assert PATH not in played(scene).asked


def test_no_more_than_eight_questions_are_under_way_at_once() -> None:
    async def scene(stage: Scene) -> None:
        assert kind(await stage.get()) is Reply.OK
        stage.netscaler.hold = asyncio.Event()
        waiting = asyncio.gather(*(stage.get(within=30.0) for _ in range(20)))
        before = len(stage.netscaler.asked)
        for _ in range(1000):
            if len(stage.netscaler.asked) - before >= 8:
                break
            await asyncio.sleep(0.002)
        await asyncio.sleep(0.05)
        assert len(stage.netscaler.asked) - before == 8
        stage.netscaler.hold.set()
        assert {kind(one) for one in await waiting} == {Reply.OK}

    played(scene)


def test_a_caller_that_is_cancelled_while_logging_in_delays_no_other() -> None:
    async def scene(stage: Scene) -> None:
        first = asyncio.create_task(stage.get())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert kind(await stage.get()) is Reply.OK

    played(scene)


def test_sources_that_differ_only_in_their_objects_share_one_session() -> None:
    one = a_source()

    assert NitroLogin.of(one) == NitroLogin.of(replace(one, virtual_server="api-vip", service_group=None))
    assert NitroLogin.of(one) != NitroLogin.of(replace(one, user="another"))
