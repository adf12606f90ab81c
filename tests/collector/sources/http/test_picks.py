from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.clients.http.client import HttpFailure
from collector.samples import Reply
from collector.sources.http.picks import LONGEST_JSON, PickedNumber, picked
from config.model.counters import JsonPick, MetricPick


def at(path: str, document: object) -> list[float] | HttpFailure:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    (found,) = picked(body, "application/json", [JsonPick(path=path)])
    return found if isinstance(found, HttpFailure) else [row.value for row in found]


def rows(page: str, pick: MetricPick, kind: str = "text/plain") -> list[PickedNumber]:
    (found,) = picked(page.encode(), kind, [pick])
    assert not isinstance(found, HttpFailure), found
    return list(found)


def failed(page: str, pick: MetricPick, kind: str = "text/plain") -> HttpFailure:
    (found,) = picked(page.encode(), kind, [pick])
    assert isinstance(found, HttpFailure), found
    return found


@pytest.mark.parametrize(
    ("document", "value"),
    [(42, 42.0), (0, 0.0), (-1.5, -1.5), ("42", 42.0), (" 4.2e1 ", 42.0), (2**64, 2.0**64)],
)
def test_a_number_or_text_that_is_one_is_read(document: object, value: float) -> None:
    assert at("$.a", {"a": document}) == [value]
    assert at("$", document) == [value]


@pytest.mark.parametrize(
    ("found", "reply", "detail"),
    [
        pytest.param(True, Reply.MALFORMED, "true is not a number", id="true"),
        pytest.param(False, Reply.MALFORMED, "false is not a number", id="false is no zero"),
        pytest.param(None, Reply.NO_SUCH_COUNTER, "null", id="null is absence"),
        pytest.param("", Reply.MALFORMED, "'' is not a number", id="empty text"),
        pytest.param("42 jobs", Reply.MALFORMED, "'42 jobs' is not a number", id="text"),
        pytest.param("nan", Reply.MALFORMED, "'nan' is not a number", id="nan as text"),
        pytest.param([1], Reply.MALFORMED, "a list is not a number", id="list"),
        pytest.param({"b": 1}, Reply.MALFORMED, "an object is not a number", id="object"),
        pytest.param(10**400, Reply.MALFORMED, "the number is too large", id="too great"),
    ],
)
def test_what_is_no_number_is_no_value(found: object, reply: Reply, detail: str) -> None:
    assert at("$.a", {"a": found}) == HttpFailure(reply=reply, detail=detail)


def test_a_path_that_finds_nothing_is_absence() -> None:
    nothing = HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail="$.a.b finds nothing")

    for document in ({}, {"a": {}}, {"a": []}, [], 42, None):
        assert at("$.a.b", document) == nothing


def test_one_row_that_is_no_number_spoils_them_all() -> None:
    assert at("$[*].n", [{"n": 1}, {"n": None}, {"n": 3}]) == HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail="null")


def test_rows_of_an_object_have_names_and_those_of_a_list_have_none() -> None:
    body = json.dumps({"by": {"a": {"n": 1}, "b": {"n": 2}}, "list": [{"n": 3}]}).encode()

    named, listed = picked(body, "", [JsonPick(path="$.by.*.n"), JsonPick(path="$.list[*].n")])

    assert not isinstance(named, HttpFailure)
    assert not isinstance(listed, HttpFailure)
    assert [row.name for row in named] == ["$['by']['a']['n']", "$['by']['b']['n']"]
    assert [row.name for row in listed] == [None]


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        pytest.param(b"", Reply.MALFORMED, id="empty"),
        pytest.param(b'{"a": {"b": 4', Reply.INCOMPLETE, id="cut short"),
        pytest.param(b'{"a": "4', Reply.MALFORMED, id="cut short in text"),
        pytest.param(b"<html></html>", Reply.MALFORMED, id="html"),
        pytest.param(b"\xff\xff\x00", Reply.MALFORMED, id="bytes"),
        pytest.param(b"[" * 100_000, Reply.MALFORMED, id="deep"),
        pytest.param(b"1" * 10_000, Reply.MALFORMED, id="long number"),
        pytest.param(b'{"a": ' + b" " * LONGEST_JSON + b"1}", Reply.MALFORMED, id="huge"),
    ],
)
def test_what_is_no_document_is_no_value(body: bytes, reply: Reply) -> None:
    answer = at("$.a", body)

    assert isinstance(answer, HttpFailure)
    assert answer.reply is reply


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_json_does_not_know_as_a_number_is_not_finite(text: str) -> None:
    answer = at("$", text.encode())

    assert isinstance(answer, list)  # the sheet refuses it
    assert abs(answer[0]) not in {0.0, 1.0}


