"""Requests are verified as real clients sign them: the libraries themselves, and what Go's clients send."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping

import cs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libcloud.common.cloudstack import CloudStackConnection

from config.units import Instant
from handler.cloudstack_api.signatures import is_signed, is_timely

SECRET = "s3cr-et+/= of a user"
NOW = Instant(1769853600.0)  # 2026-01-31T10:00:00Z
ODD = {"command": "createCounter", "apiKey": "k", "name": "a b*c/é+&=~[0]", "otherdeployparams[0].name": "x"}


def by_cs(parameters: Mapping[str, str]) -> dict[str, str]:
    signed = dict(parameters)
    cs.CloudStack(endpoint="http://127.0.0.1", key="k", secret=SECRET)._sign(signed)
    return {name: value if isinstance(value, str) else value.decode() for name, value in signed.items()}


def by_libcloud(parameters: Mapping[str, str]) -> dict[str, str]:
    connection = CloudStackConnection("k", SECRET)
    return {**parameters, "signature": connection._make_signature(dict(parameters)).decode()}


def by_text(parameters: Mapping[str, str], text: str, hashed: str = "sha1") -> dict[str, str]:
    digest = hmac.new(SECRET.encode(), text.lower().encode(), hashed).digest()
    return {**parameters, "signature": base64.b64encode(digest).decode()}


GO = by_text(  # cloudstack-go: url.QueryEscape, blanks as %20, names as sent, in their order
    {"apiKey": "k", "command": "listCounters", "name": "a*b~c d", "signatureversion": "3"},
    "apiKey=k&command=listCounters&name=a%2Ab~c%20d&signatureversion=3",
)
JAVA = by_text(
    {"command": "listCounters", "Zone": "1", "apiKey": "k", "name": "a*b~c"},
    "Zone=1&apiKey=k&command=listCounters&name=a*b%7Ec",
)
CASELESS = by_text(
    {"command": "listCounters", "Zone": "1", "apiKey": "k"}, "apikey=k&command=listcounters&zone=1"
)  # Marvin


@pytest.mark.parametrize(
    "signed",
    [by_cs(ODD), by_libcloud(ODD), GO, JAVA, CASELESS],
    ids=["cs", "libcloud", "cloudstack-go", "java", "marvin"],
)
def test_what_a_client_signs_is_accepted_and_with_another_value_refused(signed: dict[str, str]) -> None:
    assert is_signed(signed, SECRET)
    assert not is_signed(signed, SECRET + "x")
    assert not is_signed({**signed, "command": "deleteCounter"}, SECRET)
    assert not is_signed({**signed, "more": "1"}, SECRET)


@pytest.mark.parametrize("hashed", ["sha256", "sha512"])
def test_a_signature_may_be_made_with_a_longer_hash(hashed: str) -> None:
    assert is_signed(by_text({"command": "listCounters"}, "command=listCounters", hashed), SECRET)


def test_a_plus_in_a_signature_that_arrives_as_a_blank_is_a_plus() -> None:
    texts = (by_text({"command": f"list{number}"}, f"command=list{number}") for number in range(200))
    signed = next(each for each in texts if "+" in each["signature"])

    assert is_signed({**signed, "signature": signed["signature"].replace("+", " ")}, SECRET)


@pytest.mark.parametrize("signature", ["", "é", "====", "AAAA", "not base64!"])
def test_what_is_no_signature_is_refused(signature: str) -> None:
    assert not is_signed({"command": "listCounters", "signature": signature}, SECRET)


def test_a_name_that_could_stand_for_two_parameters_is_refused() -> None:
    text = "command=listCounters&id=1"

    assert is_signed(by_text({"command": "listCounters", "id": "1"}, text), SECRET)
    assert not is_signed(by_text({"command=listCounters&id": "1"}, text), SECRET)


@given(st.dictionaries(st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,8}", fullmatch=True), st.text(max_size=12), max_size=5))
def test_what_the_libraries_sign_is_accepted_whatever_it_says(parameters: dict[str, str]) -> None:
    parameters = {name: value for name, value in parameters.items() if name.lower() != "signature"}
    if len({name.lower() for name in parameters}) < len(parameters):
        return
    if not any("\ud800" <= letter <= "\udfff" for value in parameters.values() for letter in value):
        assert is_signed(by_cs(parameters), SECRET)
        assert is_signed(by_libcloud(parameters), SECRET)


@pytest.mark.parametrize(
    ("expires", "timely"),
    [
        ("2026-01-31T10:10:00+0000", True),
        ("2026-01-31T11:10:00+01:00", True),
        ("2026-01-31T10:10:00Z", True),
        ("2026-01-31T10:10:00.123456Z", True),
        ("2026-01-31T10:10:00Z+0000", True),
        ("2026-01-31T10:15:00Z", True),
        ("2026-01-31T10:16:00Z", True),
        ("2026-01-31T10:16:01Z", False),
        ("2026-01-31T10:00:00Z", False),
        ("2026-01-31", False),
        ("", False),
        ("0001-01-01T00:00:00+2359", False),
    ],
)
def test_a_request_of_version_3_lasts_15_minutes_at_most_by_a_clock_up_to_a_minute_ahead(
    expires: str, timely: bool
) -> None:
    assert is_timely({"signatureversion": "3", "expires": expires}, NOW, require_expiry=False) is timely


def test_a_request_without_a_time_is_accepted_unless_one_is_required() -> None:
    assert is_timely({"command": "listCounters"}, NOW, require_expiry=False)
    assert not is_timely({"command": "listCounters"}, NOW, require_expiry=True)
