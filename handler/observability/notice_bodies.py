"""What is sent of a notice, in the format of its target, and the headers that prove it. Pure.

Sources: CloudEvents 1.0.2 with its HTTP binding; the Standard Webhooks specification 1.0; Slack's incoming webhooks.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import assert_never

from config.model.observability import NoticeFormat
from config.units import Instant
from handler.ingest.alerts.signatures import STANDARD, STANDARD_ID, STANDARD_TIMESTAMP, standard_signature
from handler.ports.notices import DecisionNotice, News, Notice, StateTurn

_EVENT_TYPES = {StateTurn.ENTERED: "trimtab.group.trouble.entered", StateTurn.LEFT: "trimtab.group.trouble.left"}
_DECIDED = "trimtab.group.decided"
_SLACK_MESSAGES = 5


def body(notice: News) -> bytes:
    """Return the notice as JSON: the same bytes at each attempt."""
    return _encoded(_document(notice))


def event(notice: News, source: str) -> bytes:
    """Return the notice as a CloudEvent in structured mode: the same bytes at each attempt.

    Args:
        notice: its id is the event's, its group the event's subject.
        source: which installation it is of, as a URI reference.
    """
    return _encoded(
        {
            "specversion": "1.0",
            "id": notice.id,
            "source": source,
            "type": _EVENT_TYPES[notice.turn] if isinstance(notice, Notice) else _DECIDED,
            "subject": notice.group,
            "time": _iso(notice.at),
            "datacontenttype": "application/json",
            "data": _document(notice),
        }
    )


def slack(notice: News) -> bytes:
    """Return the notice as a message for an incoming webhook of Slack."""
    return _encoded({"text": _slack_text(notice)})


def content(notice: News, format: NoticeFormat, source: str) -> tuple[str, bytes]:
    """Return content type and body for an address."""
    match format:
        case NoticeFormat.TRIMTAB:
            return "application/json", body(notice)
        case NoticeFormat.CLOUDEVENTS:
            return "application/cloudevents+json", event(notice, source)
        case _:
            assert_never(format)


def proof(secret: str, id: str, at: Instant, sent: bytes) -> Mapping[str, str]:
    """Return the headers that sign a body at this instant: as Standard Webhooks defines, and Trimtab's own.

    Raises:
        ValueError: the secret begins with ``whsec_``, and no base64 follows.
    """
    stamp = str(int(at))
    return {
        STANDARD_ID: id,
        STANDARD_TIMESTAMP: stamp,
        STANDARD: standard_signature(secret, id, stamp, sent),
        "X-Trimtab-Id": id,
        "X-Trimtab-Signature": signature(secret, at, sent),
    }


def signature(secret: str, at: Instant, sent: bytes) -> str:
    """Return the value of ``X-Trimtab-Signature``: HMAC-SHA-256 over ``t.body``, t in whole Unix seconds."""
    seconds = int(at)
    made = hmac.new(secret.encode(), f"{seconds}.".encode() + sent, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={made}"


def _document(notice: News) -> dict[str, object]:
    match notice:
        case Notice():
            return {
                "id": notice.id,
                "outage": notice.outage,
                "group": notice.group,
                "event": notice.turn.value,
                "severity": notice.severity.value,
                "condition": notice.condition.value,
                "messages": list(notice.messages),
                "since": _iso(notice.since),
                "at": _iso(notice.at),
            }
        case DecisionNotice():
            return {
                "id": notice.id,
                "group": notice.group,
                "event": "decided",
                "reason": notice.reason,
                "by": notice.by,
                "desired_from": notice.desired_from,
                "desired_to": notice.desired_to,
                "clamps": [
                    {"guard": clamp.guard.value, "from": clamp.before, "to": clamp.after} for clamp in notice.clamps
                ],
                "at": _iso(notice.at),
            }
        case _:
            assert_never(notice)


def _slack_text(notice: News) -> str:
    match notice:
        case Notice(turn=StateTurn.LEFT):
            return (
                f"*{_escaped(notice.group)}* is well again: {notice.severity.value} since {_iso(notice.since)} is over"
            )
        case Notice():
            lines = [f"*{_escaped(notice.group)}*: {notice.severity.value} since {_iso(notice.since)}"]
            lines += [f"• {_escaped(message)}" for message in notice.messages[:_SLACK_MESSAGES]]
            return "\n".join(lines)
        case DecisionNotice():
            size = f"{notice.desired_from} → {notice.desired_to} members"
            why = f"{notice.reason}, {notice.by}" if notice.by else notice.reason
            return f"*{_escaped(notice.group)}*: {size} ({_escaped(why)})"
        case _:
            assert_never(notice)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _encoded(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _iso(at: Instant) -> str:
    return datetime.fromtimestamp(at, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
