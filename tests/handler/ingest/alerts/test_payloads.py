from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.ingest.alerts.json_shapes import instant_of
from handler.ingest.alerts.notifications import ALERTS_AT_MOST, Payload, ReceivedAlert, Sender, UnreadablePayload
from handler.ingest.alerts.payloads import read
from handler.ports.alerts import AlertStatus
from tests.support.hooks import FINGERPRINT, a_grafana_alert, alertmanager, an_alert, body, grafana
from tests.support.trigger import NOON


def _read(payload: object) -> Payload:
    found = read(body(payload))
    assert isinstance(found, Payload), found
    return found


def _only(payload: object) -> ReceivedAlert:
    (alert,) = _read(payload).alerts
    return alert


def _problem(payload: object) -> str:
    found = read(body(payload))
    assert isinstance(found, UnreadablePayload), found
    return found.message


_NEWER = {"notification_reason": "new alerts added", "routeLabels": {"team": "web"}}


@pytest.mark.parametrize(
    ("payload", "sender"),
    [
        pytest.param(alertmanager(), Sender.ALERTMANAGER, id="alertmanager 0.25"),
        pytest.param(alertmanager(**_NEWER), Sender.ALERTMANAGER, id="a newer alertmanager"),
        pytest.param(grafana(a_grafana_alert(values=None, imageURL="http://g/i.png")), Sender.GRAFANA, id="grafana 9"),
        pytest.param(grafana(a_grafana_alert(values={"B0": 3.5})), Sender.GRAFANA, id="grafana 10"),
        pytest.param(grafana(a_grafana_alert(orgId=1), appVersion="11.2.0"), Sender.GRAFANA, id="grafana 11"),
        pytest.param(
            grafana(a_grafana_alert(orgId=1, ruleUID="abc", enrichments=[]), appVersion="12.1.0"),
            Sender.GRAFANA,
            id="grafana 12",
        ),
    ],
)
def test_senders_differ_by_content(payload: object, sender: Sender) -> None:
    found = _read(payload)
    assert found.sender is sender
    assert found.alerts[0].labels["alertname"] == "WebSlow"
    assert found.alerts[0].starts_at == pytest.approx(NOON, abs=0.2)


def test_each_alert_has_its_own_status_whatever_the_payload_says() -> None:
    found = _read(alertmanager(an_alert("firing"), an_alert("resolved", fingerprint="ab"), status="firing"))
    assert [alert.status for alert in found.alerts] == [AlertStatus.FIRING, AlertStatus.RESOLVED]
    assert [alert.ends_at for alert in found.alerts] == [None, NOON + 60.0]


def test_alerts_that_were_left_out_are_counted() -> None:
    assert _read(alertmanager(truncatedAlerts=12)).truncated == 12
    assert _read({key: value for key, value in alertmanager().items() if key != "truncatedAlerts"}).truncated == 0


