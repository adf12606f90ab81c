"""The text of `trimtab why`, from the API's JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from handler.cli.time_format import moment_text

_NAMED = 5
"""The most other decisions that are named."""


def why_lines(answer: dict[str, Any], asked: str | None) -> Iterator[str]:
    """Yield which decision is shown, the decision itself, and the group's present problems.

    Args:
        answer: the response to ``GET …/why``.
        asked: the instant as it was written; ``None``: the last decision was asked for.
    """
    if asked is not None:
        yield from _which(answer, asked)
    if span := answer.get("span"):
        yield f"{moment_text(span['first_at'])} to {moment_text(span['last_at'])} UTC, {span['ticks']} ticks:"
    yield from answer["words"]
    yield from (span or {}).get("words", ())
    yield from (f"not measured: {miss}" for miss in answer.get("misses", ()))
    yield from _troubles(answer)


def _which(answer: dict[str, Any], asked: str) -> Iterator[str]:
    """Yield what history has of the requested time, and which of its decisions is shown."""
    yield from (_event(event) for event in answer["events"])
    if not answer["began"] and "span" in answer:
        yield f"no evaluation had another result within {asked} UTC: this decision was in force"
    others: Sequence[float] = answer["others"]
    if others:
        named = ", ".join(map(moment_text, others[-_NAMED:])) + (", and earlier ones" if len(others) > _NAMED else "")
        yield f"within {asked} UTC there were also the decisions of {named}"


def _event(event: dict[str, Any]) -> str:
    before, after = event["desired_from"], event["desired_to"]
    moved = "" if after is None else f", size {after}" if before in {None, after} else f", size {before} → {after}"
    by = f" by {event['by']}" if event["by"] else ""
    message = f": {event['message']}" if event["message"] else ""
    return f"{moment_text(event['at'])} UTC {event['name']}{by}{moved}{message}"


def _troubles(answer: dict[str, Any]) -> Iterator[str]:
    doubts, quota = answer.get("doubts", ()), answer.get("quota") or ""
    yield from doubts
    if quota:
        yield f"no capacity for more members: {quota}"
    others = (
        message for message in answer.get("messages", ()) if message not in doubts and not (quota and quota in message)
    )
    yield from (f"problem: {message}" for message in others)
