"""Read CloudEvents 1.0 from HTTP in structured, batched and binary mode.

An event whose data is a payload of another sender is that payload, with the event's id for alerts that bring none. Any
other event is itself an alert that fires: its ``type`` is the alert's name, its attributes are labels, and the numbers
at the top of its data are values. It ends by its time to live.

Source: CloudEvents 1.0.2 and its HTTP protocol binding.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from config.units import Instant
from handler.ingest.alerts import json_shapes
from handler.ingest.alerts.json_shapes import WrongShape, shown
from handler.ingest.alerts.notifications import ReceivedAlert
from handler.ports.alerts import AlertStatus

STRUCTURED = "application/cloudevents+json"
BATCHED = "application/cloudevents-batch+json"
BINARY = "ce-specversion"
"""The header that every event in binary mode has."""

_PREFIX = "ce-"
_REQUIRED = ("specversion", "id", "source", "type")
_BESIDE = frozenset({"specversion", "id", "time", "datacontenttype", "dataschema", "data", "data_base64"})
"""What is no label: it differs from event to event, or describes the data."""

Contents = Callable[[object], tuple[ReceivedAlert, ...] | None]
"""Reads data as a payload of another sender; ``None``: it is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudEvent:
    """One event as it came."""

    attributes: Mapping[str, Any]
    """By name; the required ones are texts."""
    data: object
    """JSON; ``None``: there is none, or it is in another format."""

    @property
    def key(self) -> str:
        """What identifies the event: its source and id."""
        return f"{self.attributes['source']} {self.attributes['id']}"


def is_event(headers: Mapping[str, str]) -> bool:
    """Tell by its headers whether a request brings events."""
    return BINARY in headers or _kind(headers) in {STRUCTURED, BATCHED}


def events(body: bytes, headers: Mapping[str, str]) -> tuple[CloudEvent, ...]:
    """Return the events of a request.

    Raises:
        WrongShape: a required attribute is missing, the version is not 1.0, or the body is not JSON where it has to be.
    """
    kind = _kind(headers)
    if kind == STRUCTURED:
        return (_structured(json_shapes.parsed(body), "the event"),)
    if kind == BATCHED:
        document = json_shapes.parsed(body)
        if not isinstance(document, list):
            raise WrongShape(f"expected an array of events, found {shown(document)}")
        return tuple(_structured(each, f"events[{index}]") for index, each in enumerate(document))
    attributes = {
        name.removeprefix(_PREFIX): unquote(value.strip('"'))
        for name, value in headers.items()
        if name.startswith(_PREFIX)
    }
    _check(attributes, "the headers")
    return (CloudEvent(attributes=attributes, data=json_shapes.parsed(body) if body and is_json(kind) else None),)


def read(body: bytes, headers: Mapping[str, str], contents: Contents) -> tuple[ReceivedAlert, ...]:
    """Return the alerts of all events of a request. Raises as `events`."""
    found = events(body, headers)
    if not found:
        raise WrongShape("expected at least one event, found none")
    return tuple(alert for event in found for alert in _alerts(event, contents))


def _alerts(event: CloudEvent, contents: Contents) -> tuple[ReceivedAlert, ...]:
    carried = contents(event.data)
    at = json_shapes.instant(event.attributes.get("time"), "time")
    if carried is None:
        return (_alert(event, at),)
    return tuple(each if _is_known(each) else replace(each, episode=event.key) for each in carried)


def _is_known(alert: ReceivedAlert) -> bool:
    return alert.starts_at is not None or alert.episode is not None


def _alert(event: CloudEvent, at: Instant | None) -> ReceivedAlert:
    labels = {name: value for name, value in event.attributes.items() if name not in _BESIDE and isinstance(value, str)}
    named = {**labels, "alertname": event.attributes["type"]}
    return ReceivedAlert(
        status=AlertStatus.FIRING,
        labels=named,
        annotations={},
        values=json_shapes.numbers(event.data if isinstance(event.data, dict) else None, "data"),
        starts_at=at,
        ends_at=None,
        fingerprint=json_shapes.fingerprint(None, named),
        episode=event.key,
    )


def _structured(document: object, at: str) -> CloudEvent:
    if not isinstance(document, dict):
        raise WrongShape(f"expected an object at {at}, found {shown(document)}")
    _check(document, at)
    data = document.get("data")
    if data is None and "data_base64" in document and is_json(str(document.get("datacontenttype", ""))):
        data = json_shapes.parsed(_decoded(document["data_base64"]))
    return CloudEvent(attributes=document, data=data)


def _check(attributes: Mapping[str, Any], at: str) -> None:
    for name in _REQUIRED:
        if not isinstance(attributes.get(name), str) or not attributes[name]:
            raise WrongShape(f"expected the attribute {name} in {at}, found {shown(attributes.get(name))}")
    if attributes["specversion"] != "1.0":
        raise WrongShape(f'expected specversion "1.0" in {at}, found {shown(attributes["specversion"])}')


def _decoded(encoded: object) -> bytes:
    try:
        return base64.b64decode(encoded if isinstance(encoded, str) else "", validate=True)
    except ValueError:  # `binascii.Error` is one; text beyond ASCII is another
        raise WrongShape("expected base64 at data_base64") from None


def _kind(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def is_json(kind: str) -> bool:
    """Tell whether a content type is JSON; none at all is, too."""
    main = kind.partition(";")[0].strip().lower()
    return main in {"", "application/json", "text/json"} or main.endswith("+json")
