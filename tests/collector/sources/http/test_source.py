from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from email.utils import formatdate

import pytest
from prometheus_client import CollectorRegistry, Gauge, enable_created_metrics, metrics, start_http_server
from prometheus_client import Counter as Counted

from collector.samples import Reply, Scrape
from collector.sources.http.source import HttpSource
from config.model.counters import (
    Counter,
    CounterKind,
    FixedAddress,
    HttpValue,
    JsonPick,
    MemberAddress,
    MetricPick,
    Per,
)
from config.model.reductions import Reduce
from config.units import CounterId
from tests.support.collector import a_catalogue, a_poller, answers, rosters
from tests.support.http_servers import a_client, a_response, a_server, says
from tests.support.ports import free_tcp_port
from tests.support.prometheus import running_prometheus
from tests.support.waiting import PATIENT

JSON = {"Content-Type": "application/json"}
TEXT = {"Content-Type": "text/plain; version=0.0.4"}


def a_value(
    pick: JsonPick | MetricPick | str,
    *,
    port: int = 0,
    path: str = "/",
    url: str | None = None,
    id: str = "v",
    kind: CounterKind = CounterKind.GAUGE,
    rows: Reduce | None = None,
    timeout: float = PATIENT,
) -> Counter:
    """Of every member, or with ``url`` of the group; text is a JSONPath."""
    return Counter(
        id=CounterId(id),
        source=HttpValue(
            at=MemberAddress(port=port, path=path) if url is None else FixedAddress(url=url),
            pick=JsonPick(path=pick) if isinstance(pick, str) else pick,
            timeout=timeout,
        ),
        per=Per.MEMBER if url is None else Per.GROUP,
        kind=kind,
        rows=rows,
    )


async def polled(
    counters: Sequence[Counter], members: Mapping[str, str] | None = None, *, times: int = 1, interval: float = 30.0
) -> list[Scrape]:
    all_members = rosters({"a": "127.0.0.1"} if members is None else members)
    async with a_client() as client:
        poller, catalogue = a_poller(HttpSource(client)), a_catalogue(counters, interval=interval)
        return [await poller.poll(catalogue, all_members, timeout=PATIENT) for _ in range(times)]


def answered(response: bytes, *counters: Counter, heard: list[str] | None = None, interval: float = 30.0) -> Scrape:
    """One poll of a member ``a`` that gives every request this response."""

    async def scene() -> Scrape:
        async with a_server(says(response, heard)) as port:
            there = [replace(counter, source=_at(counter, port)) for counter in counters]
            return (await polled(there, interval=interval))[0]

    return asyncio.run(scene())


def _at(counter: Counter, port: int) -> HttpValue:
    source = counter.source
    assert isinstance(source, HttpValue)
    at = source.at
    place = MemberAddress(port=port, path=at.path) if isinstance(at, MemberAddress) else FixedAddress(url=at.url % port)
    return HttpValue(at=place, pick=source.pick, timeout=source.timeout)


# Endpoints that others wrote.


@pytest.fixture
def beginnings() -> Iterator[None]:
    """Programs show since when they count, as prometheus-client does unless the program declares otherwise."""
    before = metrics._use_created
    enable_created_metrics()
    yield
    metrics._use_created = before


@contextmanager
def a_python_program() -> Iterator[tuple[int, Gauge, Counted]]:
    """A program that shows its metrics with prometheus-client."""
    registry = CollectorRegistry()
    jobs, hits = Gauge("jobs", "Waiting.", ["queue"], registry=registry), Counted("hits", "Heard.", registry=registry)
    server, thread = start_http_server(0, "127.0.0.1", registry)
    try:
        yield server.server_port, jobs, hits
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENT)


@pytest.mark.usefixtures("beginnings")
def test_a_program_with_prometheus_client_is_read() -> None:
    with a_python_program() as (port, jobs, hits):
        jobs.labels("mail").set(42)
        jobs.labels("print").set(8)
        hits.inc(7)
        counters = [
            a_value(MetricPick(name="jobs", labels={"queue": "mail"}), port=port, id="mail"),
            a_value(MetricPick(name="jobs"), port=port, id="all", rows=Reduce.SUM),
            a_value(MetricPick(name="jobs"), port=port, id="one"),
            a_value(MetricPick(name="hits_total"), port=port, id="hits", kind=CounterKind.RISING),
        ]
        scrape = asyncio.run(polled(counters))[0]

    assert answers(scrape) == {
        ("a", "mail"): 42.0,
        ("a", "all"): 50.0,
        ("a", "one"): Reply.AMBIGUOUS,
        ("a", "hits"): 7.0,
    }
    (uptime,) = (up for up in scrape.uptime.tolist() if not math.isnan(up))
    assert 0.0 <= uptime < 5.0  # OpenMetrics says when the count began


