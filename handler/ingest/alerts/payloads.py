"""Read the payloads of Alertmanager (version "4") and Grafana (version "1"), distinguished by content.

Strict about the shape, since the sender of another one must learn of it, and silent about what it does not need: both
senders add fields from release to release. Nothing here is trusted: labels are compared, never used as names.

Sources: Alertmanager's webhook receiver and Grafana's webhook contact point, as documented by each.
"""

from __future__ import annotations

import enum
import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from config.units import Instant
from handler.ports.alerts import AlertStatus

ALERTS_AT_MOST = 1_000

EXPECTED = 'Alertmanager\'s webhook payload (version "4") or Grafana\'s (version "1", with orgId), without a template'

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_NEVER = "0001-"
_FINGERPRINT = re.compile(r"[0-9a-f]{1,64}", re.ASCII)
_SHOWN = 60


class Sender(enum.Enum):
    """The sending system."""

    ALERTMANAGER = "alertmanager"
    GRAFANA = "grafana"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldAlert:
    """One alert of a payload. Its own status counts, not that of the payload."""

    status: AlertStatus
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    values: Mapping[str, float]
    """Grafana: what its queries gave, by their letters; finite. Empty otherwise."""
    starts_at: Instant | None
    """By the sender's clock; ``None``: not in the payload."""
    ends_at: Instant | None
    fingerprint: str
    """Lower-case hex; derived from the labels if the sender gives none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """One notification."""

    sender: Sender
    alerts: tuple[ToldAlert, ...]
    truncated: int
    """Alerts that the sender left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadablePayload:
    """Why a body is no payload, in words for its sender."""

    message: str
    sender: Sender | None = None
    """The probable sender."""
    too_large: bool = False


class _WrongShape(ValueError):
    """Caught by `read`, which returns its message."""


def read(body: bytes) -> Payload | UnreadablePayload:
    """Read a body of either sender.

    Total: any bytes give a payload, or what was understood and what was expected.
    """
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return UnreadablePayload(message=f"understood {len(body)} bytes that are not JSON; expected {EXPECTED}")
    sender = _sender(told)
    if sender is None:
        return UnreadablePayload(message=f"understood {_outline(told)}; expected {EXPECTED}")
    try:
        alerts = _array(told.get("alerts"), "alerts")
        if len(alerts) > ALERTS_AT_MOST:
            message = f"understood {len(alerts)} alerts; expected at most {ALERTS_AT_MOST}: set max_alerts (maxAlerts)"
            return UnreadablePayload(message=message, sender=sender, too_large=True)
        return Payload(
            sender=sender,
            alerts=tuple(_alert(alert, f"alerts[{index}]") for index, alert in enumerate(alerts)),
            truncated=_count(told.get("truncatedAlerts"), "truncatedAlerts"),
        )
    except _WrongShape as error:
        return UnreadablePayload(message=f"understood a payload of {sender.value.title()}; {error}", sender=sender)


def instant_of(text: str) -> Instant | None:
    """Turn RFC 3339 with any fraction into an instant; the year 1 means none.

    >>> instant_of("1970-01-01T01:00:01.5+01:00"), instant_of("0001-01-01T00:00:00Z")
    (1.5, None)

    Raises:
        ValueError: it is no such instant.
    """
    if not _RFC3339.fullmatch(text):
        raise ValueError(f"{text[:_SHOWN]!r} is no RFC 3339 instant")
    return None if text.startswith(_NEVER) else Instant(datetime.fromisoformat(text.upper()).timestamp())


def _sender(told: object) -> Sender | None:
    match told:
        case {"version": "1", "orgId": int()}:
            return Sender.GRAFANA
        case {"version": "4", **rest} if "orgId" not in rest:
            return Sender.ALERTMANAGER
        case _:
            return None


def _outline(told: object) -> str:
    """Describe the shape of unknown JSON, briefly."""
    match told:
        case {"version": version, **rest}:
            org = "with" if "orgId" in rest else "without"
            return f"a JSON object of version {_shown(version)} {org} orgId"
        case dict():
            keys = ", ".join(_shown(key) for key in sorted(told)[:5]) or "nothing"
            return f"a JSON object with {keys}"
        case _:
            return f"JSON {_shown(told)}"


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _alert(told: object, at: str) -> ToldAlert:
    if not isinstance(told, dict):
        raise _WrongShape(f"expected an object at {at}, found {_shown(told)}")
    labels = _texts(told.get("labels"), f"{at}.labels")
    return ToldAlert(
        status=_status(told.get("status"), f"{at}.status"),
        labels=labels,
        annotations=_texts(told.get("annotations"), f"{at}.annotations"),
        values=_numbers(told.get("values"), f"{at}.values"),
        starts_at=_instant(told.get("startsAt"), f"{at}.startsAt"),
        ends_at=_instant(told.get("endsAt"), f"{at}.endsAt"),
        fingerprint=_fingerprint(told.get("fingerprint"), labels),
    )


def _status(told: object, at: str) -> AlertStatus:
    match told:
        case "firing":
            return AlertStatus.FIRING
        case "resolved":
            return AlertStatus.RESOLVED
        case _:
            raise _WrongShape(f'expected "firing" or "resolved" at {at}, found {_shown(told)}')


def _array(told: object, at: str) -> list[object]:
    if not isinstance(told, list):
        raise _WrongShape(f"expected an array at {at}, found {_shown(told)}")
    if not told:
        raise _WrongShape(f"expected at least one alert at {at}, found none")
    return told


def _texts(told: object, at: str) -> Mapping[str, str]:
    if told is None:
        return {}
    if not isinstance(told, dict):
        raise _WrongShape(f"expected an object at {at}, found {_shown(told)}")
    for key, value in told.items():
        if not isinstance(value, str):
            raise _WrongShape(f"expected text at {at}.{_shown(key)}, found {_shown(value)}")
    return told


def _numbers(told: object, at: str) -> Mapping[str, float]:
    if told is None:
        return {}
    if not isinstance(told, dict):
        raise _WrongShape(f"expected an object at {at}, found {_shown(told)}")
    numbers: dict[str, float] = {}
    for key, value in told.items():
        number = _finite(value)
        if number is not None:
            numbers[key] = number
    return numbers


def _finite(told: object) -> float | None:
    if isinstance(told, bool) or not isinstance(told, int | float):
        return None
    try:
        number = float(told)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _count(told: object, at: str) -> int:
    if told is None:
        return 0
    if isinstance(told, bool) or not isinstance(told, int) or told < 0:
        raise _WrongShape(f"expected a count at {at}, found {_shown(told)}")
    return told


def _instant(told: object, at: str) -> Instant | None:
    if told is None:
        return None
    try:
        if isinstance(told, str):
            return instant_of(told)
    except ValueError:
        pass
    raise _WrongShape(f"expected an RFC 3339 instant at {at}, found {_shown(told)}")


def _fingerprint(told: object, labels: Mapping[str, str]) -> str:
    if isinstance(told, str) and _FINGERPRINT.fullmatch(told):
        return told
    text = json.dumps(sorted(labels.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