PAGE = """\
# HELP jobs Waiting jobs, jobs{queue="no sample"} 1
# TYPE jobs gauge
jobs{queue="mail",state="waiting"} 42
jobs{queue="print",state="waiting"} 7
jobs_total 99
jobsmore{queue="mail"} 1
"""


def test_a_sample_is_found_by_name_and_labels() -> None:
    assert [row.value for row in rows(PAGE, MetricPick(name="jobs", labels={"queue": "mail"}))] == [42.0]
    assert [row.value for row in rows(PAGE, MetricPick(name="jobs"))] == [42.0, 7.0]
    assert [row.value for row in rows(PAGE, MetricPick(name="jobs_total"))] == [99.0]


def test_a_label_that_is_missing_is_as_good_as_empty() -> None:
    """Source: Prometheus' data model."""
    assert [row.value for row in rows(PAGE, MetricPick(name="jobs_total", labels={"queue": ""}))] == [99.0]


@pytest.mark.parametrize(
    ("pick", "detail"),
    [
        (MetricPick(name="jobs", labels={"queue": "fax"}), "no sample of jobs has these labels"),
        (MetricPick(name="job"), "no job"),
        (MetricPick(name="jobs_created"), "no jobs_created, but jobs, jobs_total"),
    ],
)
def test_a_sample_that_is_not_there_is_absence(pick: MetricPick, detail: str) -> None:
    assert failed(PAGE, pick) == HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail=detail)


def test_a_count_knows_when_it_began_and_a_sample_when_it_was_taken() -> None:
    page = '# TYPE hits counter\nhits_total{a="1"} 7 1000.5\nhits_created{a="1"} 900 1000.5\n# EOF\n'

    found = rows(page, MetricPick(name="hits_total"), "application/openmetrics-text; version=1.0.0")

    assert found == [PickedNumber(value=7.0, name="[('a', '1')]", taken=1000.5, created=900.0)]


def test_prometheus_text_has_milliseconds() -> None:
    assert rows("hits 7 1000500\n", MetricPick(name="hits"))[0].taken == 1000.5


NAMES = st.sampled_from(["$", "$.a", "$..a", "$[*]", "$.a[?@.b > 1].c", "$['a','b']", "$..*"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=10,
)


@given(document=JSON, path=NAMES)
def test_no_document_is_an_exception_and_only_numbers_are_values(document: object, path: str) -> None:
    found = at(path, document)

    assert isinstance(found, HttpFailure) or all(isinstance(value, float) for value in found)


@given(body=st.binary(max_size=100), kind=st.sampled_from(["", "text/plain", "application/openmetrics-text"]))
def test_no_bytes_are_an_exception(body: bytes, kind: str) -> None:
    assert len(picked(body, kind, [JsonPick(path="$.a"), MetricPick(name="a")])) == 2


def test_a_key_that_is_twice_among_very_many_is_found_as_fast_as_the_document_is_read() -> None:
    keys = [f'"k{number}":1' for number in range(50_000)]
    began = time.thread_time()
    (found,) = picked(f"{{{','.join([*keys, keys[-1]])}}}".encode(), "", [JsonPick(path="$.k1")])

    assert found == HttpFailure(reply=Reply.AMBIGUOUS, detail="the key 'k49999' is there twice")
    assert time.thread_time() - began < 2.0
