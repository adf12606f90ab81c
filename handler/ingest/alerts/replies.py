"""What a webhook is answered: a status that makes the sender retry or not, and what was understood and done.

Alertmanager and Grafana retry 5xx and drop 4xx. So 503 is for what passes by itself, 4xx for what only a person can
put right. No answer and no error names a token, a path or a header of the request.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from handler.ingest.alerts.mapping import (
    MEANINGS_AT_MOST,
    Begin,
    Bring,
    EndAlert,
    Fire,
    Mapped,
    Meaning,
    Nothing,
    Rules,
    Why,
)
from handler.ingest.alerts.notifications import Payload, Sender, UnreadablePayload
from handler.ingest.alerts.signatures import Forged
from trigger.reasons import Reason

RETRY_AFTER = 5
"""Seconds; both senders have a back-off of their own."""

_SHOWN = 100
_QUOTED = 60


class AlertResult(enum.Enum):
    """What became of a request, for metrics."""

    ACCEPTED = "accepted"
    UNREADABLE = "unreadable"
    UNMATCHED = "unmatched"
    NOT_PERMITTED = "not_permitted"
    FORGED = "forged"
    UNKNOWN_TOKEN = "unknown_token"  # noqa: S105  # a label value
    TOO_LARGE = "too_large"
    OVERLOADED = "overloaded"
    NOT_RECORDED = "not_recorded"
    REFUSED = "refused"
    """A capability URL: the decision was against it, or its policy is gone."""
    NO_ALARM = "no_alarm"
    """A capability URL: the sender says that there is no alarm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertEffect:
    """What one meaning led to."""

    meaning: Meaning
    reason: Reason | Why | None
    """The decision, or why there is none; ``None``: none was needed."""
    repeated: bool = False
    """A policy that this alert fired before: the first answer stands, nothing was done now."""
    desired_from: int | None = None
    desired_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertReply:
    """An answer to be sent."""

    status: int
    result: AlertResult
    sender: Sender | None = None
    body: dict[str, object]
    headers: tuple[tuple[bytes, bytes], ...] = field(default=())


UNKNOWN_TOKEN = AlertReply(
    status=404, result=AlertResult.UNKNOWN_TOKEN, body={"error": "there is no such webhook: see 'trimtab hook list'"}
)


def unreadable(problem: UnreadablePayload) -> AlertReply:
    """It is no payload, or too much of one."""
    if problem.too_large:
        return too_large(problem.message, problem.sender)
    return AlertReply(status=400, result=AlertResult.UNREADABLE, sender=problem.sender, body={"error": problem.message})


def too_large(message: str, sender: Sender | None = None) -> AlertReply:
    """It is more than is taken at once."""
    return AlertReply(status=413, result=AlertResult.TOO_LARGE, sender=sender, body={"error": message})


def not_genuine(forged: Forged) -> AlertReply:
    """It is not signed as it should be."""
    return AlertReply(status=401, result=AlertResult.FORGED, body={"error": forged.value})


def unavailable(result: AlertResult, error: str, sender: Sender | None = None) -> AlertReply:
    """It cannot be taken now; the sender tries again."""
    return AlertReply(
        status=503,
        result=result,
        sender=sender,
        body={"error": error},
        headers=((b"retry-after", str(RETRY_AFTER).encode()),),
    )


def refusal(payload: Payload, mapped: Mapped, rules: Rules) -> AlertReply | None:
    """Return why no part of a payload can be carried out; ``None``: some part can."""
    if mapped.too_many:
        message = f"understood more than {MEANINGS_AT_MOST} alerts times groups: set max_alerts, or name a group_label"
        return too_large(message, payload.sender)
    acts = [meaning.act for meaning in mapped.meanings]
    if all(isinstance(act, Nothing) and act.why is Why.NO_SUCH_GROUP for act in acts):
        return AlertReply(
            status=400,
            result=AlertResult.UNMATCHED,
            sender=payload.sender,
            body={"error": _unmatched(payload, mapped, rules), **_head(payload, mapped)},
        )
    if all(isinstance(act, Nothing) and act.why in {Why.NO_SUCH_GROUP, Why.NOT_PERMITTED} for act in acts):
        alerts = ", ".join(sorted({meaning.alert for meaning in mapped.meanings}))
        error = f"understood {alerts}; this webhook may not do that: see 'trimtab hook list'"
        return AlertReply(
            status=403,
            result=AlertResult.NOT_PERMITTED,
            sender=payload.sender,
            body={"error": error, **_head(payload, mapped)},
        )
    return None


def accepted(payload: Payload, mapped: Mapped, done: Sequence[AlertEffect]) -> AlertReply:
    """All that can be done of it is decided and on disk."""
    body = {**_head(payload, mapped), "effects": [effect_body(each) for each in done[:_SHOWN]]}
    if len(done) > _SHOWN:
        body["more_effects"] = len(done) - _SHOWN
    return AlertReply(status=202, result=AlertResult.ACCEPTED, sender=payload.sender, body=body)


def effect_body(done: AlertEffect) -> dict[str, object]:
    """One effect as JSON."""
    meaning = done.meaning
    shown: dict[str, object] = {
        "id": meaning.id,
        "alert": meaning.alert,
        "group": meaning.group,
        "effect": effect_of(meaning),
        "reason": done.reason.value if done.reason is not None else None,
    }
    if done.desired_to is not None:
        shown |= {"desired_from": done.desired_from, "desired_to": done.desired_to}
    if done.repeated:
        shown["repeated"] = True
    return shown


def effect_of(meaning: Meaning) -> str:
    """Return what a meaning does, in a word or two.

    ``fire:out``, ``floor``, ``value``, ``end``, ``nothing``.
    """
    match meaning.act:
        case Fire(policy=policy):
            return f"fire:{policy}"
        case Begin(signals=signals):
            return "+".join(signal.kind.value for signal in signals)
        case Bring():
            return "value"
        case EndAlert():
            return "end"
        case Nothing():
            return "nothing"


def encoded(reply: AlertReply) -> bytes:
    """The body's bytes."""
    return json.dumps(reply.body).encode()


def _head(payload: Payload, mapped: Mapped) -> dict[str, object]:
    head: dict[str, object] = {"sender": payload.sender.value, "alerts": len(payload.alerts)}
    if mapped.unmatched:
        head["unmatched"] = mapped.unmatched
    if payload.truncated:
        head["truncated"] = payload.truncated
    return head


def _unmatched(payload: Payload, mapped: Mapped, rules: Rules) -> str:
    names = sorted({alert.labels.get("alertname", "one without alertname")[:_QUOTED] for alert in payload.alerts})
    shown = ", ".join(json.dumps(name) for name in names[:3]) + (", …" if len(names) > len(names[:3]) else "")
    understood = f"understood {len(payload.alerts)} alert(s) of {payload.sender.value.title()} ({shown})"
    strays = sorted({meaning.alert for meaning in mapped.meanings})
    if strays:
        declared = rules.alerts[strays[0]]
        label = json.dumps(declared.group_label)
        return f"{understood}; {declared.id} fits, but the label {label} names none of its groups"
    if not rules.alerts:
        return f"{understood}; no alerts are declared"
    wanted = "; ".join(f"{alert.id}: {', '.join(sorted(alert.match))}" for alert in list(rules.alerts.values())[:5])
    return f"{understood}; expected labels of a declared alert ({wanted})"
