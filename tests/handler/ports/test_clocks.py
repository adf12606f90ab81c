"""Clocks of clouds, by one answer of any kind: single calls, of which every edge is scripted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests
import responses

from config.errors import Transient
from config.model.access import Trust
from config.units import CloudId, Instant
from handler.ports.clocks import look_at_clock
from handler.ports.examination import Verdict

ENDPOINT = "https://cloud.example.org/client/api"
NOW = Instant(1769869200.0)
AGREES = {"Date": "Sat, 31 Jan 2026 14:20:00 GMT"}


@pytest.fixture
def cloud() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock() as scripted:
        yield scripted


def look() -> tuple[Verdict, str]:
    seen = look_at_clock(CloudId("prod"), ENDPOINT, Trust(), 5.0, lambda: NOW)
    return seen.verdict, seen.words


@pytest.mark.parametrize(
    ("date", "verdict", "words"),
    [
        pytest.param("Sat, 31 Jan 2026 14:20:00 GMT", Verdict.OK, "its clock agrees with ours", id="agrees"),
        pytest.param("Sat, 31 Jan 2026 14:22:00 GMT", Verdict.PROBLEM, "its clock is 120 s ahead of ours", id="ahead"),
        pytest.param("Sat, 31 Jan 2026 14:18:00 GMT", Verdict.PROBLEM, "its clock is 119 s behind ours", id="behind"),
        pytest.param("yesterday", Verdict.UNKNOWN, "its answers do not tell the time", id="no date"),
        pytest.param("", Verdict.UNKNOWN, "its answers do not tell the time", id="empty"),
    ],
)
def test_the_date_of_an_answer_is_held_against_ours(
    cloud: responses.RequestsMock, date: str, verdict: Verdict, words: str
) -> None:
    cloud.get(ENDPOINT, headers={"Date": date})
    assert look() == (verdict, words)


@pytest.mark.parametrize("status", [401, 405, 500, 503])
def test_a_refusal_tells_the_time_as_well(cloud: responses.RequestsMock, status: int) -> None:
    cloud.get(ENDPOINT, status=status, headers=AGREES)
    assert look() == (Verdict.OK, "its clock agrees with ours")


def test_a_redirection_is_an_answer_and_is_not_followed(cloud: responses.RequestsMock) -> None:
    cloud.get(ENDPOINT, status=302, headers={**AGREES, "Location": "https://elsewhere.example.org/"})
    assert look() == (Verdict.OK, "its clock agrees with ours")
    assert len(cloud.calls) == 1


def test_nothing_is_asked_for_and_nobody_is_named(cloud: responses.RequestsMock) -> None:
    cloud.get(ENDPOINT, headers=AGREES)
    look()
    (call,) = cloud.calls
    assert (call.request.url, call.request.body) == (ENDPOINT, None)
    assert not {"Authorization", "Cookie"} & {*call.request.headers}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(requests.ReadTimeout("pool of cloud.example.org"), "no answer in time", id="late"),
        pytest.param(requests.ConnectTimeout("pool of cloud.example.org"), "no answer in time", id="nobody in time"),
        pytest.param(requests.ConnectionError(OSError("?signature=s3cret")), "ConnectionError", id="nothing known"),
    ],
)
def test_no_answer_is_transient_and_says_why(cloud: responses.RequestsMock, error: Exception, words: str) -> None:
    cloud.get(ENDPOINT, body=error)
    with pytest.raises(Transient) as raised:
        look()
    assert str(raised.value) == f"prod: {ENDPOINT} was not answered: {words}"