@pytest.mark.usefixtures("beginnings")
def test_a_count_that_was_reset_and_has_overtaken_itself_is_seen_by_its_beginning() -> None:
    with a_python_program() as (port, _, hits):
        hits.inc(7)
        counter = a_value(MetricPick(name="hits_total"), port=port, kind=CounterKind.RISING)

        async def scene() -> tuple[Scrape, Scrape]:
            async with a_client() as client:
                poller, catalogue, all_members = (
                    a_poller(HttpSource(client)),
                    a_catalogue([counter]),
                    rosters({"a": "127.0.0.1"}),
                )
                before = await poller.poll(catalogue, all_members, timeout=PATIENT)
                hits._created -= 100  # as if it had been counting for longer
                longer = await poller.poll(catalogue, all_members, timeout=PATIENT)
                hits.reset()
                hits.inc(9)
                after = await poller.poll(catalogue, all_members, timeout=PATIENT)
                assert longer.uptime[0] > 100.0 > before.uptime[0]
                return longer, after

        longer, after = asyncio.run(scene())

    assert after.value[0] > longer.value[0]
    assert after.uptime[0] < longer.uptime[0]


@pytest.mark.real("prometheus")
def test_a_program_with_gos_client_is_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    with running_prometheus(tmp_path_factory.mktemp("prometheus")) as server:
        requests = MetricPick(name="prometheus_http_requests_total", labels={"handler": "/metrics", "code": "200"})
        counters = [
            a_value(MetricPick(name="go_goroutines"), port=server.port, path="/metrics", id="routines"),
            a_value(requests, port=server.port, path="/metrics", id="requests"),
            a_value("$.data.result[0].value[1]", url=f"{server.url}/api/v1/query?query=vector(42)", id="json"),
            a_value(MetricPick(name="prometheus_build_info"), port=server.port, path="/metrics", id="info"),
        ]
        first, second = asyncio.run(polled(counters, times=2))

    assert answers(second)["", "json"] == 42.0
    assert answers(second)["a", "info"] == 1.0
    assert float(answers(second)["a", "routines"]) > 5.0
    assert answers(first)["a", "requests"] == Reply.NO_SUCH_COUNTER
    assert answers(second)["a", "requests"] == 1.0


# What is asked.


def test_counters_on_one_address_share_a_request() -> None:
    heard: list[str] = []
    counters = [a_value("$.a", id="a"), a_value("$.b", id="b"), a_value("$.c", id="c")]

    scrape = answered(a_response(b'{"a": 1, "b": "2", "c": null}', headers=JSON), *counters, heard=heard)

    assert answers(scrape) == {("a", "a"): 1.0, ("a", "b"): 2.0, ("a", "c"): Reply.NO_SUCH_COUNTER}
    assert len(heard) == 1
    assert "Accept: application/json" in heard[0]


def test_groups_that_share_an_address_share_a_request_and_others_have_their_own() -> None:
    heard: list[str] = []

    async def scene() -> Scrape:
        async with a_server(says(a_response(b'{"n": 42}', headers=JSON), heard)) as port, a_client() as client:
            counters = [
                a_value("$.n", url=f"http://127.0.0.1:{port}/all", id="all"),
                a_value("$.n", url=f"http://127.0.0.1:{port}/of/$group?x=$groups", id="own"),
            ]
            catalogue = a_catalogue(counters, groups=["web", "jobs"])
            both = {**rosters({}), **rosters({}, group="jobs")}
            return await a_poller(HttpSource(client)).poll(catalogue, both, timeout=PATIENT)

    scrape = asyncio.run(scene())
    assert (scrape.value == 42.0).all()
    asked = sorted(one.split()[1] for one in heard)
    assert asked == ["/all", "/of/jobs?x=$groups", "/of/web?x=$groups"]


def test_a_member_without_an_address_is_not_asked() -> None:
    (scrape,) = asyncio.run(polled([a_value("$.n", port=1)], {"a": ""}))

    assert answers(scrape) == {("a", "v"): Reply.UNREACHABLE}
    assert scrape.details[0] == "the member has no address yet"


