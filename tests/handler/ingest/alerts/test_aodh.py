from __future__ import annotations

from typing import Any

import pytest

from config.model.effects import Shield
from config.units import Instant
from handler.ingest.alerts.mapping import EVERYTHING, Begin, EndAlert, Fire, Meaning, Nothing, Why, mapped
from handler.ingest.alerts.notifications import Payload, ReceivedAlert, Sender, UnreadablePayload
from handler.ingest.alerts.payloads import read
from handler.ports.alerts import AlertStatus
from tests.support.hooks import body, declared, rules
from tests.support.trigger import NOON

REQUEST = {"x-openstack-request-id": "req-fc6f0a36-248f-45c5-b409-76d03c4f73bd", "content-type": "application/json"}


def notified(before: str = "ok", after: str = "alarm", **rest: Any) -> dict[str, Any]:
    """A notification as the rest notifier of aodh 23.0.0 from PyPI sent it to a local server, with other states."""
    return {
        "alarm_name": "WebSlow",
        "alarm_id": "6ee98c7c-8f48-4b52-9a6c-6a3c8f4f7d11",
        "severity": "low",
        "previous": before,
        "current": after,
        "reason": "Transition to alarm due to 1 samples outside threshold, most recent: 92.5",
        "reason_data": {"type": "threshold", "disposition": "outside", "count": 1, "most_recent": 92.5},
        **rest,
    }


def alerts(payload: dict[str, Any], headers: dict[str, str] | None = None) -> tuple[ReceivedAlert, ...]:
    found = read(body(payload), REQUEST if headers is None else headers)
    assert isinstance(found, Payload), found
    assert found.sender is Sender.AODH
    return found.alerts


def meanings(payload: dict[str, Any], effect: Shield | None = None) -> list[Meaning]:
    found = mapped(rules(declared(effect)), alerts(payload), EVERYTHING, Instant(NOON))
    return list(found.meanings)


def test_an_alarm_is_an_alert_with_the_alarms_name_and_its_reading() -> None:
    (alert,) = alerts(notified())
    assert alert.status is AlertStatus.FIRING
    assert alert.labels == {
        "alertname": "WebSlow", "alarm_id": "6ee98c7c-8f48-4b52-9a6c-6a3c8f4f7d11", "severity": "low",
    }  # fmt: skip
    assert alert.values == {"count": 1.0, "most_recent": 92.5}
    assert alert.fingerprint == "6ee98c7c8f484b529a6c6a3c8f4f7d11"


def test_a_change_to_alarm_fires_a_policy_and_the_same_request_again_is_the_same_firing() -> None:
    first, again = meanings(notified()), meanings(notified())
    assert [type(meaning.act) for meaning in first] == [Fire]
    assert first[0].id == again[0].id


def test_two_changes_to_alarm_are_two_firings() -> None:
    (first,) = alerts(notified())
    (second,) = alerts(notified(), {**REQUEST, "x-openstack-request-id": "req-2"})
    found = mapped(rules(declared()), (first, second), EVERYTHING, Instant(NOON)).meanings
    assert found[0].id != found[1].id


def test_a_repeated_action_fires_no_policy_again_but_renews_what_lasts() -> None:
    repeated = notified("alarm", "alarm")
    assert [meaning.act for meaning in meanings(repeated)] == [Nothing(why=Why.NO_START)]
    assert [type(meaning.act) for meaning in meanings(repeated, Shield())] == [Begin]


def test_ok_ends_what_lasts() -> None:
    assert [type(meaning.act) for meaning in meanings(notified("alarm", "ok"), Shield())] == [EndAlert]


def test_insufficient_data_blinds_the_group_and_ends_nothing_that_the_alarm_began() -> None:
    ((alarm,), (blind,)) = alerts(notified()), alerts(notified("alarm", "insufficient data"))
    assert blind.no_data
    assert blind.fingerprint != alarm.fingerprint
    (meaning,) = meanings(notified("alarm", "insufficient data"))
    assert isinstance(meaning.act, Begin)
    assert [signal.kind.value for signal in meaning.act.signals] == ["blind"]


@pytest.mark.parametrize(("after", "then"), [("alarm", AlertStatus.FIRING), ("ok", AlertStatus.RESOLVED)])
def test_data_that_come_back_end_the_blindness(after: str, then: AlertStatus) -> None:
    blind, alarm = alerts(notified("insufficient data", after))
    assert (blind.no_data, blind.status) == (True, AlertStatus.RESOLVED)
    assert (alarm.no_data, alarm.status) == (False, then)


def test_without_the_requests_id_no_policy_fires() -> None:
    (alert,) = alerts(notified(), {})
    found = mapped(rules(declared()), (alert,), EVERYTHING, Instant(NOON)).meanings
    assert found[0].act == Nothing(why=Why.NO_START)


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ({"current": "ALARM"}, "at current"),
        ({"previous": None}, "at previous"),
        ({"alarm_name": ""}, "at alarm_name"),
        ({"alarm_id": 7}, "at alarm_id"),
    ],
)
def test_another_shape_is_refused_with_its_place(rest: dict[str, Any], words: str) -> None:
    found = read(body({**notified(), **rest}), REQUEST)
    assert isinstance(found, UnreadablePayload)
    assert found.message.startswith("understood a payload of Aodh; expected")
    assert words in found.message
