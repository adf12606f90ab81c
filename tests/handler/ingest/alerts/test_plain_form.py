from __future__ import annotations

from typing import Any

import pytest

from handler.ingest.alerts.notifications import Payload, ReceivedAlert, Sender, UnreadablePayload
from handler.ingest.alerts.payloads import read
from handler.ports.alerts import AlertStatus
from tests.support.hooks import body
from tests.support.trigger import NOON


def one(document: dict[str, Any]) -> ReceivedAlert:
    found = read(body(document))
    assert isinstance(found, Payload), found
    assert found.sender is Sender.PLAIN
    (alert,) = found.alerts
    return alert


def test_a_name_and_a_status_are_enough() -> None:
    alert = one({"alert": "QueueLong", "status": "firing"})
    assert (alert.labels, alert.status) == ({"alertname": "QueueLong"}, AlertStatus.FIRING)
    assert (alert.starts_at, alert.episode) == (None, None)


def test_labels_values_start_and_id_are_taken() -> None:
    alert = one(
        {"alert": "QueueLong", "status": "firing", "id": "run-17", "labels": {"env": "prod", "alertname": "no"},
         "values": {"depth": 812}, "starts_at": "2026-01-01T12:00:00Z"}
    )  # fmt: skip
    assert alert.labels == {"alertname": "QueueLong", "env": "prod"}
    assert (alert.values, alert.episode, alert.starts_at) == ({"depth": 812.0}, "run-17", NOON)


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ({"status": "on"}, "at status"),
        ({"label": {}}, '"label"'),
        ({"labels": {"env": 7}}, "at labels"),
        ({"alert": 7}, "at alert"),
        ({"id": ""}, "at id"),
        ({"id": "x" * 201}, "at id"),
        ({"starts_at": "noon"}, "at starts_at"),
    ],
)
def test_another_shape_is_refused_with_its_place(rest: dict[str, Any], words: str) -> None:
    found = read(body({"alert": "QueueLong", "status": "firing", **rest}))
    assert isinstance(found, UnreadablePayload)
    assert words in found.message


def test_json_that_is_nested_too_deep_is_refused() -> None:
    nested = b'{"alert": "A", "status": "firing", "values": ' + b'{"a":' * 70 + b"1" + b"}" * 70 + b"}"
    for sent in (nested, b"[" * 100_000):
        found = read(sent)
        assert isinstance(found, UnreadablePayload)
