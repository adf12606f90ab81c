from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import unquote_plus

import pytest

from collector.samples import Reply, Scrape
from collector.sources.poll import Poller
from collector.sources.prometheus.source import PrometheusSource
from config.model.access import BearerToken, HttpAccess, SecretRef
from config.model.counters import CounterKind
from config.model.reductions import Reduce
from config.units import Moment
from tests.support.collector import a_poller, answers, no_secret, real_clock, rosters
from tests.support.http_servers import a_client, a_response, a_server, request
from tests.support.ports import free_tcp_port
from tests.support.prometheus import Prometheus, a_query, a_vector, asking, replying, running_prometheus, scraped
from tests.support.waiting import PATIENT, until

# A real Prometheus.


class Target:
    """What the scraped programs show."""

    def __init__(self) -> None:
        self.since = time.time()
        self.stamp = int((self.since - 60) * 1000)
        self.moody = "mood 5\n"
        """Of a target that the test may change, or silence."""

    def steady(self) -> str:
        series = ('load{member="a"} 5', 'load{member="b"} 7', "broken NaN", "alone 42", f"unfed 5 {self.stamp}")
        return "\n".join([*series, f"hits_total {10 * (time.time() - self.since):.3f}", ""])


@pytest.fixture(scope="module")
def target() -> Target:
    return Target()


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory, target: Target) -> Iterator[Prometheus]:
    home = tmp_path_factory.mktemp("prometheus")
    with running_prometheus(home, steady=target.steady, moody=lambda: target.moody) as running:
        until(lambda: running.has("hits_total offset 1s") and running.has("mood"))
        yield running


@pytest.mark.real("prometheus")
def test_a_group_has_one_value(prometheus: Prometheus) -> None:
    counters = [a_query("sum(load)", id="sum"), a_query("scalar(alone)", id="scalar"), a_query("alone", id="series")]

    assert answers(scraped(asking(prometheus.url, counters))) == {
        ("", "sum"): 12.0,
        ("", "scalar"): 42.0,
        ("", "series"): 42.0,
    }


@pytest.mark.real("prometheus")
def test_members_are_told_apart_by_a_label(prometheus: Prometheus) -> None:
    scrape = scraped(asking(prometheus.url, [a_query("load", label="member")]), {"a": "", "b": "", "c": ""})

    assert answers(scrape) == {("a", "q"): 5.0, ("b", "q"): 7.0, ("c", "q"): Reply.NO_SUCH_COUNTER}


@pytest.mark.real("prometheus")
def test_members_are_known_by_the_address_that_is_scraped(prometheus: Prometheus) -> None:
    counter = a_query("load", label="instance", rows=Reduce.SUM)

    scrape = scraped(asking(prometheus.url, [counter]), {"a": "127.0.0.1", "b": "127.0.0.2"})

    assert answers(scrape) == {("a", "q"): 12.0, ("b", "q"): Reply.NO_SUCH_COUNTER}


@pytest.mark.real("prometheus")
@pytest.mark.parametrize(
    ("query", "reply", "detail"),
    [
        ("nowhere", Reply.NO_SUCH_COUNTER, "the query finds nothing"),
        ("load", Reply.AMBIGUOUS, "2 values"),
        ("broken", Reply.MALFORMED, "nan is not a finite number"),
        ("alone / 0", Reply.MALFORMED, "inf is not a finite number"),
        ("sum(", Reply.MALFORMED, "bad_data: "),
        ("load * on(job) load", Reply.MALFORMED, "execution: "),
        ('"text"', Reply.MALFORMED, "the query returns text"),
        ("load[10s]", Reply.AMBIGUOUS, "2 series, each with points over time"),
    ],
)
def test_what_is_no_number_says_why(prometheus: Prometheus, query: str, reply: Reply, detail: str) -> None:
    scrape = scraped(asking(prometheus.url, [a_query(query)]))

    assert answers(scrape) == {("", "q"): reply}
    assert scrape.details[0].startswith(detail)