def test_the_failure_of_one_member_is_its_own() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def scene() -> Scrape:
        async with a_server(silent) as mute, a_server(says(a_response(b"[42]", headers=JSON))) as port:
            counters = [
                a_value("$[0]", port=port, id="fine"),
                a_value("$[0]", port=mute, id="mute", timeout=0.2),
                a_value("$[0]", port=free_tcp_port(), id="shut"),
            ]
            return (await polled(counters))[0]

    assert answers(asyncio.run(scene())) == {
        ("a", "fine"): 42.0,
        ("a", "mute"): Reply.TIMEOUT,
        ("a", "shut"): Reply.REFUSED,
    }


# What comes back.


@pytest.mark.parametrize(
    ("response", "reply", "detail"),
    [
        (a_response(b"", status="401 x"), Reply.AUTH, "HTTP 401 Unauthorized"),
        (a_response(b"", status="404 x"), Reply.NO_SUCH_COUNTER, "HTTP 404 Not Found"),
        (a_response(b"", status="204 x"), Reply.MALFORMED, "invalid JSON: "),
        (a_response(b'{"n": tru', headers=JSON), Reply.MALFORMED, "invalid JSON: "),
        (a_response(b'{"n": true}', headers=JSON), Reply.MALFORMED, "true is not a number"),
        (a_response(b'{"n": NaN}', headers=JSON), Reply.MALFORMED, "nan is not a finite number"),
        (a_response(b'{"n": 1e999}', headers=JSON), Reply.MALFORMED, "inf is not a finite number"),
        (
            a_response(b'{"n": ' + b" " * 3_000_000 + b"1}"),
            Reply.MALFORMED,
            "the answer is longer than 1048576 bytes: raise body_limit",
        ),
        (a_response(b'{"m": 1}', headers=JSON), Reply.NO_SUCH_COUNTER, "$.n finds nothing"),
    ],
)
def test_what_is_no_number_says_why(response: bytes, reply: Reply, detail: str) -> None:
    scrape = answered(response, a_value("$.n"))

    assert answers(scrape) == {("a", "v"): reply}
    assert detail in scrape.details[0]


def test_several_matches_need_rows() -> None:
    document = a_response(b'[{"n": 1}, {"n": 2}, {"n": 6}]', headers=JSON)
    counters = [a_value("$[*].n", id="one"), *(a_value("$[*].n", id=how.value, rows=how) for how in Reduce)]

    assert answers(answered(document, *counters)) == {
        ("a", "one"): Reply.AMBIGUOUS,
        ("a", "avg"): 3.0,
        ("a", "min"): 1.0,
        ("a", "max"): 6.0,
        ("a", "sum"): 9.0,
        ("a", "last"): 6.0,
        ("a", "count"): 3.0,
    }


def test_a_sample_is_as_old_as_its_time_says_by_the_clock_of_its_server() -> None:
    an_hour_ahead = time.time() + 3600
    date = {"Date": formatdate(an_hour_ahead, usegmt=True)}
    page = f"jobs 42 {(an_hour_ahead - 60) * 1000:.0f}\n".encode()
    counter = a_value(MetricPick(name="jobs"))

    fresh = answered(a_response(page, headers=TEXT | date), counter, interval=30.0)
    stale = answered(a_response(page, headers=TEXT | date), counter, interval=10.0)

    assert answers(fresh) == {("a", "v"): 42.0}
    assert fresh.at.steady - fresh.replied_at[0] == pytest.approx(60.0, abs=2.0)
    late = answered(a_response(page, headers=TEXT | date), replace(counter, lag=40.0), interval=10.0)

    assert answers(stale) == {("a", "v"): Reply.STALE}
    assert answers(late) == {("a", "v"): 42.0}


def test_a_long_page_is_read_beside_the_event_loop() -> None:
    page = b"".join(b'x_total{n="%d"} 1\n' % n for n in range(20_000)) + b"jobs 42\n"
    threads: list[str] = []

    class Watched(MetricPick):
        __slots__ = ()

        def __getattribute__(self, name: str) -> object:
            threads.append(threading.current_thread().name)
            return super().__getattribute__(name)

    scrape = answered(a_response(page, headers=TEXT), a_value(Watched(name="jobs")))

    assert answers(scrape) == {("a", "v"): 42.0}
    assert any(name != "MainThread" for name in threads)
