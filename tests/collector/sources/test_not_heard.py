"""Well-formed answers that are not believed, source by source: twice in one answer, of the future, beside an error."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from email.utils import formatdate

import pytest

from collector.clients.cloudstack.parsing import CloudstackRefused, opened
from collector.clients.http.client import HttpFailure
from collector.clients.nitro.parsing import NitroFailure
from collector.clients.nitro.parsing import decode as decode_nitro
from collector.samples import Reply
from collector.sources.haproxy.table import StatTable, cell, decode_page
from collector.sources.http.source import HttpSource
from collector.sources.openstack.gnocchi_parsing import decode as decode_gnocchi
from collector.sources.openstack.nova_parsing import decode_diagnostics
from collector.sources.prometheus.source import PrometheusSource
from config.model.counters import Counter, GnocchiMetric, HttpValue, JsonPick, MemberAddress, MetricPick
from config.model.reductions import Reduce
from config.units import CounterId
from handler.ingest.pushes.pushed_values import PushShape, UnreadablePush
from handler.ingest.pushes.receiver import Push, read
from tests.support.collector import a_catalogue, a_poller, answers, rosters
from tests.support.http_servers import a_client, a_response, a_server, says
from tests.support.prometheus import a_query, asking
from tests.support.waiting import PATIENT

JSON = {"Content-Type": "application/json"}
TEXT = {"Content-Type": "text/plain; version=0.0.4"}
OPENMETRICS = {"Content-Type": "application/openmetrics-text; version=1.0.0"}


def polled(
    pick: JsonPick | MetricPick, body: str, headers: Mapping[str, str], rows: Reduce | None = None
) -> tuple[object, str]:
    """What a member's value was heard as, and why not."""

    async def scene() -> tuple[object, str]:
        async with a_client() as client, a_server(says(a_response(body.encode(), headers=headers))) as port:
            counter = Counter(
                id=CounterId("v"), source=HttpValue(at=MemberAddress(port=port, path="/"), pick=pick), rows=rows
            )
            poller = a_poller(HttpSource(client))
            scrape = await poller.poll(a_catalogue([counter]), rosters({"a": "127.0.0.1"}), timeout=PATIENT)
            return answers(scrape)["a", "v"], " ".join(scrape.details.values())

    return asyncio.run(scene())


LOAD = MetricPick(name="load")
TWICE: Mapping[str, tuple[JsonPick | MetricPick, str, Mapping[str, str]]] = {
    "OpenMetrics": (LOAD, "# TYPE load gauge\nload 5\nload 95\n# EOF\n", OPENMETRICS),
    "OpenMetrics with times": (LOAD, "# TYPE load gauge\nload 5 1.0\nload 95 2.0\n# EOF\n", OPENMETRICS),
    "Prometheus text": (LOAD, "load 5\nload 95\n", TEXT),
    "JSON": (JsonPick(path="$.load"), '{"load": 5, "load": 95}', JSON),
    "JSON, further out": (JsonPick(path="$.a.load"), '{"a": {"load": 5}, "a": {"load": 95}}', JSON),
}


@pytest.mark.parametrize("rows", [None, Reduce.SUM, Reduce.MAX], ids=["one", "sum", "max"])
@pytest.mark.parametrize(("pick", "body", "headers"), TWICE.values(), ids=TWICE)
def test_what_is_twice_in_a_member_s_answer_is_not_heard(
    pick: JsonPick | MetricPick, body: str, headers: Mapping[str, str], rows: Reduce | None
) -> None:
    heard, detail = polled(pick, body, headers, rows)

    assert heard is Reply.AMBIGUOUS
    assert "twice" in detail


@pytest.mark.parametrize("ahead", [61.5, 3600.0])
@pytest.mark.parametrize(
    ("kind", "unit", "end"), [(OPENMETRICS, 1.0, "# EOF\n"), (TEXT, 1000.0, "")], ids=["om", "text"]
)
@pytest.mark.parametrize("dated", [True, False])
def test_a_sample_of_the_future_is_not_heard(
    kind: Mapping[str, str], unit: float, end: str, ahead: float, dated: bool
) -> None:
    now = time.time()
    date = {"Date": formatdate(now, usegmt=True)} if dated else {}
    heard, detail = polled(LOAD, f"# TYPE load gauge\nload 5 {round((now + ahead) * unit)}\n{end}", {**kind, **date})

    assert heard is Reply.FUTURE
    assert "ahead of the server's clock" in detail


def test_a_sample_of_the_next_half_minute_is_heard() -> None:
    body = f"# TYPE load gauge\nload 5 {time.time() + 30.0}\n# EOF\n"
    assert polled(LOAD, body, OPENMETRICS)[0] == 5.0


# Prometheus


def vector(*samples: tuple[Mapping[str, str], float, str]) -> str:
    result = [{"metric": labels, "value": [at, value]} for labels, at, value in samples]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}})


def asked(body: str, status: str = "200 OK", *, rows: Reduce | None = None) -> tuple[object, str]:
    async def scene() -> tuple[object, str]:
        headers = {**JSON, "Date": formatdate(time.time(), usegmt=True)}
        async with a_client() as client, a_server(says(a_response(body.encode(), status, headers))) as port:
            poller, counter = a_poller(PrometheusSource(client)), a_query("sum(load)", rows=rows)
            catalogue = asking(f"http://127.0.0.1:{port}", [counter])
            scrape = await poller.poll(catalogue, rosters({}), timeout=PATIENT)
            return answers(scrape)["", str(counter.id)], " ".join(scrape.details.values())

    return asyncio.run(scene())