@pytest.mark.real("prometheus")
def test_a_count_that_rises_is_as_old_as_its_scrape(prometheus: Prometheus) -> None:
    async def scene() -> tuple[Scrape, Moment, Scrape]:
        async with a_client() as client:
            poller = a_poller(PrometheusSource(client))
            catalogue = asking(prometheus.url, [a_query("hits_total", kind=CounterKind.RISING)])
            first = second = await poller.poll(catalogue, rosters({}), timeout=PATIENT)
            answered = real_clock()
            while second.replied_at[0] - first.replied_at[0] < 3.0:
                await asyncio.sleep(0.1)
                second = await poller.poll(catalogue, rosters({}), timeout=PATIENT)
            return first, answered, second

    first, answered, second = asyncio.run(scene())
    rate = (second.value[0] - first.value[0]) / (second.replied_at[0] - first.replied_at[0])
    assert rate == pytest.approx(10.0, rel=0.1)  # a scrape takes at most 0.2 s, or it is none
    # Prometheus moves the time of a scrape by up to 2 ms, so that scrapes are one interval apart.
    assert first.replied_at[0] < answered.steady + 0.01


@pytest.mark.real("prometheus")
def test_a_query_with_lag_sees_the_past_and_says_so(prometheus: Prometheus) -> None:
    counters = [a_query("hits_total", id="now"), a_query("hits_total", id="past", lag=0.6)]

    def differences() -> tuple[float, float]:
        scrape = scraped(asking(prometheus.url, counters))
        return scrape.value[0] - scrape.value[1], scrape.replied_at[0] - scrape.replied_at[1]

    # Scrapes are 0.2 s apart, unless the machine is too busy for some.
    until(lambda: differences() == (pytest.approx(6.0, abs=2.1), pytest.approx(0.6, abs=0.21)))


@pytest.mark.real("prometheus")
def test_a_query_over_time_is_reduced_by_rows(prometheus: Prometheus) -> None:
    ways = [a_query("sum(alone)", id=how.value, over=2.0, rows=how) for how in (Reduce.AVG, Reduce.COUNT, Reduce.LAST)]

    def reduced() -> object:
        return answers(scraped(asking(prometheus.url, ways)))

    until(lambda: reduced() == {("", "avg"): 42.0, ("", "count"): 2.0, ("", "last"): 42.0})


@pytest.mark.real("prometheus")
def test_a_target_that_falls_silent_and_returns_is_absent_in_between(prometheus: Prometheus, target: Target) -> None:
    def answered() -> float | Reply:
        return answers(scraped(asking(prometheus.url, [a_query("mood")])))["", "q"]

    until(lambda: answered() == 5.0)
    target.moody = ""
    until(lambda: answered() is Reply.NO_SUCH_COUNTER)
    target.moody = "mood 5\n"
    until(lambda: answered() == 5.0)


@pytest.mark.real("prometheus")
def test_a_series_that_is_no_longer_fed_is_stale_though_prometheus_shows_it(prometheus: Prometheus) -> None:
    """A target that gives times of its own gets no mark when it stops moving: five minutes it looks alive."""
    fresh = scraped(asking(prometheus.url, [a_query("unfed")], interval=60.0))
    stale = scraped(asking(prometheus.url, [a_query("unfed")], interval=10.0))

    assert answers(fresh) == {("", "q"): 5.0}
    assert fresh.at.steady - fresh.replied_at[0] > 60.0
    assert answers(stale) == {("", "q"): Reply.STALE}


@pytest.mark.real("prometheus")
def test_a_prometheus_that_restarts_is_found_again(prometheus: Prometheus) -> None:
    async def scene() -> list[float | Reply]:
        async with a_client() as client:
            poller = a_poller(PrometheusSource(client))
            catalogue = asking(prometheus.url, [a_query("vector(1)")])

            async def answered() -> float | Reply:
                return answers(await poller.poll(catalogue, rosters({}), timeout=PATIENT))["", "q"]

            heard = [await answered()]
            prometheus.stop()
            heard.append(await answered())
            await asyncio.to_thread(prometheus.start)
            return [*heard, await answered()]

    assert asyncio.run(scene()) == [1.0, Reply.UNREACHABLE, 1.0]
    began = time.time()
    until(lambda: prometheus.has(f"timestamp(hits_total offset 2s) > {began}"))  # for the tests that come after


