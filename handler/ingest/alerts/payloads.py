"""Read a request of any sender of alerts, distinguished by content and, for CloudEvents, by its headers.

Strict about the shape, since the sender of another one must learn of it, and silent about what it does not need: all
senders add fields from release to release. Nothing here is trusted: labels are compared, never used as names.

Sources: Alertmanager's webhook receiver (version "4") and Grafana's webhook contact point (version "1"), as documented
by each; the others' are named in their modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from handler.ingest.alerts import aodh, cloud_events, json_shapes, plain_form
from handler.ingest.alerts.json_shapes import WrongShape, outline, shown
from handler.ingest.alerts.notifications import ALERTS_AT_MOST, Payload, ReceivedAlert, Sender, UnreadablePayload

EXPECTED = (
    'Alertmanager\'s webhook payload (version "4"), Grafana\'s (version "1", with orgId) without a template, '
    'Aodh\'s alarm notification, a CloudEvent (1.0), or an object with "alert" and "status"'
)

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


def read(body: bytes, headers: Mapping[str, str] = _NO_HEADERS) -> Payload | UnreadablePayload:
    """Read a request of any sender.

    Total: any bytes and headers give a payload, or what was understood and what was expected.

    Args:
        body: as it came.
        headers: by lower-case name.
    """
    sender: Sender | None = None
    try:
        if cloud_events.is_event(headers):
            sender = Sender.CLOUDEVENTS
            return _bounded(sender, cloud_events.read(body, headers, _contents))
        document = json_shapes.parsed(body)
        sender = _sender(document)
        if sender is None or not isinstance(document, dict):
            return UnreadablePayload(message=f"understood {outline(document)}; expected {EXPECTED}")
        return _bounded(
            sender,
            _alerts(sender, document, headers),
            json_shapes.count(document.get("truncatedAlerts"), "truncatedAlerts"),
        )
    except _TooMany as error:
        message = f"understood {error.count} alerts; expected at most {ALERTS_AT_MOST}: set max_alerts (maxAlerts)"
        return UnreadablePayload(message=message, sender=sender, too_large=True)
    except WrongShape as error:
        if sender is None:
            return UnreadablePayload(message=f"{error}; expected {EXPECTED}")
        return UnreadablePayload(message=f"understood a payload of {_titled(sender)}; {error}", sender=sender)


class _TooMany(Exception):
    """More alerts than are taken at once."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


def _bounded(sender: Sender, alerts: tuple[ReceivedAlert, ...], truncated: int = 0) -> Payload:
    if len(alerts) > ALERTS_AT_MOST:
        raise _TooMany(len(alerts))
    return Payload(sender=sender, alerts=alerts, truncated=truncated)


def _sender(document: object) -> Sender | None:
    match document:
        case {"version": "1", "orgId": int()}:
            return Sender.GRAFANA
        case {"version": "4", **rest} if "orgId" not in rest:
            return Sender.ALERTMANAGER
        case _ if aodh.is_aodh(document):
            return Sender.AODH
        case _ if plain_form.is_plain(document):
            return Sender.PLAIN
        case _:
            return None


def _alerts(sender: Sender, document: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[ReceivedAlert, ...]:
    match sender:
        case Sender.AODH:
            return aodh.read(document, headers)
        case Sender.PLAIN:
            return (plain_form.read(document),)
        case _:
            alerts = json_shapes.alerts(document.get("alerts"), "alerts")
            if len(alerts) > ALERTS_AT_MOST:
                raise _TooMany(len(alerts))
            return tuple(_alert(alert, f"alerts[{index}]") for index, alert in enumerate(alerts))


def _contents(data: object) -> tuple[ReceivedAlert, ...] | None:
    """Return the alerts that an event carries, if its data is a payload of another sender."""
    sender = _sender(data)
    return _alerts(sender, data, _NO_HEADERS) if sender is not None and isinstance(data, dict) else None


def _titled(sender: Sender) -> str:
    return {Sender.CLOUDEVENTS: "CloudEvents", Sender.PLAIN: "Trimtab's own form"}.get(sender, sender.value.title())


def _alert(document: object, at: str) -> ReceivedAlert:
    if not isinstance(document, dict):
        raise WrongShape(f"expected an object at {at}, found {shown(document)}")
    labels = json_shapes.texts(document.get("labels"), f"{at}.labels")
    return ReceivedAlert(
        status=json_shapes.status(document.get("status"), f"{at}.status"),
        labels=labels,
        annotations=json_shapes.texts(document.get("annotations"), f"{at}.annotations"),
        values=json_shapes.numbers(document.get("values"), f"{at}.values"),
        starts_at=json_shapes.instant(document.get("startsAt"), f"{at}.startsAt"),
        ends_at=json_shapes.instant(document.get("endsAt"), f"{at}.endsAt"),
        fingerprint=json_shapes.fingerprint(document.get("fingerprint"), labels),
    )
