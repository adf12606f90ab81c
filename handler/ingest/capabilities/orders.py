"""Read a request at a capability URL: whether its policy is to be executed, and by which id repetitions are known.

The URL names group and policy, so no body is needed: Otter and Senlin send none. A body that names a state counts: Aodh
and Heat's callers send the alarm's state, and only ``alarm`` executes; a notification that something is resolved
executes nothing. An amount is never taken from a request.

Sources: Otter's capability URLs; Senlin's webhook receivers; Heat's resource signals of scaling policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from handler.ingest.alerts import cloud_events, json_shapes
from handler.ingest.alerts.aodh import ALARM, REQUEST_ID
from handler.ingest.alerts.json_shapes import WrongShape, shown
from handler.ingest.alerts.notifications import UnreadablePayload
from handler.ingest.alerts.signatures import STANDARD_ID

IDEMPOTENCY_KEY = "idempotency-key"
_ID_AT_MOST = 200
_STATES = ("current", "state")
"""Keys of an alarm's state, in the order in which Heat looks for them."""
_IN_QUERY = frozenset({"V", "aodh-alarm-ssl-verify"})
"""Senlin's version of a request, and what Aodh reads of a URL itself: neither says anything to Trimtab."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionOrder:
    """The policy is to be executed."""

    id: str | None
    """Repetitions share it; ``None``: the sender gives none, so every request is another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAlarm:
    """The sender says that there is no alarm, so nothing is executed."""

    state: str


def read(body: bytes, headers: Mapping[str, str], query: str) -> ExecutionOrder | NoAlarm | UnreadablePayload:
    """Read a request. Total.

    Args:
        body: as it came; what is not JSON, as its content type says, is left alone.
        headers: by lower-case name.
        query: of the URL, without those of a signature.
    """
    unknown = [name for name, _ in parse_qsl(query, keep_blank_values=True) if name not in _IN_QUERY]
    if unknown:
        message = f"the URL names the policy and the policy names the change: {shown(unknown[0])} is not taken"
        return UnreadablePayload(message=message)
    try:
        document, event = _document(body, headers)
    except WrongShape as error:
        return UnreadablePayload(message=str(error))
    state = _state(document)
    if state is not None and state != ALARM:
        return NoAlarm(state=state[:_ID_AT_MOST])
    given = headers.get(IDEMPOTENCY_KEY) or headers.get(STANDARD_ID) or event
    given = given or headers.get(REQUEST_ID) or _id(document)
    if given is not None and len(given) > _ID_AT_MOST:
        return UnreadablePayload(message=f"expected an id of at most {_ID_AT_MOST} characters, found {len(given)}")
    return ExecutionOrder(id=given)


def _document(body: bytes, headers: Mapping[str, str]) -> tuple[Mapping[str, object], str | None]:
    """Return the body's object and the event's key; empty and ``None`` if there is none. Raises `WrongShape`."""
    if cloud_events.is_event(headers):
        events = cloud_events.events(body, headers)
        if len(events) != 1:
            raise WrongShape(f"expected one event for one execution, found {len(events)}")
        return _object(events[0].data), events[0].key
    if not body or not cloud_events.is_json(headers.get("content-type", "")):
        return {}, None
    return _object(json_shapes.parsed(body)), None


def _object(document: object) -> Mapping[str, object]:
    return document if isinstance(document, dict) else {}


def _state(document: Mapping[str, object]) -> str | None:
    for key in _STATES:
        if isinstance(state := document.get(key), str):
            return state.lower()
    return "resolved" if document.get("status") == "resolved" else None


def _id(document: Mapping[str, object]) -> str | None:
    given = document.get("id")
    return given if isinstance(given, str) and given else None