def test_values_are_the_finite_numbers_among_them() -> None:
    payload = grafana(a_grafana_alert(values={"A": 1, "B": 2.5, "C": None, "D": "7", "E": True, "F": 10**400}))
    assert _only(payload).values == {"A": 1.0, "B": 2.5}
    infinite = body(grafana(a_grafana_alert(values={"A": float("inf"), "B": float("nan")})))
    assert read(infinite).alerts[0].values == {}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-01-01T12:00:00Z", NOON),
        ("2026-01-01t12:00:00z", NOON),
        ("2026-01-01T13:00:00+01:00", NOON),
        ("2026-01-01T12:00:00.5Z", NOON + 0.5),
        ("2026-01-01T12:00:00.123456789Z", pytest.approx(NOON + 0.123456)),
        ("2026-01-01T06:30:00.000000000000-05:30", NOON),
        ("0001-01-01T00:00:00Z", None),
        ("0001-01-01T00:00:00+14:00", None),
    ],
)
def test_instants_are_rfc_3339_with_any_fraction(text: str, instant: float | None) -> None:
    assert instant_of(text) == instant


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026-01-01", "2026-01-01 12:00:00Z", "2026-01-01T12:00:00", "2026-13-01T12:00:00Z", "2026-W01-1",
     "2026-01-01T12:00:61Z", "２026-01-01T12:00:00Z", "2026-01-01T12:00:00Z\n", "0000-01-01T00:00:00Z"],
)  # fmt: skip
def test_anything_else_is_no_instant(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the reader turns it into words
        instant_of(text)
    assert "alerts[0].startsAt" in _problem(alertmanager(an_alert(startsAt=text)))


@pytest.mark.parametrize("given_one", [None, "", "ABCDEF", "../../etc", 7, "f" * 65])
def test_without_a_fingerprint_one_comes_from_the_labels(given_one: object) -> None:
    made = _only(alertmanager(an_alert(fingerprint=given_one))).fingerprint
    labels = an_alert()["labels"]
    turned = dict(reversed(labels.items()))
    assert made == _only(alertmanager(an_alert(fingerprint=given_one, labels=turned))).fingerprint
    assert made != _only(alertmanager(an_alert(fingerprint=given_one, labels={**labels, "instance": "b"}))).fingerprint
    assert len(made) == 16
    assert _only(alertmanager()).fingerprint == FINGERPRINT


def _without(payload: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if name != key}


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        pytest.param([], "understood JSON []", id="array"),
        pytest.param({}, "a JSON object with nothing", id="empty"),
        pytest.param({"text": "hi", "channel": "#ops"}, 'with "channel", "text"', id="another hook's"),
        pytest.param(alertmanager(version="3"), 'version "3" without orgId', id="older"),
        pytest.param(alertmanager(version=4), "version 4 without orgId", id="a number"),
        pytest.param(_without(grafana(), "orgId"), 'version "1" without orgId', id="grafana's, no org"),
        pytest.param(grafana(version="4"), 'version "4" with orgId', id="both"),
        pytest.param(_without(alertmanager(), "alerts"), "expected an array at alerts, found null", id="no alerts"),
        pytest.param(alertmanager() | {"alerts": []}, "expected at least one alert", id="none"),
        pytest.param(alertmanager() | {"alerts": ["x"]}, 'expected an object at alerts[0], found "x"', id="no object"),
        pytest.param(alertmanager(an_alert("pending")), 'alerts[0].status, found "pending"', id="status"),
        pytest.param(alertmanager(an_alert(labels=[])), "expected an object at alerts[0].labels", id="labels"),
        pytest.param(alertmanager(an_alert(labels={"a": 1})), 'expected text at alerts[0].labels."a"', id="label"),
        pytest.param(alertmanager(an_alert(startsAt=7)), "an RFC 3339 instant at alerts[0].startsAt", id="start"),
        pytest.param(alertmanager(truncatedAlerts="many"), "a count at truncatedAlerts", id="truncated"),
        pytest.param(grafana(a_grafana_alert(values=[1])), "expected an object at alerts[0].values", id="values"),
    ],
)
def test_another_shape_is_refused_with_what_was_understood_and_what_was_expected(payload: object, says: str) -> None:
    assert says in _problem(payload)
    assert "expected" in _problem(payload)


def test_more_alerts_than_are_taken_at_once_are_too_large() -> None:
    assert isinstance(read(body(alertmanager(*[an_alert()] * ALERTS_AT_MOST))), Payload)
    found = read(body(alertmanager(*[an_alert()] * (ALERTS_AT_MOST + 1))))
    assert isinstance(found, UnreadablePayload)
    assert found.too_large
    assert "max_alerts" in found.message


@pytest.mark.parametrize(
    "raw",
    [b"", b"\xff\xfe", b"{", b"[" * 100_000, b'{"a":' * 50_000, b"9" * 10_000, b"NaN", b'"\\ud800"', b"\x00"],
    ids=["empty", "no text", "cut", "deep arrays", "deep objects", "long number", "nan", "surrogate", "nul"],
)
def test_bytes_that_are_no_payload_are_refused_in_words(raw: bytes) -> None:
    found = read(raw)
    assert isinstance(found, UnreadablePayload)
    assert len(found.message) < 400


def test_a_message_quotes_little_of_a_foreign_member() -> None:
    assert len(_problem({"k" * 10_000: 1})) < 400
    assert len(_problem(alertmanager(an_alert("x" * 10_000)))) < 400


@given(st.binary(max_size=200))
def test_any_bytes_give_a_payload_or_a_reason(raw: bytes) -> None:
    assert isinstance(read(raw), Payload | UnreadablePayload)


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("2026-01-01T00:00:00Z"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from([alertmanager(), grafana()]),
    st.dictionaries(st.sampled_from(["version", "orgId", "alerts", "truncatedAlerts", "status"]), _ANY, max_size=2),
    st.dictionaries(
        st.sampled_from(["status", "labels", "annotations", "values", "startsAt", "endsAt", "fingerprint"]),
        _ANY,
        max_size=3,
    ),
)
def test_a_payload_with_anything_in_any_place_gives_a_payload_or_a_reason(
    payload: dict[str, Any], outer: dict[str, Any], inner: dict[str, Any]
) -> None:
    broken = {**payload, "alerts": [{**payload["alerts"][0], **inner}], **outer}
    found = read(json.dumps(broken).encode("utf-8", "surrogatepass"))
    assert isinstance(found, Payload | UnreadablePayload)
