"""Builders for alerts from outside: payloads as their senders word them, alerts as read, and declared alerts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from config.model.catalogue import Adjustment, AdjustmentVerb, Policy
from config.model.effects import Alert, Effect, FirePolicy
from config.units import AlertId, GroupId, Instant, PolicyId, Seconds
from handler.ingest.alerts.mapping import Rules
from handler.ingest.alerts.notifications import ReceivedAlert
from handler.ports.alerts import AlertStatus
from tests.support.trigger import NOON

START = "2026-01-01T12:00:00.123456789Z"
NEVER = "0001-01-01T00:00:00Z"
FINGERPRINT = "5ef77f1f8a3ecf8d"


def firing(
    status: AlertStatus = AlertStatus.FIRING,
    *,
    starts: float | None = 0.0,
    ends: float | None = None,
    fingerprint: str = FINGERPRINT,
    values: Mapping[str, float] | None = None,
    annotations: Mapping[str, str] | None = None,
    **labels: str,
) -> ReceivedAlert:
    """An alert as read; instants in seconds after noon."""
    return ReceivedAlert(
        status=status,
        labels=labels or {"alertname": "WebSlow"},
        annotations=annotations or {},
        values=values or {},
        starts_at=None if starts is None else Instant(NOON + starts),
        ends_at=None if ends is None else Instant(NOON + ends),
        fingerprint=fingerprint,
    )


def resolved(*, ends: float | None = 60.0, **rest: Any) -> ReceivedAlert:
    return firing(AlertStatus.RESOLVED, ends=ends, **rest)


def declared(
    effect: Effect | None = None,
    *,
    id: str = "slow",
    match: Mapping[str, str] | None = None,
    groups: Sequence[str] = ("web",),
    group_label: str | None = None,
    ttl: Seconds = 900.0,
) -> Alert:
    return Alert(
        id=AlertId(id),
        match=match or {"alertname": "WebSlow"},
        groups=tuple(GroupId(group) for group in groups),
        group_label=group_label,
        effect=effect if effect is not None else FirePolicy(policy=PolicyId("out")),
        ttl=ttl,
    )


def rules(*alerts: Alert) -> Rules:
    """Of these alerts, and policies that add, remove and set."""
    from config.model.catalogue import Catalogue

    policies = {
        PolicyId(name): Policy(
            id=PolicyId(name), when=(), duration=0.0, adjustment=Adjustment(verb=verb, amount=2), quiet_time=300.0
        )
        for name, verb in (("out", AdjustmentVerb.ADD), ("in", AdjustmentVerb.REMOVE), ("exactly", AdjustmentVerb.SET))
    }
    empty: Mapping[Any, Any] = MappingProxyType({})
    return Rules.of(
        Catalogue(
            digest="",
            counters=empty,
            conditions=empty,
            policies=policies,
            clouds=empty,
            balancers=empty,
            profiles=empty,
            groups=empty,
            alerts={alert.id: alert for alert in alerts},
            sites=empty,
        )
    )


def an_alert(status: str = "firing", **rest: Any) -> dict[str, Any]:
    """One alert as Alertmanager words it."""
    return {
        "status": status,
        "labels": {"alertname": "WebSlow", "instance": "10.0.0.1:9100", "severity": "page"},
        "annotations": {"summary": "Too slow for a minute"},
        "startsAt": START,
        "endsAt": NEVER if status == "firing" else "2026-01-01T12:01:00Z",
        "generatorURL": "http://prometheus:9090/graph?g0.expr=slow",
        "fingerprint": FINGERPRINT,
        **rest,
    }


def alertmanager(*alerts: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """A notification of Alertmanager 0.25 to 0.28."""
    given = list(alerts) or [an_alert()]
    return {
        "receiver": "trimtab",
        "status": "firing" if any(alert["status"] == "firing" for alert in given) else "resolved",
        "alerts": given,
        "groupLabels": {"alertname": "WebSlow"},
        "commonLabels": {"alertname": "WebSlow"},
        "commonAnnotations": {},
        "externalURL": "http://alertmanager:9093",
        "version": "4",
        "groupKey": '{}/{team="web"}:{alertname="WebSlow"}',
        "truncatedAlerts": 0,
        **rest,
    }


def grafana(*alerts: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """A notification of Grafana 9 and later; what a version adds is given as ``rest``."""
    given = list(alerts) or [a_grafana_alert()]
    return {
        **alertmanager(*given),
        "version": "1",
        "orgId": 1,
        "externalURL": "http://grafana:3000/",
        "title": "[FIRING:1] WebSlow web",
        "state": "alerting",
        "message": "**Firing**",
        **rest,
    }


def a_grafana_alert(status: str = "firing", **rest: Any) -> dict[str, Any]:
    return an_alert(
        status,
        **{
            "labels": {"alertname": "WebSlow", "grafana_folder": "Web"},
            "startsAt": "2026-01-01T13:00:00+01:00",
            "silenceURL": "http://grafana:3000/alerting/silence/new",
            "dashboardURL": "",
            "panelURL": "",
            "values": {"B": 812.5, "C": 1},
            "valueString": "[ var='B' labels={} value=812.5 ]",
            **rest,
        },
    )


def body(payload: object) -> bytes:
    return json.dumps(payload).encode()
