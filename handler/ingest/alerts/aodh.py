"""Read the alarm notifications of OpenStack's Aodh, as its notifiers ``http``, ``https`` and ``trust+http`` send them.

Aodh says which state an alarm left and which it entered, and no times. So a change of state is an episode of its own,
known by the id of its request (``x-openstack-request-id``), which Aodh's own retries repeat. An alarm with
``repeat_actions`` sends the same state again and again: that renews what lasts, and fires no policy a second time.

*Insufficient data* is the state of a source without data. It is an alert of its own here, beside that of the alarm, so
that what the alarm began goes on while its source is blind.

Source: Aodh's rest notifier, release 22.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from handler.ingest.alerts.json_shapes import WrongShape, numbers, shown, text
from handler.ingest.alerts.notifications import ReceivedAlert
from handler.ports.alerts import AlertStatus

REQUEST_ID = "x-openstack-request-id"
ALARM, OK, NO_DATA = "alarm", "ok", "insufficient data"
_STATES = frozenset({ALARM, OK, NO_DATA})
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_BLIND = "b"
"""Ends the fingerprint of the alert of missing data."""


def is_aodh(document: object) -> bool:
    """Tell whether JSON is a notification of Aodh."""
    return isinstance(document, dict) and {"alarm_id", "alarm_name", "current", "previous"} <= document.keys()


def read(document: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[ReceivedAlert, ...]:
    """Return the alerts of one notification: the alarm's, that of its missing data, or both.

    Raises:
        WrongShape: it is not as Aodh words it.
    """
    name, alarm = text(document.get("alarm_name"), "alarm_name"), text(document.get("alarm_id"), "alarm_id")
    before, after = state(document.get("previous"), "previous"), state(document.get("current"), "current")
    severity, data = document.get("severity"), document.get("reason_data")
    alert = ReceivedAlert(
        status=AlertStatus.RESOLVED if after == OK else AlertStatus.FIRING,
        labels={"alertname": name, "alarm_id": alarm} | ({"severity": severity} if isinstance(severity, str) else {}),
        annotations={"reason": reason} if isinstance(reason := document.get("reason"), str) else {},
        values=numbers(data if isinstance(data, dict) else None, "reason_data"),
        starts_at=None,
        ends_at=None,
        fingerprint=alarm.replace("-", "") if _UUID.fullmatch(alarm) else _digest(alarm),
        episode=(headers.get(REQUEST_ID) or None) if before != after else None,
    )
    blind = replace(alert, no_data=True, fingerprint=alert.fingerprint + _BLIND)
    if after == NO_DATA:
        return (blind,)
    return (replace(blind, status=AlertStatus.RESOLVED), alert) if before == NO_DATA else (alert,)


def state(value: object, at: str) -> str:
    """Read an alarm's state. Raises `WrongShape`."""
    if isinstance(value, str) and value in _STATES:
        return value
    raise WrongShape(f'expected "ok", "alarm" or "insufficient data" at {at}, found {shown(value)}')


def _digest(alarm: str) -> str:
    return hashlib.sha256(alarm.encode("utf-8", "surrogatepass")).hexdigest()[:32]
