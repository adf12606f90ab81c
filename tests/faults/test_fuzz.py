"""Bytes of every sort, for every decoder and through every fetch: no exception, no made-up number, and an end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from collector.clients.http.failures import HttpFailure, instant_of, retry_after
from collector.clients.nitro import parsing as nitro_answers
from collector.samples import Reply
from collector.snmp import messages, values
from collector.sources.haproxy import table as haproxy_table
from collector.sources.http.metrics_text import OPENMETRICS
from collector.sources.http.picks import picked
from collector.sources.netscaler.parsing import figure
from collector.sources.prometheus import parsing as prometheus_answers
from config.model.counters import JsonPick, MetricPick
from handler.ingest.alerts import payloads
from handler.ingest.pushes import bulk, exposition, lines
from handler.ingest.pushes.pushed_values import PushedEntry
from tests.faults.test_faults import COLUMNS
from tests.support.collector import a_moment
from tests.support.faults_chain import DEADLINE, polled
from tests.support.fuzz import ODDITIES, SPOILS, Change, damaged, numbers_in, with_odd_numbers

_HAPROXY = b"# pxname,svname,scur,lastchg,type,\nweb,a-1,3,900,2,\nweb,a-2,5,900,2,\nweb,BACKEND,8,42,1,\n"
_SOCKET = b"Name: HAProxy\nUptime_sec: 61\n\n" + _HAPROXY + b"\n"
_NITRO = (
    b'{"errorcode": 0, "message": "Done", "severity": "NONE", "servicegroup": [{"servicegroupname": "web", '
    b'"servicegroupmember": [{"servicegroupname": "web?a-1?80", "primaryipaddress": "127.0.0.1", "tothits": "7"}]}]}'
)
_PROMETHEUS = (
    b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"load","instance":"a-1:9100"},'
    b'"value":[1795240836.2,"42.5"]},{"metric":{"instance":"a-1:9100","trimtab_stamp":"1"},"value":[1795240836.2,"1"]}]}}'
)
_JSON = b'{"host": "a-1", "load": {"one": 0.5, "five": "1.25"}, "jobs": [3, 4, {"n": 5}]}'
_METRICS = (
    b'# HELP hits Visits.\n# TYPE hits counter\nhits_total{path="/"} 7 1795240836.2\nhits_created{path="/"} 1.7e9\n'
    b"# TYPE load gauge\nload 0.5\n# EOF\n"
)
_LINES = b"CPU=42\nJOBS = 7.5\n"
_BULK = b'[{"member": "a-1", "values": {"CPU": 42, "JOBS": 7.5}}, {"group": "web", "values": {"ORDERS": null}}]'
_HOOK = (
    b'{"version": "4", "status": "firing", "receiver": "r", "groupKey": "k", "alerts": [{"status": "firing", "labels": '
    b'{"alertname": "Deep"}, "annotations": {"depth": "120.5"}, "startsAt": "2026-11-21T06:00:00Z", "endsAt": '
    b'"0001-01-01T00:00:00Z", "fingerprint": "0badcafe"}]}'
)
_SNMP = bytes.fromhex("302902010004067075626c6963a21c02044a5d9ff9020102020101300e300c06082b060102010163000500")


def _table(read: Callable[[str], haproxy_table.StatTable | HttpFailure]) -> Callable[[bytes], Iterable[float]]:
    def numbers(body: bytes) -> Iterable[float]:
        table = read(body.decode(errors="replace"))
        if isinstance(table, HttpFailure):
            return []
        cells = [haproxy_table.cell(table, key, column) for key in table.rows for column in table.columns]
        return [cell for cell in cells if not isinstance(cell, HttpFailure)]

    return numbers


def _nitro(body: bytes) -> Iterable[float]:
    found = nitro_answers.decode(200, body)
    if not isinstance(found, nitro_answers.NitroAnswer):
        return []
    things = [*nitro_answers.things(found.document, "servicegroup")]
    things += [inner for thing in things for inner in nitro_answers.things(thing, "servicegroupmember")]
    figures = [figure(thing, "tothits") for thing in things]
    return [number for number in figures if not isinstance(number, HttpFailure)]


def _prometheus(body: bytes) -> Iterable[float]:
    found = prometheus_answers.decode(body)
    points = [] if isinstance(found, HttpFailure) else [value for line in found.lines for _, value in line.points]
    return [value for value in points if abs(value) < float("inf")]  # the others fail where they are written down


def _picked(kind: str, *picks: JsonPick | MetricPick) -> Callable[[bytes], Iterable[float]]:
    def numbers(body: bytes) -> Iterable[float]:
        rows = [row for found in picked(body, kind, picks) if not isinstance(found, HttpFailure) for row in found]
        return [row.value for row in rows if abs(row.value) < float("inf")]

    return numbers


def _values_of(read: Callable[[bytes], object]) -> Callable[[bytes], Iterable[float]]:
    def numbers(body: bytes) -> Iterable[float]:
        found = read(body)
        entries = found if isinstance(found, tuple) else ()
        return [one.value for one in entries if isinstance(one, PushedEntry) and one.value is not None]

    return numbers


def _nothing(read: Callable[[bytes], object]) -> Callable[[bytes], Iterable[float]]:
    def numbers(body: bytes) -> Iterable[float]:
        read(body)
        return []

    return numbers


_PATHS = ("$.load.one", "$.jobs[*]", "$..n", "$.load[?@ > 1]")
DECODERS: Mapping[str, tuple[bytes, Callable[[bytes], Iterable[float]]]] = {
    "haproxy socket": (_SOCKET, _table(haproxy_table.decode_answer)),
    "haproxy page": (_HAPROXY, _table(haproxy_table.decode_page)),
    "netscaler": (_NITRO, _nitro),
    "prometheus": (_PROMETHEUS, _prometheus),
    "json": (_JSON, _picked("application/json", *(JsonPick(path=path) for path in _PATHS))),
    "prometheus text": (_METRICS, _picked("text/plain", MetricPick(name="hits_total"), MetricPick(name="load"))),
    "openmetrics": (_METRICS, _picked(OPENMETRICS, MetricPick(name="hits_total"), MetricPick(name="load"))),
    "snmp message": (_SNMP, _nothing(messages.read)),
    "snmp value": (b"\x9f\x78\x04\x42\x48\x00\x00", _nothing(values.decode)),
    "pushed lines": (_LINES, _values_of(lines.read)),
    "pushed JSON": (_BULK, _values_of(bulk.read)),
    "pushed text": (_METRICS, _values_of(lambda body: exposition.read(body, openmetrics=False))),
    "pushed openmetrics": (_METRICS, _values_of(lambda body: exposition.read(body, openmetrics=True))),
    "alerts": (_HOOK, _nothing(payloads.read)),
    "a date": (b"Fri, 21 Nov 2025 06:00:30 GMT", _nothing(lambda body: instant_of(body.decode(errors="replace")))),
    "a wait": (
        b"120",
        _nothing(lambda body: retry_after({"retry-after": body.decode(errors="replace")}, a_moment())),
    ),
}
_quickly = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.mark.parametrize("decoder", DECODERS)
def test_what_is_whole_is_read(decoder: str) -> None:
    """Else the rest would show nothing."""
    body, numbers = DECODERS[decoder]
    assert set(numbers(body)) <= numbers_in(body)
    assert list(numbers(body)) or numbers.__qualname__.startswith("_nothing")


@pytest.mark.parametrize("decoder", DECODERS)
@_quickly
@given(spoil=SPOILS)
def test_no_bytes_break_a_decoder_and_none_become_a_number_that_is_not_there(
    decoder: str, spoil: Callable[[bytes], bytes]
) -> None:
    body, numbers = DECODERS[decoder]
    spoilt = spoil(body)
    assert set(numbers(spoilt)) <= numbers_in(spoilt)


@pytest.mark.parametrize("decoder", DECODERS)
def test_nothing_odd_in_the_place_of_any_number_breaks_a_decoder(decoder: str) -> None:
    body, numbers = DECODERS[decoder]
    for odd in ODDITIES:
        for spoilt in with_odd_numbers(body, odd):
            assert set(numbers(spoilt)) <= numbers_in(spoilt), odd[:20]


FETCHED = [
    "haproxy socket",
    "haproxy page",
    "netscaler",
    "prometheus",
    "http JSON",
    "http OpenMetrics",
    "snmp gufo",
]


@pytest.mark.parametrize("column", FETCHED)
@_quickly
@given(spoil=SPOILS, login=st.booleans())
@example(spoil=lambda body: body, login=True)
def test_no_bytes_break_a_poll_and_none_become_a_number_that_is_not_there(
    column: str, spoil: Callable[[bytes], bytes], login: bool
) -> None:
    sent: list[bytes] = []

    def spoilt(body: bytes) -> bytes:
        sent.append(body if b"sessionid" in body and not login else spoil(body))
        return sent[-1]

    scrape, took = polled(COLUMNS[column], spoilt)

    assert took <= DEADLINE
    heard = scrape.reply == Reply.OK
    assert all(abs(value) < float("inf") for value in scrape.value[heard])
    if column != "snmp gufo":  # whose numbers are not written in digits
        assert set(scrape.value[heard].tolist()) <= {number for body in sent for number in numbers_in(body)}


@_quickly
@given(spoil=SPOILS)
def test_no_bytes_of_a_whole_response_break_a_poll(spoil: Callable[[bytes], bytes]) -> None:
    scrape, took = polled(COLUMNS["http JSON"], wire=spoil)
    assert took <= DEADLINE
    assert all(abs(value) < float("inf") for value in scrape.value[scrape.reply == Reply.OK])


@settings(_quickly, max_examples=25)
@given(spoil=SPOILS)
def test_no_bytes_break_the_reading_of_a_long_answer_piece_by_piece(spoil: Callable[[bytes], bytes]) -> None:
    series = b'{"metric":{"instance":"a-%d:9100"},"value":[1795240836.2,"%d.5"]}'
    body = _PROMETHEUS.replace(b'"result":[', b'"result":[' + b"".join(series % (n, n) + b"," for n in range(4000)))
    spoilt = spoil(body)
    assert len(list(_prometheus(body))) > 4000
    assert set(_prometheus(spoilt)) <= numbers_in(spoilt)


def test_pysnmp_survives_what_it_cannot_read() -> None:
    for changes in ([Change("flip", 0.9, 0.5, b"")], [Change("cut off", 0.6, 0.0, b"")]):
        scrape, took = polled(COLUMNS["snmp pysnmp"], lambda body, changes=changes: damaged(body, changes))
        assert took <= DEADLINE
        assert set(scrape.reply.tolist()) <= set(Reply)
