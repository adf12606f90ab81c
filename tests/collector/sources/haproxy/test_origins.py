"""The statistics page: against a scripted server for what is rare, against a real HAProxy for what must be true."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from aiohttp import web

from collector.clients.http.client import HttpClient
from collector.samples import Reply, Scrape
from collector.sources.haproxy.source import HaproxySource
from collector.sources.poll import Poller
from config.model.access import Basic, HaproxyStats, HttpAccess, SecretRef
from config.model.counters import Counter, CounterKind, HaproxyField, Per
from config.units import CounterId, SourceId
from tests.support.collector import Answers, a_catalogue, answers, real_clock, rosters
from tests.support.haproxy import PAGE_PASSWORD, PAGE_USER, Haproxy, requests, running_haproxy, two_servers
from tests.support.waiting import PATIENT, until

MEMBERS = {"a": "127.0.0.1", "b": "127.0.0.2"}
CSV = "# pxname,svname,scur,lastchg,type,\nweb,a,3,9,2,\nweb,b,4,9,2,\nweb,BACKEND,7,61,1,\n"
PAGE_ID = SourceId("edge")


def a_page(url: str, *, user: str = PAGE_USER, timeout: float = PATIENT) -> HaproxyStats:
    access = HttpAccess(credentials=Basic(user=user, password=SecretRef(env="PAGE")))
    return HaproxyStats(id=PAGE_ID, url=url, backend="web", access=access, timeout=timeout)


def a_field(field: str, per: Per = Per.MEMBER) -> Counter:
    source = HaproxyField(field=field, server=PAGE_ID)
    return Counter(id=CounterId(f"{field}-{per.value}"), source=source, per=per, kind=CounterKind.RISING)


async def polled(page: HaproxyStats, *counters: Counter) -> Scrape:
    http = HttpClient(clock=real_clock, read_secret=lambda ref: PAGE_PASSWORD)
    poller = Poller(clock=real_clock, read_secret=lambda ref: "", sources=[HaproxySource(http)], http=http)
    catalogue = replace(a_catalogue(counters), sources={page.id: page})
    try:
        return await poller.poll(catalogue, rosters(MEMBERS), timeout=PATIENT)
    finally:
        await poller.close()


@contextlib.asynccontextmanager
async def serving(handle: Callable[[web.Request], web.StreamResponse]) -> AsyncIterator[str]:
    """A server on the loopback; yields the address of its page."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return handle(request)

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/stats"
    finally:
        await runner.cleanup()


def scraped(handle: Callable[[web.Request], web.StreamResponse], *counters: Counter) -> Scrape:
    async def scene() -> Scrape:
        async with serving(handle) as url:
            return await polled(a_page(url), *counters)

    return asyncio.run(scene())


def test_a_page_answers_for_members_and_for_the_group() -> None:
    scrape = scraped(lambda request: web.Response(text=CSV), a_field("scur"), a_field("scur", Per.GROUP))

    assert answers(scrape) == {("a", "scur-member"): 3.0, ("b", "scur-member"): 4.0, ("", "scur-group"): 7.0}
    assert list(scrape.uptime) == [61.0, 61.0, 61.0]


def test_a_page_is_asked_once_for_its_csv_on_a_connection_of_its_own() -> None:
    seen: list[tuple[str, str | None]] = []

    def handle(request: web.Request) -> web.Response:
        seen.append((request.raw_path, request.headers.get("Connection")))
        return web.Response(text=CSV)

    scraped(handle, a_field("scur"), a_field("scur", Per.GROUP))

    assert seen == [("/stats;csv", "close")]


