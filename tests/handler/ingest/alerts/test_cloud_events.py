from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from handler.ingest.alerts.cloud_events import BATCHED, STRUCTURED
from handler.ingest.alerts.notifications import Payload, ReceivedAlert, Sender, UnreadablePayload
from handler.ingest.alerts.payloads import read
from handler.ports.alerts import AlertStatus
from tests.support.hooks import alertmanager, body
from tests.support.trigger import NOON


def event(**rest: Any) -> dict[str, Any]:
    """An event in the JSON format of CloudEvents 1.0.2."""
    return {
        "specversion": "1.0",
        "id": "A234-1234-1234",
        "source": "/queues/orders",
        "type": "com.example.queue.long",
        "subject": "orders",
        "time": "2026-01-01T12:00:00Z",
        "datacontenttype": "application/json",
        "data": {"depth": 812, "note": "long"},
        **rest,
    }


def binary(**rest: str) -> dict[str, str]:
    """The headers of the same event in binary mode."""
    names = ("specversion", "id", "source", "type", "subject", "time")
    attributes = {**{name: event()[name] for name in names}, **rest}
    return {"content-type": "application/json", **{f"ce-{name}": value for name, value in attributes.items()}}


def alerts(sent: bytes, headers: dict[str, str]) -> tuple[ReceivedAlert, ...]:
    found = read(sent, headers)
    assert isinstance(found, Payload), found
    assert found.sender is Sender.CLOUDEVENTS
    return found.alerts


def one(document: dict[str, Any]) -> ReceivedAlert:
    (alert,) = alerts(body(document), {"content-type": f"{STRUCTURED}; charset=utf-8"})
    return alert


def test_an_event_is_an_alert_that_fires_named_by_its_type() -> None:
    alert = one(event())
    assert alert.status is AlertStatus.FIRING
    assert alert.labels == {
        "alertname": "com.example.queue.long", "type": "com.example.queue.long",
        "source": "/queues/orders", "subject": "orders",
    }  # fmt: skip
    assert alert.values == {"depth": 812.0}
    assert alert.starts_at == NOON


def test_structured_and_binary_mode_mean_the_same() -> None:
    (alert,) = alerts(body(event()["data"]), binary())
    assert alert == one(event())


def test_attributes_in_headers_are_percent_decoded() -> None:
    (alert,) = alerts(b"", binary(subject="caf%C3%A9%20%22a%22"))
    assert alert.labels["subject"] == 'café "a"'


def test_a_batch_is_one_alert_for_each_event() -> None:
    sent = json.dumps([event(), event(id="2", subject="mail")]).encode()
    found = alerts(sent, {"content-type": BATCHED})
    assert [alert.labels["subject"] for alert in found] == ["orders", "mail"]
    assert found[0].fingerprint != found[1].fingerprint


def test_events_of_one_source_differ_by_their_ids_alone() -> None:
    first, other = one(event()), one(event(id="another"))
    assert first.fingerprint == other.fingerprint
    assert first.episode != other.episode
    assert one(event(source="/elsewhere")).episode != first.episode


def test_data_of_another_sender_are_its_alerts() -> None:
    carried = one(event(data=alertmanager()))
    assert carried.labels["alertname"] == "WebSlow"
    assert carried.episode is None, "its start makes repetitions known"


def test_data_in_trimtabs_own_form_have_the_events_id() -> None:
    carried = one(event(data={"alert": "QueueLong", "status": "resolved"}))
    assert (carried.labels["alertname"], carried.status) == ("QueueLong", AlertStatus.RESOLVED)
    assert carried.episode == "/queues/orders A234-1234-1234"


def test_data_in_base64_are_read_if_they_are_json() -> None:
    document = {name: value for name, value in event().items() if name != "data"}
    assert one({**document, "data_base64": base64.b64encode(b'{"depth": 3}').decode()}).values == {"depth": 3.0}
    assert one({**document, "data_base64": "AAEC", "datacontenttype": "image/png"}).values == {}


def test_data_that_are_not_json_are_left_alone_in_binary_mode() -> None:
    (alert,) = alerts(b"<queue/>", {**binary(), "content-type": "application/xml"})
    assert alert.values == {}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (event(specversion="0.3"), "specversion"),
        (event(id=""), "attribute id"),
        (event(source=None), "attribute source"),
        (event(type=7), "attribute type"),
        (event(time="yesterday"), "time"),
        ([], "expected an object"),
        ({**event(), "data": None, "data_base64": "?"}, "data_base64"),
    ],
)
def test_what_is_no_event_is_refused_with_its_place(document: Any, words: str) -> None:
    found = read(body(document), {"content-type": STRUCTURED})
    assert isinstance(found, UnreadablePayload)
    assert words in found.message
    assert found.sender is Sender.CLOUDEVENTS


def test_a_batch_without_events_is_refused() -> None:
    assert isinstance(read(b"[]", {"content-type": BATCHED}), UnreadablePayload)


def test_a_batch_of_too_many_events_is_too_large() -> None:
    found = read(json.dumps([event(id=str(number)) for number in range(1001)]).encode(), {"content-type": BATCHED})
    assert isinstance(found, UnreadablePayload)
    assert found.too_large


@pytest.mark.parametrize("encoded", ["\u00e9", "e30\u2003=", "x"])
def test_data_that_are_not_base64_are_refused_with_their_place(encoded: str) -> None:
    document = {name: value for name, value in event(data_base64=encoded).items() if name != "data"}
    found = read(body(document), {"content-type": STRUCTURED})

    assert isinstance(found, UnreadablePayload)
    assert "expected base64 at data_base64" in found.message