@pytest.mark.real("prometheus")
@pytest.mark.parametrize("off", [-3600.0, 3600.0], ids=["behind", "ahead"])
def test_a_clock_that_is_off_does_no_harm(prometheus: Prometheus, off: float) -> None:
    def clock() -> object:
        return replace(real_clock(), wall=real_clock().wall + off)

    async def scene() -> Scrape:
        async with a_client() as client:
            poller = Poller(clock=clock, read_secret=no_secret, sources=[PrometheusSource(client)])  # type: ignore[arg-type]
            counters = [a_query("alone", id="now"), a_query("alone", id="past", lag=0.2)]
            return await poller.poll(asking(prometheus.url, counters), rosters({}), timeout=PATIENT)

    assert answers(asyncio.run(scene())) == {("", "now"): 42.0, ("", "past"): 42.0}


# What is asked, and of which server.


def test_queries_that_are_equal_are_asked_once_for_all_groups_members_and_counters() -> None:
    heard: list[str] = []

    async def scene() -> Scrape:
        load = a_vector(({"instance": "a"}, "1"), ({"instance": "b"}, "2"))
        async with a_server(replying(load, heard)) as port, a_client() as client:
            counters = [
                a_query("sum(x) by (instance)", id="one", label="instance"),
                a_query("sum(x) by (instance)", id="two", label="instance"),
                a_query("sum(x) by (instance)", id="all", rows=Reduce.SUM),
                a_query('sum(x{group="$group"}) by (instance)', id="own", rows=Reduce.SUM),
            ]
            catalogue = asking(f"http://127.0.0.1:{port}", counters, groups=["web", "jobs"])
            both = {**rosters({"a": "", "b": ""}), **rosters({"a": ""}, group="jobs")}
            return await a_poller(PrometheusSource(client)).poll(catalogue, both, timeout=PATIENT)

    scrape = asyncio.run(scene())
    queries = sorted(unquote_plus(one.rpartition("query=")[2].partition("&")[0]) for one in heard)
    assert queries == [
        "sum(x) by (instance)",
        'sum(x{group="jobs"}) by (instance)',
        'sum(x{group="web"}) by (instance)',
    ]
    assert (scrape.reply == Reply.OK).all()


def test_no_more_than_four_queries_are_under_way_at_one_server() -> None:
    now, most = 0, 0

    async def counting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        await replying(a_vector(({}, "1")))(reader, writer)

    async def scene() -> Scrape:
        async with a_server(counting) as port, a_client() as client:
            counters = [a_query(f"sum(x{n})", id=f"c{n:02}") for n in range(20)]
            catalogue = asking(f"http://127.0.0.1:{port}", counters)
            return await a_poller(PrometheusSource(client)).poll(catalogue, rosters({}), timeout=PATIENT)

    assert (asyncio.run(scene()).reply == Reply.OK).all()
    assert most == 4


def test_a_server_that_is_silent_delays_no_other_and_no_member_is_blamed() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def scene() -> tuple[Scrape, Scrape]:
        async with a_server(silent) as port, a_client() as client:
            poller = a_poller(PrometheusSource(client))
            counter = [a_query("x", label="instance")]
            patient = asking(f"http://127.0.0.1:{port}", counter, timeout=5.0)
            hasty = asking(f"http://127.0.0.1:{port}", counter, timeout=0.1)
            members = rosters({"a": "127.0.0.1"})
            return await poller.poll(patient, members, timeout=0.1), await poller.poll(hasty, members, timeout=PATIENT)

    cut, given_up = asyncio.run(scene())
    assert answers(cut) == answers(given_up) == {("a", "q"): Reply.UNREACHABLE}
    assert given_up.details[0] == "prom: no complete answer within 0.1 s"


