from __future__ import annotations

import json
from typing import Any

import pytest

from handler.ingest.alerts.notifications import UnreadablePayload
from handler.ingest.capabilities.orders import ExecutionOrder, NoAlarm, read

JSON = {"content-type": "application/json"}
EVENT = {"specversion": "1.0", "id": "7", "source": "/q", "type": "t"}
CLOUD = {"content-type": "application/cloudevents+json"}


def body(document: Any) -> bytes:
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("sent", "headers", "query", "id"),
    [
        (b"", {}, "", None),
        (b"", {}, "V=2", None),
        (b"{}", JSON, "aodh-alarm-ssl-verify=0", None),
        (b"a=b", {"content-type": "application/x-www-form-urlencoded"}, "", None),
        (b"{", {"content-type": "text/plain"}, "", None),
        (b"", {"idempotency-key": "k1"}, "", "k1"),
        (b"", {"webhook-id": "w1"}, "", "w1"),
        (body({"previous": "ok", "current": "alarm"}), {**JSON, "x-openstack-request-id": "req-1"}, "", "req-1"),
        (body({"state": "ALARM"}), JSON, "", None),
        (body({"alert": "Long", "status": "firing", "id": "run-1"}), JSON, "", "run-1"),
        (body(EVENT), CLOUD, "", "/q 7"),
        (b"", {f"ce-{name}": value for name, value in EVENT.items()}, "", "/q 7"),
    ],
    ids=["otter", "senlin", "empty object", "form", "not declared as json", "idempotency key", "standard webhooks",
         "aodh", "heat", "plain", "structured event", "binary event"],
)  # fmt: skip
def test_a_request_executes_and_repetitions_are_known_by_what_the_sender_gives(
    sent: bytes, headers: dict[str, str], query: str, id: str | None
) -> None:
    assert read(sent, headers, query) == ExecutionOrder(id=id)


@pytest.mark.parametrize(
    ("document", "state"),
    [
        ({"current": "ok", "previous": "alarm"}, "ok"),
        ({"current": "insufficient data"}, "insufficient data"),
        ({"state": "OK"}, "ok"),
        ({"version": "4", "status": "resolved"}, "resolved"),
    ],
)
def test_what_is_no_alarm_executes_nothing(document: dict[str, str], state: str) -> None:
    assert read(body(document), JSON, "") == NoAlarm(state=state)
    assert read(body({**EVENT, "data": document}), CLOUD, "") == NoAlarm(state=state)


@pytest.mark.parametrize(
    ("sent", "headers", "query", "words"),
    [
        (b"", {}, "V=2&count=3", '"count" is not taken'),
        (b"{", JSON, "", "not JSON"),
        (body([EVENT, EVENT]), {"content-type": "application/cloudevents-batch+json"}, "", "one event"),
        (body({**EVENT, "id": ""}), CLOUD, "", "attribute id"),
        (b"", {"idempotency-key": "x" * 201}, "", "at most 200"),
    ],
    ids=["an amount", "broken", "two events", "no event", "a long id"],
)
def test_what_cannot_be_executed_is_refused_in_words(
    sent: bytes, headers: dict[str, str], query: str, words: str
) -> None:
    found = read(sent, headers, query)
    assert isinstance(found, UnreadablePayload)
    assert words in found.message