@pytest.mark.parametrize(
    "status", ["500 Internal Server Error", "503 Service Unavailable", "422 Unprocessable", "400 Bad"]
)
def test_numbers_of_prometheus_beside_an_error_of_http_are_not_heard(status: str) -> None:
    heard, detail = asked(vector(({}, time.time(), "5")), status)

    assert heard in {Reply.UNREACHABLE, Reply.MALFORMED}
    assert f"HTTP {status[:3]}" in detail


def test_the_words_of_prometheus_beside_an_error_of_http_are_shown() -> None:
    body = json.dumps({"status": "error", "errorType": "timeout", "error": "query timed out in expression evaluation"})

    heard, detail = asked(body, "503 Service Unavailable")
    assert heard is Reply.UNREACHABLE
    assert "timeout: query timed out in expression evaluation" in detail


@pytest.mark.parametrize("rows", [None, Reduce.SUM], ids=["one", "sum"])
def test_a_series_that_prometheus_answers_twice_is_not_heard(rows: Reduce | None) -> None:
    now = time.time()
    heard, detail = asked(vector(({"q": "a"}, now, "5"), ({"q": "a"}, now, "95")), rows=rows)

    assert heard is Reply.AMBIGUOUS
    assert "a series occurs twice" in detail


def test_a_key_that_is_twice_in_the_answer_of_prometheus_is_not_heard() -> None:
    body = vector(({}, time.time(), "5")).replace('"data":', '"data": {}, "data":')
    assert asked(body)[0] is Reply.MALFORMED


def test_a_sample_of_prometheus_of_the_future_is_not_heard() -> None:
    assert asked(vector(({}, time.time() + 3600.0, "5")))[0] is Reply.FUTURE


# Balancers, clouds, pushes


def test_a_server_that_is_twice_in_haproxy_s_statistics_is_not_heard() -> None:
    table = decode_page("# pxname,svname,scur,lastchg,type,\nweb,a,5,9,2,\nweb,a,95,9,2,\nweb,BACKEND,5,9,1,\n")
    assert isinstance(table, StatTable)
    found = cell(table, ("web", "a"), "scur")
    assert isinstance(found, HttpFailure)
    assert found.reply is Reply.AMBIGUOUS


def test_a_column_that_is_twice_in_haproxy_s_statistics_is_not_heard() -> None:
    found = decode_page("# pxname,svname,scur,scur,type,\nweb,a,5,95,2,\n")
    assert isinstance(found, HttpFailure)
    assert found.detail == "a column occurs twice"


METRIC = GnocchiMetric(name="cpu", aggregation="mean", granularity=10.0)
PERIOD = ["2026-11-21T18:19:20+00:00", 10.0, 5.0]
DECODED: Mapping[str, Callable[[], object]] = {
    "NITRO": lambda: decode_nitro(200, b'{"errorcode": 0, "service": {"curload": 5}, "service": {"curload": 95}}'),
    "Nova": lambda: decode_diagnostics(b'{"state": "running", "num_cpus": 1, "num_cpus": 2}'),
    "Gnocchi": lambda: decode_gnocchi(b'{"measures": {}, "measures": {}}', METRIC),
    "Gnocchi, a period": lambda: decode_gnocchi(
        json.dumps({"measures": {"s": {"cpu": {"mean": [PERIOD, [*PERIOD[:2], 95.0]]}}}}).encode(), METRIC
    ),
}


@pytest.mark.parametrize("decoded", DECODED.values(), ids=DECODED)
def test_an_answer_in_which_something_is_there_twice_is_malformed(decoded: Callable[[], object]) -> None:
    found = decoded()
    assert isinstance(found, HttpFailure | NitroFailure)
    assert found.reply is Reply.MALFORMED


def test_an_answer_of_cloudstack_in_which_something_is_there_twice_is_none_of_its_own() -> None:
    found = opened(b'{"r": {"count": 0}, "r": {"count": 0}}', 200)
    assert isinstance(found, CloudstackRefused)
    assert found.code is None


PUSHES: Mapping[str, tuple[PushShape, bytes]] = {
    "lines": (PushShape.LINES, b"LOAD=5\nLOAD=95\n"),
    "JSON, one key": (PushShape.JSON, b'{"values": {"LOAD": 5, "LOAD": 95}}'),
    "JSON, two entries": (PushShape.JSON, b'[{"values": {"LOAD": 5}}, {"values": {"LOAD": 95}}]'),
    "OpenMetrics": (PushShape.OPENMETRICS, b"LOAD 5\nLOAD 95\n# EOF\n"),
    "Prometheus text": (PushShape.TEXT, b"LOAD 5\nLOAD 95\n"),
    "two members in one sample": (PushShape.TEXT, b'LOAD{member="a",member="b"} 5\n'),
}


@pytest.mark.parametrize(("shape", "body"), PUSHES.values(), ids=PUSHES)
def test_a_push_that_says_a_value_twice_is_refused(shape: PushShape, body: bytes) -> None:
    push = read(Push(token="t", shape=shape, member=None, group=None, body=body))

    assert isinstance(push, UnreadablePush)
    assert "twice" in push.message
