from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.clients.http.client import HttpFailure
from collector.samples import Reply
from collector.sources.prometheus import parsing as prometheus_answers
from collector.sources.prometheus.parsing import STAMP, PromSeriesSet, decode
from tests.support.prometheus import a_vector


def decoded(document: object) -> PromSeriesSet:
    answer = decode(json.dumps(document).encode())
    assert isinstance(answer, PromSeriesSet), answer
    return answer


def refused(document: object) -> HttpFailure:
    answer = decode(document if isinstance(document, bytes) else json.dumps(document).encode())
    assert isinstance(answer, HttpFailure), answer
    return answer


def success(kind: str, result: object, **more: object) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": kind, "result": result}, **more}


def test_a_matrix_has_points_over_time() -> None:
    answer = decoded(success("matrix", [{"metric": {"q": "a"}, "values": [[1.0, "5"], [2.0, "7"]]}]))

    assert answer.over_time
    assert answer.lines[0].points == ((1.0, 5.0), (2.0, 7.0))
    assert answer.lines[0].newest == 2.0


def test_what_a_single_victoriametrics_answers_is_read() -> None:
    recorded = (
        b'{"status":"success","isPartial":false,"data":{"resultType":"vector","result":[{"metric":{"__name__":"up",'
        b'"instance":"a:9100"},"value":[1700000000,"1"]}]},"stats":{"seriesFetched": "1","executionTimeMsec":2}}'
    )

    answer = decode(recorded)

    assert isinstance(answer, PromSeriesSet)
    assert answer.lines[0].points == ((1700000000.0, 1.0),)


@pytest.mark.parametrize(
    ("more", "detail"),
    [
        pytest.param(
            {"warnings": ["No StoreAPIs matched for this query"]},
            "No StoreAPIs matched for this query",
            id="thanos warns",
        ),
        pytest.param({"isPartial": True}, "a partial response", id="victoriametrics is partial"),
        pytest.param(
            {"infos": ["PromQL info: ignored histogram in max aggregation (1:1)"]},
            "PromQL info: ignored histogram in max aggregation (1:1)",
            id="samples were left out",
        ),
    ],
)
def test_an_answer_that_is_not_whole_is_none(more: dict[str, Any], detail: str) -> None:
    assert refused(a_vector(({}, "1"), **more)) == HttpFailure(reply=Reply.INCOMPLETE, detail=detail)


@pytest.mark.parametrize(
    "info",
    [
        'PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "hits" (1:6)',
        "PromQL info: input to histogram_quantile needed to be fixed for monotonicity (see https://prometheus.io)",
    ],
)
def test_a_comment_on_the_query_leaves_the_answer_whole(info: str) -> None:
    assert len(decoded(a_vector(({}, "1"), infos=[info])).lines) == 1


@pytest.mark.parametrize(
    ("kind", "reply"),
    [
        ("bad_data", Reply.MALFORMED),
        ("execution", Reply.MALFORMED),
        ("timeout", Reply.UNREACHABLE),
        ("unavailable", Reply.UNREACHABLE),
        ("canceled", Reply.UNREACHABLE),
        ("internal", Reply.UNREACHABLE),
        ("too_many_requests", Reply.RATE_LIMITED),
    ],
)
def test_an_error_has_a_kind_and_the_servers_words(kind: str, reply: Reply) -> None:
    answer = refused({"status": "error", "errorType": kind, "error": "what is wrong"})

    assert answer == HttpFailure(reply=reply, detail=f"{kind}: what is wrong")


@pytest.mark.parametrize(
    "result",
    [
        pytest.param([{"metric": {}, "value": [10**400, "1"]}], id="a time beyond all bounds"),
        pytest.param([{"metric": {}, "value": [1.0, "٤٢"]}], id="digits of another script"),
        pytest.param([{"metric": {}, "value": [1.0, "1_000"]}], id="digits as Python writes them"),
        pytest.param(
            [{"metric": {}, "value": [1.0, "42"]}, {"metric": {STAMP: "1"}, "value": [1.0, "NaN"]}],
            id="the time of a sample is none",
        ),
    ],
)
def test_what_prometheus_never_writes_is_not_its_answer(result: list[dict[str, Any]]) -> None:
    assert refused(success("vector", result)).reply is Reply.MALFORMED


def test_text_is_no_number() -> None:
    assert refused(success("string", [1.0, "42"])).detail == "the query returns text, not a number"


def test_a_native_histogram_is_no_number() -> None:
    answer = decoded(success("vector", [{"metric": {}, "histogram": [1.0, {"count": "3", "sum": "4"}]}]))

    assert str(answer.lines[0].points[0][1]) == "nan"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"42",
        b"<html>502 Bad Gateway</html>",
        b'{"status":"success"}',
        b'{"status":"success","data":{"resultType":"vector","result":null}}',
        b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"4 2"]}]}}',
        b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":["1"]}]}}',
        b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,{}]}]}}',
        b'{"status":"success","data":{"resultType":"vector","result":[',
        b"\xff\xfe",
        b"[" * 200_000,
        b'{"status":"success","data":{"resultType":"scalar","result":[1,"'
        + b"9" * 5000
        + b'"]},"x":'
        + b"9" * 5000
        + b"}",
    ],
    ids=range(14),
)
def test_what_is_not_the_api_is_malformed(body: bytes) -> None:
    assert refused(body).reply is Reply.MALFORMED


def big(count: int) -> dict[str, Any]:
    series = [
        ({"instance": f"10.0.{n // 250}.{n % 250}:9100", "text": '"result":[{]},{'}, str(n)) for n in range(count)
    ]
    return a_vector(*series)


def test_a_long_answer_is_read_piece_by_piece_to_the_same_end(monkeypatch: pytest.MonkeyPatch) -> None:
    document = big(40)
    at_once = decoded(document)

    monkeypatch.setattr(prometheus_answers, "_LONG", 0)

    assert decoded(document) == at_once
    assert decoded(success("vector", [])).lines == ()
    assert refused({**document, "warnings": ["a store is away"]}).reply is Reply.INCOMPLETE
    assert refused(json.dumps(document).encode()[:-40]).reply is Reply.MALFORMED


@given(st.binary(max_size=200))
def test_no_bytes_are_an_exception(body: bytes) -> None:
    assert isinstance(decode(body), PromSeriesSet | HttpFailure)


WORDS = st.sampled_from(
    ["status", "success", "error", "errorType", "data", "result", "resultType", "vector", "matrix", "scalar", "metric",
     "value", "values", "1", "NaN", "warnings", "infos", "isPartial", "trimtab_stamp"]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(kind=WORDS, result=JSON, more=st.dictionaries(WORDS, JSON, max_size=3))
def test_no_document_is_an_exception(kind: str, result: object, more: dict[str, Any]) -> None:
    document = {"status": "success", "data": {"resultType": kind, "result": result}} | more

    assert isinstance(decode(json.dumps(document).encode()), PromSeriesSet | HttpFailure)


@pytest.mark.parametrize("label", ["[1]", "{}", "5", "null"])
def test_a_label_that_is_no_text_makes_the_answer_another_one_s(label: str) -> None:
    line = f'{{"metric":{{"instance":{label}}},"value":[1795240836.2,"5"]}}'
    body = f'{{"status":"success","data":{{"resultType":"vector","result":[{line}]}}}}'.encode()

    assert decode(body) == HttpFailure(reply=Reply.MALFORMED, detail="the endpoint is not Prometheus' query API")
