"""NITRO's envelope and its objects: every way of saying yes, no, and half."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.clients.http.failures import HttpFailure
from collector.clients.nitro.parsing import NitroAnswer, NitroFailure, decode, things
from collector.samples import Reply
from collector.sources.netscaler.parsing import figure


def decoded(status: int, body: object) -> NitroAnswer | NitroFailure:
    return decode(status, body if isinstance(body, bytes) else json.dumps(body).encode())


def an_error(code: object, message: str = "words", **more: object) -> dict[str, object]:
    return {"errorcode": code, "message": message, "severity": "ERROR", **more}


@pytest.mark.parametrize(
    ("status", "body", "reply"),
    [
        (401, an_error(354), Reply.AUTH),
        (200, an_error(355), Reply.AUTH),
        (403, an_error(2138), Reply.AUTH),
        (404, an_error(258), Reply.REFUSED),
        (599, an_error(344), Reply.REFUSED),
        (200, an_error(461), Reply.REFUSED),
        (503, an_error(446), Reply.RATE_LIMITED),
        (200, an_error("445"), Reply.RATE_LIMITED),
        (200, an_error(1028), Reply.UNREACHABLE),
        (200, an_error(9999), Reply.MALFORMED),
        (599, an_error(9999), Reply.UNREACHABLE),
        (404, b"<html>Not Found", Reply.UNREACHABLE),
        (500, b"", Reply.UNREACHABLE),
        (200, b"<html>Log in", Reply.MALFORMED),
        (200, b'{"errorcode": 0, "lbvserver": [{"na', Reply.MALFORMED),
        (200, b"[" * 100_000, Reply.MALFORMED),
        (200, [1], Reply.MALFORMED),
        (200, {"errorcode": None}, Reply.MALFORMED),
        (200, {"errorcode": True}, Reply.MALFORMED),
    ],
)
def test_an_error_is_known_by_its_number_before_its_status(status: int, body: object, reply: Reply) -> None:
    failure = decoded(status, body)

    assert isinstance(failure, NitroFailure)
    assert failure.reply is reply
    assert failure.detail
    assert not failure.expired


@pytest.mark.parametrize(
    ("status", "body"),
    [(401, an_error(444)), (200, an_error(444)), (599, an_error("1027")), (401, b""), (401, {"errorcode": 0})],
    ids=["with its status", "with success", "text, with another status", "only a status", "a status against a number"],
)
def test_a_session_that_is_over_is_no_failure_yet(status: int, body: object) -> None:
    failure = decoded(status, body)

    assert isinstance(failure, NitroFailure)
    assert failure.expired


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (207, an_error(1243, "Bulk operation failed", service=[{"name": "a"}])),
        (207, {"response": [{"errorcode": 0, "service": [{"name": "a"}]}, an_error(258)]}),
        (209, {"errorcode": 0, "service": [{"name": "a"}]}),
        (200, {"errorcode": 1, "message": "stale", "severity": "WARNING", "service": {"name": "a"}}),
    ],
    ids=["partial", "each in its own answer", "with a warning", "a warning by its severity"],
)
def test_what_came_of_half_an_answer_is_read_and_doubted(status: int, body: object) -> None:
    found = decoded(status, body)

    assert isinstance(found, NitroAnswer)
    assert found.doubt
    assert [thing["name"] for thing in things(found.document, "service")] == ["a"]


def test_an_answer_without_an_error_number_is_a_success() -> None:
    found = decoded(200, {"system": {"starttime": "x"}})

    assert isinstance(found, NitroAnswer)
    assert not found.doubt
    assert list(things(found.document, "system")) == [{"starttime": "x"}]


def test_a_success_without_a_body_says_nothing_more() -> None:
    assert decoded(201, b"") == NitroAnswer(document={})


Json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["errorcode", "message", "service", "a"]), inner),
    max_leaves=10,
)


@given(
    st.sampled_from([200, 201, 207, 209, 400, 401, 404, 500, 599]), st.binary() | Json.map(json.dumps).map(str.encode)
)
def test_garbage_is_an_answer_or_a_failure_and_never_an_error(status: int, body: bytes) -> None:
    found = decoded(status, body)
    if isinstance(found, NitroFailure):
        assert found.detail
        return
    for thing in things(found.document, "service"):
        value = figure(thing, "a")
        assert bool(value.detail) if isinstance(value, HttpFailure) else math.isfinite(value)