@pytest.mark.parametrize(
    ("response", "reply", "detail"),
    [
        (lambda: web.Response(status=401), Reply.AUTH, "the page edge: HTTP 401 Unauthorized"),
        (lambda: web.Response(status=404), Reply.UNREACHABLE, "the page edge: HTTP 404 Not Found"),
        (lambda: web.Response(status=503), Reply.UNREACHABLE, "the page edge: HTTP 503 Service Unavailable"),
        (lambda: web.Response(text="<html>Log in"), Reply.MALFORMED, "the page edge: a page of HTML, not CSV"),
        (lambda: web.Response(text=CSV[:-9]), Reply.MALFORMED, "the page edge: the answer was cut short"),
        (lambda: web.Response(body=b"\xff\xfe\x00"), Reply.MALFORMED, "the page edge: not HAProxy's statistics"),
        (lambda: web.Response(status=302, headers={"Location": "/login"}), Reply.MALFORMED, "the page edge: HTTP 302"),
    ],
    ids=["wrong password", "wrong path", "not ready", "a login page", "cut short", "garbage", "a redirect"],
)
def test_a_page_that_is_none_fails_in_a_way_of_its_own(
    response: Callable[[], web.Response], reply: Reply, detail: str
) -> None:
    scrape = scraped(lambda request: response(), a_field("scur"))

    assert set(answers(scrape).values()) == {reply}
    assert scrape.details[0].startswith(detail)


def test_a_page_where_no_program_listens_is_unreachable_and_no_member_is_to_blame() -> None:
    scrape = asyncio.run(polled(a_page("http://127.0.0.1:9/stats"), a_field("scur")))

    assert set(answers(scrape).values()) == {Reply.UNREACHABLE}


def test_neither_address_nor_password_of_a_page_is_ever_shown() -> None:
    scrape = asyncio.run(polled(a_page("http://127.0.0.1:9/hidden-path"), a_field("scur")))

    assert "hidden-path" not in "".join(scrape.details.values())
    assert PAGE_PASSWORD not in "".join(scrape.details.values())


# Against a real HAProxy.


@pytest.fixture
def balanced(tmp_path: Path) -> Iterator[Haproxy]:
    with two_servers() as ports, running_haproxy(tmp_path, {"web": ports}) as running:
        yield running


def measured(running: Haproxy, *counters: Counter, user: str = PAGE_USER) -> Scrape:
    return asyncio.run(polled(a_page(running.page, user=user), *counters))


@pytest.mark.real("haproxy")
def test_a_real_page_counts_real_requests(balanced: Haproxy) -> None:
    requests(balanced, 4)

    found: Answers = answers(measured(balanced, a_field("stot"), a_field("stot", Per.GROUP), a_field("req_tot")))

    assert [found[name, "stot-member"] for name in "ab"] == [2.0, 2.0]
    assert [found[name, "req_tot-member"] for name in "ab"] == [2.0, 2.0]
    assert found["", "stot-group"] == 4.0


@pytest.mark.real("haproxy")
def test_a_real_page_refuses_a_wrong_user(balanced: Haproxy) -> None:
    assert set(answers(measured(balanced, a_field("stot"), user="nobody")).values()) == {Reply.AUTH}


@pytest.mark.real("haproxy")
@pytest.mark.parametrize("again", [Haproxy.reload, Haproxy.restart], ids=["reload", "restart"])
def test_a_new_process_behind_a_page_is_younger_even_where_it_has_counted_further(
    balanced: Haproxy, again: Callable[[Haproxy], None]
) -> None:
    requests(balanced, 2)
    until(lambda: bool(np.all(measured(balanced, a_field("stot")).uptime >= 4)))
    before = measured(balanced, a_field("stot"))

    again(balanced)
    requests(balanced, 4)
    after = measured(balanced, a_field("stot"))

    assert (after.value > before.value).all()
    assert after.uptime.max() < before.uptime.min()


@pytest.mark.real("haproxy")
def test_states_that_outlive_a_reload_in_a_file_make_no_page_older(tmp_path: Path) -> None:
    state = tmp_path / "states"
    state.touch()
    with (
        two_servers() as ports,
        running_haproxy(tmp_path, {"web": ports}, more=f"server-state-file {state}") as running,
    ):
        config = running.config.read_text().replace("defaults\n", "defaults\n    load-server-state-from-file global\n")
        running.config.write_text(config)
        until(lambda: bool(np.all(measured(running, a_field("lastchg")).value >= 3)))
        state.write_text(running.ask("show servers state"))
        before = measured(running, a_field("lastchg"))

        running.reload()
        after = measured(running, a_field("lastchg"))

    assert (after.value >= before.value - 1).all()  # the servers', out of the file; each end of the span is rounded
    assert after.uptime.max() < before.uptime.min()
