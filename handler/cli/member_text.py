"""One member as a few lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from handler.cli.time_format import clock_text
from handler.operations.plan_text import step_text


def closeup_lines(seen: dict[str, Any]) -> Iterator[str]:
    """Yield what is known of one member, and the steps that a pass would take."""
    record, server = seen["record"], seen["server"]
    yield f"{seen['member']}: {seen['role'].replace('_', ' ')}: {seen['why']}"
    yield f"record: {_record(record)}" if record else "record: none, though it has our mark"
    missing = "does not exist" if seen["disproved"] else "is not listed"
    yield f"cloud: {_server(server)}" if server else f"cloud: {missing}"
    if seen["ready"] is not None:
        because = f": {seen['unready']}" if seen["unready"] else ""
        yield f"probe: {'ready' if seen['ready'] else 'not ready'}{because}"
    for balancer, registration in seen["seats"].items():
        yield f"{balancer}: {_registration(registration)}" if registration else f"{balancer}: not registered"
    for balancer, because in seen["unread"].items():
        yield f"{balancer}: cannot be read: {because}"
    for step in seen["steps"]:
        yield f"to do: {step_text(step)}"
    if not seen["steps"]:
        yield "to do: nothing"


def _record(record: dict[str, Any]) -> str:
    since = {"intended": "intended_at", "made": "made_at", "in_service": "in_service_at", "leaving": "leaving_at"}
    at = record.get(since.get(record["phase"], "gone_at"))
    words = [f"{record['phase'].replace('_', ' ')} since {clock_text(at)}" if at else record["phase"]]
    if record["leaving"]:
        words.append(record["leaving"].replace("_", " "))
    if record["protected"]:
        words.append("protected")
    if record["failing_since"] is not None:
        words.append(f"failing since {clock_text(record['failing_since'])}")
    if record["absent_listings"]:
        words.append(f"absent from {record['absent_listings']} listings")
    return ", ".join(words)


def _server(server: dict[str, Any]) -> str:
    where = f" at {server['address']}" if server["address"] else ""
    zone = f" in {server['zone']}" if server["zone"] else ""
    return f"{server['state']} ({server['raw_state']}), {server['id']}{where}{zone}"


def _registration(registration: dict[str, Any]) -> str:
    connections = "" if registration["connections"] is None else f", {registration['connections']} connections"
    health = "" if registration["health"] is None else f", health {registration['health']}"
    note = f"; {registration['note']}" if registration["note"] else ""
    return f"{registration['state']}{connections}{health}{note}"


def outcome_lines(answer: dict[str, Any]) -> Iterator[str]:
    """Yield what was done about one member."""
    for each in answer["done"]:
        because = f": {each['because']}" if each["because"] else ""
        yield f"{step_text(each['step'])}: {each['result']}{because}"
    if not answer["done"]:
        yield f"{answer['member']}: nothing to do"
