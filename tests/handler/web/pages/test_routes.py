from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from config.units import GroupId
from handler.daemon.serving import bind_tcp, bind_unix, serving
from handler.runtime.pulse import Pulse
from tests.support.engines import WEB, EngineBed, Up, model
from tests.support.waiting import PATIENT


@dataclass
class Site:
    """A daemon that serves over real sockets, in this process."""

    up: Up
    port: int
    close: Callable[[], Awaitable[None]]

    async def get(self, path: str) -> tuple[int, dict[str, str], str]:
        """Status, headers, body."""
        reader, writer = await self.ask(path)
        try:
            async with asyncio.timeout(PATIENT):
                status, headers = await head_of(reader)
                return status, headers, (await reader.readexactly(int(headers["content-length"]))).decode()
        finally:
            writer.close()

    async def ask(self, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n\r\n".encode())
        return reader, writer

    @contextlib.asynccontextmanager
    async def events(self, path: str = "/events") -> AsyncIterator[Events]:
        reader, writer = await self.ask(path)
        try:
            async with asyncio.timeout(PATIENT):
                status, headers = await head_of(reader)
            yield Events(reader, status, headers)
        finally:
            writer.close()


@dataclass
class Events:
    reader: asyncio.StreamReader
    status: int
    headers: dict[str, str]

    async def next(self, name: str) -> Any:
        """What the next event of this name tells; ``None`` at the end of the stream."""
        async with asyncio.timeout(PATIENT):
            seen = ""
            while line := (await self.reader.readline()).decode():
                if line.startswith("event: "):
                    seen = line.removeprefix("event: ").strip()
                if line.startswith("data: ") and seen == name:
                    return json.loads(line.removeprefix("data: "))
        return None


async def head_of(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    pairs = (line.split(": ", 1) for line in lines if line)
    return int(status.split()[1]), {key.lower(): value for key, value in pairs}


def play(scene: Callable[[Site], Awaitable[None]], place: Path, text: str | None = None) -> None:
    """Play a scene while a daemon over a fleet in memory serves."""

    async def whole() -> None:
        async with EngineBed(place, text or model()).running() as up, contextlib.AsyncExitStack() as stack:
            tcp = stack.enter_context(bind_tcp("127.0.0.1", 0))
            unix = stack.enter_context(bind_unix(place / "s"))
            await stack.enter_async_context(serving(up.operations, up.engine, unix, tcp, "token"))
            await up.grown(2)
            await scene(Site(up, tcp.getsockname()[1], stack.aclose))

    asyncio.run(whole())


def test_the_pages_are_whole_without_a_script_and_allow_nothing_from_elsewhere(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        await site.up.ticked(3)
        assert (await site.get("/groups/web/setup"))[0] == 200
        for path in ("/", "/groups/web"):
            status, headers, body = await site.get(path)
            assert status == 200
            assert headers["content-type"] == "text/html; charset=utf-8"
            assert headers["content-security-policy"].startswith("default-src 'self';")
            assert headers["x-content-type-options"] == "nosniff"
            assert "in service" in body.lower()
            assert "<path" in body
            assert not re.findall(r'(?:src|href)="(?!/|#|\?)', body)
            assert "style=" not in body

    play(scene, tmp_path)


def test_everything_that_a_page_links_to_is_there(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        _, _, body = await site.get("/")
        links = re.findall(r'(?:src|href)="(/[^"]*)"', body)
        assert len(links) >= 5
        for link in links:
            status, headers, _ = await site.get(link)
            assert status == 200, link
            assert "immutable" in headers["cache-control"] or not link.startswith("/static")

    play(scene, tmp_path)


@pytest.mark.parametrize(
    "path", ["/groups/wep", "/groups/wep/setup", "/events?group=wep", "/static/api.py", "/static/..%2froutes.py"]
)
def test_what_is_not_there_is_not_found(tmp_path: Path, path: str) -> None:
    async def scene(site: Site) -> None:
        status, _, body = await site.get(path)
        assert status == 404
        assert "did you mean web?" in body or "wep" not in path

    play(scene, tmp_path)


def test_an_unknown_group_is_answered_as_text_whatever_its_name(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        status, _, body = await site.get("/groups/%3Cimg%20src=x%3E")
        assert status == 404
        assert "<img" not in body
        assert "&lt;img" in body

    play(scene, tmp_path)


def test_a_tick_comes_as_an_event_with_the_parts_of_the_page(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        async with site.events("/events?group=web") as events:
            assert events.headers["content-type"].startswith("text/event-stream")
            assert events.headers["cache-control"] == "no-store"
            first = await events.next("tick")
            assert first["parts"].keys() == {"head", "sizes", "conditions", "now", "decisions", "members", "fleet"}
            await site.up.operations.scale(WEB, 4, force=False, by="<b>ada</b>")
            async with asyncio.timeout(PATIENT):
                while "scaled out 2 → 4" not in (data := (await events.next("tick"))["parts"]["decisions"]):
                    pass
            assert "&lt;b&gt;ada&lt;/b&gt;" in data

    play(scene, tmp_path)


def test_the_overview_gets_lines_of_changed_and_of_new_groups_and_parts_only_when_they_change(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        async with site.events() as events:
            first = await events.next("tick")
            assert first["parts"].keys() == {"summary", "messages", "fleet"}
            assert first["rows"].keys() == {"web"}
            assert (await events.next("tick"))["parts"] == {}
            text = model()
            second = text[text.index("  web:\n") :].replace("  web:\n", "  second:\n")
            site.up.bed.declare(text + second)
            await site.up.operations.reload()
            async with asyncio.timeout(PATIENT):
                while "second" not in (data := await events.next("tick"))["rows"]:
                    pass
            assert 'data-name="second"' in data["rows"]["second"]

    play(scene, tmp_path)


def test_a_page_that_connects_again_learns_what_it_has_missed(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        here = re.search(r'data-stream="([^"]+)"', (await site.get("/"))[2])
        assert here is not None
        site.up.operations.pulse.beat(GroupId("left"))
        async with site.events(here[1]) as events:
            assert (await events.next("tick"))["gone"] == ["left"]
        async with site.events("/events?since=anotherlife.7") as events:
            assert (data := await events.next("tick"))["rows"].keys() == {"web"}
            assert data["gone"] == []

    play(scene, tmp_path, model(interval="1h"))


@pytest.mark.parametrize(
    ("query", "shown"),
    [("", True), ("?q=WE", True), ("?q=we+quiet", False), ("?state=trouble", False), ("?state=error", False)],
)
def test_the_address_chooses_the_groups_that_are_shown(tmp_path: Path, query: str, shown: bool) -> None:
    async def scene(site: Site) -> None:
        status, _, page = await site.get(f"/{query}")
        assert status == 200
        assert ('<li class="row" data-name="web"' in page) is shown
        assert ("No group fits" in page) is not shown

    play(scene, tmp_path)


def test_an_unknown_state_or_order_is_refused(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        for query in ("?state=fine", "?sort=best"):
            assert (await site.get(f"/{query}"))[0] == 422

    play(scene, tmp_path)


def test_without_news_there_is_a_heartbeat(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        await site.up.passed(1)
        site.up.operations.pulse.heartbeat = 0.05
        async with site.events("/events?group=web") as events:
            first, second = await events.next("beat"), await events.next("beat")
            assert second["now"] > first["now"]
            assert second["every"] == 0.05

    play(scene, tmp_path, model(interval="1h"))


def test_the_streams_end_with_the_daemon_without_delaying_its_end(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        async with site.events() as one, site.events("/events?group=web") as two:
            await asyncio.gather(one.next("beat"), two.next("beat"))
            async with asyncio.timeout(2.0):  # less than the server would wait for an open answer
                ended = await asyncio.gather(site.close(), one.next("never"), two.next("never"))
            assert ended[1:] == [None, None]

    play(scene, tmp_path)


def test_a_group_that_is_deleted_ends_its_stream_with_a_word(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        async with site.events("/events?group=web") as events:
            await events.next("beat")
            site.up.bed.declare(model().replace("  web:\n", "  other:\n"))
            await site.up.operations.reload()
            await site.up.operations.delete(WEB, members=False, by="ada")
            assert "now" in await events.next("gone")
            assert await events.next("never") is None

    play(scene, tmp_path)


def test_listeners_are_limited_and_one_that_leaves_frees_a_place(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        site.up.engine.reports.recent.pulse = Pulse(listeners_at_most=1)
        async with site.events() as events:
            await events.next("beat")
            status, headers, body = await site.get("/events")
            assert (status, headers["retry-after"]) == (503, "10")
            assert "listen already" in body
        async with asyncio.timeout(PATIENT):
            while (await _status_of(site, "/events")) != 200:  # noqa: ASYNC110  the server notices by itself
                await asyncio.sleep(0.01)

    play(scene, tmp_path)


async def _status_of(site: Site, path: str) -> int:
    async with site.events(path) as events:
        return events.status


def test_the_series_are_columns_of_one_length_with_null_for_what_is_not_known(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        await site.up.ticked(4)
        status, _, text = await site.get("/api/v1/groups/web/series")
        body = json.loads(text)
        assert status == 200
        assert {len(column) for column in body["sizes"].values()} == {len(body["sizes"]["at"])}
        for curve in body["curves"]:
            assert len(curve["values"]) == len(curve["thresholds"]) == len(body["judged_at"])
        assert [curve["condition"] for curve in body["curves"]] == ["high", "low"]
        assert body["curves"][0]["values"][0] is None  # no member had been asked yet
        assert body["curves"][0]["values"][-1] == 50.0
        assert {mark["name"] for mark in body["marks"]} >= {"first_listing"}
        described = json.loads((await site.get("/api/v1/openapi.json"))[2])
        assert set(described["components"]["schemas"]["SeriesBody"]["properties"]) == body.keys()

    play(scene, tmp_path)


def test_every_page_says_that_the_whole_fleet_is_paused(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        operations = site.up.operations
        assert "fleet-pause" not in (await site.get("/"))[2]
        await operations.pauses.pause_all(decisions_only=False, because="<i>storage</i>", by="<b>ada</b>")
        for path in ("/", "/groups/web", "/groups/unknown"):
            page = (await site.get(path))[2]
            assert "The whole fleet: paused" in page
            assert "&lt;i&gt;storage&lt;/i&gt;" in page
            assert "&lt;b&gt;ada&lt;/b&gt;" in page
        async with site.events() as events:
            await events.next("tick")
            await operations.pauses.resume_all(by="ada")
            async with asyncio.timeout(PATIENT):
                while (await events.next("tick"))["parts"]["fleet"]:
                    pass

    play(scene, tmp_path)
