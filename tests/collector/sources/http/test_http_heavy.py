"""Members that show pages of many megabytes: they are late themselves, and no other group is."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from collector.samples import Reply
from collector.sources.http.source import HttpSource
from config.model.access import OPEN
from config.model.counters import Counter, HttpValue, MemberAddress, MetricPick
from config.units import CounterId
from tests.support.collector import a_catalogue, a_poller, answers, rosters
from tests.support.http_servers import a_client, a_response, a_server, says
from tests.support.ports import free_tcp_port
from tests.support.waiting import PATIENT, scaled, stopped

MIB = 1 << 20
_ROUNDS = 6
MEMBERS = {f"m{place}": f"127.0.0.{place}" for place in range(1, 5)}
TEXT = {"Content-Type": "text/plain; version=0.0.4"}
SERVER = """\
import http.server, sys, threading
line = b'%s{handler="/buy",place="%06d",instance="10.0.0.1:9100"} 5\\n'
page = b"load 5\\n" + b"".join(line % (sys.argv[1].encode(), place) for place in range(156_000))
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)
    def log_message(self, *_):
        pass
port, addresses = int(sys.argv[2]), sys.argv[3:]
servers = [http.server.ThreadingHTTPServer((address, port), Handler) for address in addresses]
print(len(page), flush=True)
for server in servers:
    threading.Thread(target=server.serve_forever).start()
"""
"""In a process of its own, as members are; all lines but the first are of the metric that it is told."""


@contextlib.contextmanager
def showing(metric: str) -> Iterator[int]:
    port = free_tcp_port()
    command = [sys.executable, "-c", SERVER, metric, str(port), *MEMBERS.values()]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with stopped(process):
        assert process.stdout is not None
        assert int(process.stdout.readline()) > 9.4e6
        process.stdout.close()
        yield port


def a_load(port: int, *, id: str = "load", limit: int | None = None) -> Counter:
    access = replace(OPEN, body_limit=limit)
    source = HttpValue(
        at=MemberAddress(port=port, path="/"), pick=MetricPick(name="load"), access=access, timeout=PATIENT
    )
    return Counter(id=CounterId(id), source=source)


def test_an_answer_longer_than_its_limit_is_refused_with_its_limit() -> None:
    body = b"load 5\n" + b"# noise\n" * (MIB // 8)

    async def scene(limit: int | None) -> tuple[object, str]:
        async with a_client() as client, a_server(says(a_response(body, headers=TEXT))) as port:
            catalogue = a_catalogue([a_load(port, limit=limit)])
            scrape = await a_poller(HttpSource(client)).poll(catalogue, rosters({"a": "127.0.0.1"}), timeout=PATIENT)
            return answers(scrape)["a", "load"], " ".join(scrape.details.values())

    refused, detail = asyncio.run(scene(None))
    assert refused is Reply.MALFORMED
    assert f"longer than {MIB} bytes" in detail
    assert "body_limit" in detail
    assert asyncio.run(scene(2 * MIB))[0] == 5.0


@pytest.mark.parametrize(
    ("metric", "limit", "expected"),
    [
        ("load", None, {Reply.MALFORMED}),
        ("load", 16 * MIB, {Reply.MALFORMED, Reply.PUT_OFF}),
        ("load_of_others", 16 * MIB, {Reply.OK, Reply.PUT_OFF}),
    ],
    ids=["default limit", "all of one metric", "all of others"],
)
def test_four_members_with_pages_of_nine_megabytes_make_no_other_group_late(
    metric: str, limit: int | None, expected: set[Reply]
) -> None:
    """Rounds of another group every half second, beside rounds of the heavy one: each is done in a moment."""

    async def scene(heavy: int) -> tuple[list[float], set[Reply]]:
        async with a_client() as client, a_server(says(a_response(b"load 5\n", headers=TEXT))) as port:
            poller = a_poller(HttpSource(client))
            api = a_catalogue([a_load(heavy, limit=limit)], groups=["api"])
            web = a_catalogue([a_load(port)], groups=["web"])
            replies: set[Reply] = set()

            async def heavy_rounds() -> None:
                while True:
                    scrape = await poller.poll(api, rosters(MEMBERS, group="api"), timeout=PATIENT)
                    replies.update(Reply(code) for code in scrape.reply.tolist())
                    await asyncio.sleep(0.5)

            beside = asyncio.create_task(heavy_rounds())
            took = []
            for _ in range(_ROUNDS):
                began = time.monotonic()
                scrape = await poller.poll(web, rosters({"a": "127.0.0.1"}), timeout=PATIENT)
                took.append(time.monotonic() - began)
                assert scrape.reply.tolist() == [Reply.OK]
                await asyncio.sleep(0.5)
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)
            return took, replies

    with showing(metric) as port:
        took, replies = asyncio.run(scene(port))

    assert replies <= expected
    assert sorted(took)[len(took) // 2] < scaled(1.0)
    assert max(took) < scaled(5.0)
