"""Trimtab's own form of an alert, for scripts and for senders whose payload is a template.

::

    {"alert": "QueueLong", "status": "firing", "id": "run-17", "labels": {"env": "prod"}, "values": {"depth": 812}}

``alert`` and ``status`` are required. ``id`` makes repetitions known, as ``starts_at`` does; without both, no policy
fires.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handler.ingest.alerts import json_shapes
from handler.ingest.alerts.json_shapes import WrongShape, shown
from handler.ingest.alerts.notifications import ReceivedAlert

_KEYS = frozenset({"alert", "status", "id", "labels", "annotations", "values", "starts_at", "ends_at"})
_LONGEST_ID = 200


def is_plain(document: object) -> bool:
    """Tell whether JSON is of this form."""
    return isinstance(document, dict) and {"alert", "status"} <= document.keys()


def read(document: Mapping[str, Any]) -> ReceivedAlert:
    """Return the alert.

    Raises:
        WrongShape: a key is unknown, or a value is not as described above. A script's author learns of both.
    """
    unknown = sorted(document.keys() - _KEYS)
    if unknown:
        raise WrongShape(f"expected only {', '.join(sorted(_KEYS))}; found {shown(unknown[0])}")
    labels = {
        **json_shapes.texts(document.get("labels"), "labels"),
        "alertname": json_shapes.text(document["alert"], "alert"),
    }
    episode = None if document.get("id") is None else json_shapes.text(document["id"], "id")
    if episode is not None and len(episode) > _LONGEST_ID:
        raise WrongShape(f"expected at most {_LONGEST_ID} characters at id, found {len(episode)}")
    return ReceivedAlert(
        status=json_shapes.status(document["status"], "status"),
        labels=labels,
        annotations=json_shapes.texts(document.get("annotations"), "annotations"),
        values=json_shapes.numbers(document.get("values"), "values"),
        starts_at=json_shapes.instant(document.get("starts_at"), "starts_at"),
        ends_at=json_shapes.instant(document.get("ends_at"), "ends_at"),
        fingerprint=json_shapes.fingerprint(None, labels),
        episode=episode,
    )