@pytest.mark.parametrize(
    ("status", "document", "reply", "detail"),
    [
        ("503 x", {"status": "error", "errorType": "timeout", "error": "too slow"}, Reply.UNREACHABLE, "timeout: too"),
        ("422 x", {"status": "error", "errorType": "execution", "error": "bad"}, Reply.MALFORMED, "execution: bad"),
        ("404 x", {}, Reply.UNREACHABLE, "prom: HTTP 404 Not Found: there is no query API at this address"),
        ("401 x", {}, Reply.AUTH, "prom: HTTP 401 Unauthorized"),
        ("429 x", {}, Reply.RATE_LIMITED, "prom: HTTP 429 Too Many Requests"),
        ("502 x", {}, Reply.UNREACHABLE, "prom: HTTP 502 Bad Gateway"),
        ("500 x", {}, Reply.UNREACHABLE, "HTTP 500 Internal Server Error"),
        ("400 x", {}, Reply.MALFORMED, "HTTP 400 Bad Request"),
    ],
)
def test_what_the_server_says_of_an_error_is_passed_on(
    status: str, document: dict[str, str], reply: Reply, detail: str
) -> None:
    async def scene() -> Scrape:
        async with a_server(replying(document, status=status)) as port, a_client() as client:
            catalogue = asking(f"http://127.0.0.1:{port}", [a_query("x")])
            return await a_poller(PrometheusSource(client)).poll(catalogue, rosters({}), timeout=PATIENT)

    scrape = asyncio.run(scene())
    assert answers(scrape) == {("", "q"): reply}
    assert scrape.details[0].startswith(detail)


def test_a_server_without_a_clock_answers_nothing_of_the_past() -> None:
    counters = [a_query("x", lag=60.0)]

    scrape = scraped(asking(f"http://127.0.0.1:{free_tcp_port()}", counters))

    assert answers(scrape) == {("", "q"): Reply.UNREACHABLE}
    assert scrape.details[0] == "prom: Connection refused"


def test_an_error_that_repeats_our_token_is_shown_without_it() -> None:
    echo = {"status": "error", "errorType": "bad_data", "error": "no such token: secret-1 as given"}

    async def scene() -> Scrape:
        async with a_server(replying(echo, status="400 x")) as port, a_client({"TOKEN": "secret-1"}) as client:
            access = HttpAccess(credentials=BearerToken(token=SecretRef(env="TOKEN")))
            catalogue = asking(f"http://127.0.0.1:{port}", [a_query("x")], access=access)
            return await a_poller(PrometheusSource(client)).poll(catalogue, rosters({}), timeout=PATIENT)

    assert asyncio.run(scene()).details[0] == "bad_data: no such token: *** as given"


def test_ten_thousand_series_do_not_hold_up_the_event_loop() -> None:
    series = [({"instance": f"10.0.{n // 250}.{n % 250}:9100", "job": "node"}, str(n)) for n in range(10_000)]
    members = {f"m{n:05}": f"10.0.{n // 250}.{n % 250}" for n in range(10_000)}
    answers = iter([json.dumps(a_vector()).encode(), json.dumps(a_vector(*series)).encode()])
    held = 0.0

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await request(reader)
            writer.write(a_response(answer))

    async def watch() -> None:
        nonlocal held
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.001)
            held = max(held, time.thread_time() - before)

    async def scene() -> tuple[Scrape, float]:
        async with a_server(handler) as port, a_client() as client:
            catalogue = asking(f"http://127.0.0.1:{port}", [a_query("sum(x) by (instance)", label="instance")])
            poller, all_members = a_poller(PrometheusSource(client)), rosters(members)
            await poller.poll(catalogue, all_members, timeout=PATIENT)  # lays out
            watching, before = asyncio.create_task(watch()), time.process_time()
            scrape = await poller.poll(catalogue, all_members, timeout=PATIENT)
            watching.cancel()
            return scrape, time.process_time() - before

    scrape, spent = asyncio.run(scene())
    assert (scrape.reply == Reply.OK).all()
    assert scrape.value.sum() == sum(range(10_000))
    assert held < 0.5 * spent  # of processor time: what is parsed and matched is not on the loop
