from __future__ import annotations

import json
from typing import Any

import pytest

from config.model.observability import NoticeFormat, Severity
from handler.ingest.alerts.cloud_events import STRUCTURED
from handler.ingest.alerts.notifications import Payload
from handler.ingest.alerts.payloads import read
from handler.ingest.alerts.signatures import forged
from handler.observability.notice_bodies import content, event, proof, slack
from handler.ports.notices import News, StateTurn
from tests.support.notices import NOW, a_decision, a_notice, at

SOURCE = "/trimtab/abc"


def as_event(notice: News) -> dict[str, Any]:
    return json.loads(event(notice, SOURCE))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("notice", "kind"),
    [
        (a_notice(), "trimtab.group.trouble.entered"),
        (a_notice(turn=StateTurn.LEFT), "trimtab.group.trouble.left"),
        (a_decision(), "trimtab.group.decided"),
    ],
)
def test_a_notice_is_a_cloud_event_with_its_own_id_and_its_group_as_subject(notice: News, kind: str) -> None:
    event = as_event(notice)
    assert (event["type"], event["id"], event["source"], event["subject"]) == (kind, notice.id, SOURCE, "web")
    assert event["time"] == "2023-11-14T22:13:20.000Z"
    assert event["data"]["group"] == "web"


def test_trimtab_itself_reads_the_events_that_it_sends() -> None:
    kind, sent = content(a_decision(), NoticeFormat.CLOUDEVENTS, SOURCE)
    assert kind == STRUCTURED
    found = read(sent, {"content-type": kind})
    assert isinstance(found, Payload)
    assert found.alerts[0].labels["alertname"] == "trimtab.group.decided"
    assert found.alerts[0].values == {"desired_from": 4.0, "desired_to": 6.0}


def test_a_decision_says_what_changed_by_what_and_what_was_left_out() -> None:
    assert as_event(a_decision())["data"] == {
        "id": "web.1700000000000.desired.6",
        "group": "web",
        "event": "decided",
        "reason": "scaled_out",
        "by": "policy out",
        "desired_from": 4,
        "desired_to": 6,
        "clamps": [{"guard": "at_max", "from": 8, "to": 6}],
        "at": "2023-11-14T22:13:20.000Z",
    }


@pytest.mark.parametrize("secret", ["between us", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"])
def test_a_body_is_signed_as_standard_webhooks_defines(secret: str) -> None:
    headers = {name.lower(): value for name, value in proof(secret, "web.1", NOW, b"{}").items()}
    assert forged(secret, headers, b"{}", NOW) is None
    assert forged(secret, headers, b"{ }", NOW) is not None
    assert forged(secret, headers, b"{}", at(301)) is not None


def test_a_signature_is_that_of_the_package_standardwebhooks() -> None:
    made = proof("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3", "evt-1", at(1767268800 - NOW), b'{"a": 1}')
    assert made["webhook-signature"] == "v1,l8dN8p8dYh8Ba7eGQOcmNzcANhILJwe6hR+wP9Bmaw0="


@pytest.mark.parametrize(
    ("notice", "text"),
    [
        (a_decision(), "*web*: 4 → 6 members (scaled_out, policy out)"),
        (
            a_notice(messages=("no image <x> & none",)),
            "*web*: error since 2023-11-14T22:13:20.000Z\n• no image &lt;x&gt; &amp; none",
        ),
        (
            a_notice(turn=StateTurn.LEFT, severity=Severity.WARNING),
            "*web* is well again: warning since 2023-11-14T22:13:20.000Z is over",
        ),
    ],
)
def test_slack_gets_a_line_of_text(notice: News, text: str) -> None:
    assert json.loads(slack(notice)) == {"text": text}
