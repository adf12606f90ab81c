from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests
import responses

from collector.clients.http.pool import date_at
from config.errors import Transient
from config.model.access import Trust
from config.units import Instant
from handler.planning.headroom import UsageLimit
from handler.ports.examination import CheckVerdict, clock_look, look_at_clock, quota_look

AT = Instant(1769869200.0)
"""2026-01-31 14:20:00 UTC."""


@pytest.mark.parametrize(
    ("date", "verdict", "words"),
    [
        pytest.param("Sat, 31 Jan 2026 14:20:00 GMT", CheckVerdict.OK, "agrees", id="the same second"),
        pytest.param("Sat, 31 Jan 2026 14:20:29 GMT", CheckVerdict.OK, "agrees", id="a little ahead"),
        pytest.param("Sat, 31 Jan 2026 14:20:40 GMT", CheckVerdict.PROBLEM, "30 s ahead of", id="ahead"),
        pytest.param("Sat, 31 Jan 2026 14:19:29 GMT", CheckVerdict.PROBLEM, "30 s behind", id="behind"),
        pytest.param("Sat, 31 Jan 2026 16:20:00 +0200", CheckVerdict.OK, "agrees", id="in another zone"),
        pytest.param(None, CheckVerdict.UNKNOWN, "do not contain the time", id="no clock"),
        pytest.param("yesterday, or so", CheckVerdict.UNKNOWN, "do not contain the time", id="garbage"),
        pytest.param(
            "Sat, 31 Jan 99999 14:20:00 GMT", CheckVerdict.UNKNOWN, "do not contain the time", id="no such year"
        ),
    ],
)
def test_a_clock_is_held_against_ours_by_more_than_the_answer_took(
    date: str | None, verdict: CheckVerdict, words: str
) -> None:
    look = clock_look(date, AT, Instant(AT + 10.0))

    assert (look.verdict, words in look.words) == (verdict, True), look.words


def machines(used: float, most: float | None) -> UsageLimit:
    return UsageLimit(what="machines", used=used, most=most)


CORES_SPENT, CORES_LEFT = UsageLimit(what="cores", used=8, most=8), UsageLimit(what="cores", used=7, most=8)


@pytest.mark.parametrize(
    ("limit", "others", "most", "present", "verdict"),
    [
        pytest.param(machines(4, None), (), 1000, 4, CheckVerdict.OK, id="no limit"),
        pytest.param(machines(4, 10), (), 10, 4, CheckVerdict.OK, id="just room for all"),
        pytest.param(machines(5, 10), (), 10, 4, CheckVerdict.PROBLEM, id="another owner's machine is in the way"),
        pytest.param(machines(10, 10), (), 10, 10, CheckVerdict.OK, id="all are there"),
        pytest.param(machines(12, 10), (), 10, 12, CheckVerdict.OK, id="more than there may be"),
        pytest.param(machines(4, None), (CORES_SPENT,), 10, 4, CheckVerdict.PROBLEM, id="something else is used up"),
        pytest.param(machines(4, None), (CORES_LEFT,), 10, 4, CheckVerdict.OK, id="something else is not used up"),
        pytest.param(
            machines(4, None), (CORES_SPENT,), 4, 4, CheckVerdict.OK, id="used up, and nothing more is wanted"
        ),
    ],
)
def test_a_quota_is_a_problem_when_groups_cannot_grow_to_their_maxima(
    limit: UsageLimit, others: tuple[UsageLimit, ...], most: int, present: int, verdict: CheckVerdict
) -> None:
    look = quota_look(limit, others, most, present)

    assert look.verdict is verdict
    assert bool(look.remedy) is (verdict is CheckVerdict.PROBLEM)


ENDPOINT = "https://cloud.example.org/client/api"
NOW = Instant(1769869200.0)
AGREES = {"Date": "Sat, 31 Jan 2026 14:20:00 GMT"}


@pytest.fixture
def cloud() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock() as scripted:
        yield scripted


def look() -> tuple[CheckVerdict, str]:
    seen = look_at_clock(lambda: date_at("prod", ENDPOINT, Trust(), 5.0), lambda: NOW)
    return seen.verdict, seen.words


@pytest.mark.parametrize(
    ("date", "verdict", "words"),
    [
        pytest.param("Sat, 31 Jan 2026 14:20:00 GMT", CheckVerdict.OK, "its clock agrees with ours", id="agrees"),
        pytest.param(
            "Sat, 31 Jan 2026 14:22:00 GMT", CheckVerdict.PROBLEM, "its clock is 120 s ahead of ours", id="ahead"
        ),
        pytest.param(
            "Sat, 31 Jan 2026 14:18:00 GMT", CheckVerdict.PROBLEM, "its clock is 119 s behind ours", id="behind"
        ),
        pytest.param("yesterday", CheckVerdict.UNKNOWN, "its answers do not contain the time", id="no date"),
        pytest.param("", CheckVerdict.UNKNOWN, "its answers do not contain the time", id="empty"),
    ],
)
def test_the_date_of_an_answer_is_held_against_ours(
    cloud: responses.RequestsMock, date: str, verdict: CheckVerdict, words: str
) -> None:
    cloud.get(ENDPOINT, headers={"Date": date})
    assert look() == (verdict, words)


@pytest.mark.parametrize("status", [401, 405, 500, 503])
def test_a_refusal_tells_the_time_as_well(cloud: responses.RequestsMock, status: int) -> None:
    cloud.get(ENDPOINT, status=status, headers=AGREES)
    assert look() == (CheckVerdict.OK, "its clock agrees with ours")


def test_a_redirection_is_an_answer_and_is_not_followed(cloud: responses.RequestsMock) -> None:
    cloud.get(ENDPOINT, status=302, headers={**AGREES, "Location": "https://elsewhere.example.org/"})
    assert look() == (CheckVerdict.OK, "its clock agrees with ours")
    assert len(cloud.calls) == 1


def test_the_request_has_no_body_and_no_credentials(cloud: responses.RequestsMock) -> None:
    cloud.get(ENDPOINT, headers=AGREES)
    look()
    (call,) = cloud.calls
    assert (call.request.url, call.request.body) == (ENDPOINT, None)
    assert not {"Authorization", "Cookie"} & {*call.request.headers}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(requests.ReadTimeout("pool of cloud.example.org"), "no answer in time", id="late"),
        pytest.param(requests.ConnectTimeout("pool of cloud.example.org"), "no answer in time", id="no answer in time"),
        pytest.param(requests.ConnectionError(OSError("?signature=s3cret")), "ConnectionError", id="nothing known"),
    ],
)
def test_no_answer_is_transient_and_says_why(cloud: responses.RequestsMock, error: Exception, words: str) -> None:
    cloud.get(ENDPOINT, body=error)
    with pytest.raises(Transient) as raised:
        look()
    assert str(raised.value) == f"prod: {ENDPOINT} was not answered: {words}"
