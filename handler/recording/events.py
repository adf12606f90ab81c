"""The selection of a part of a recording, and its events: sizes, people's operations, members in service."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO

from config.units import GroupId, MemberName
from handler.store.timeline import TimelineEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingSelection:
    """A part of a recording."""

    groups: frozenset[GroupId] = frozenset()
    """Empty: all groups."""
    since: float = -math.inf
    """Seconds since the epoch."""
    until: float = math.inf
    """Not included."""


COLUMNS = (
    "timestamp", "group", "kind", "name", "cause", "by", "member",
    "desired_from", "desired_to", "in_service", "result", "message", "given",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedEvent:
    """An event, and how many members the group had in service after it."""

    event: TimelineEvent
    in_service: int


def counted(events: Iterable[TimelineEvent]) -> Iterator[CountedEvent]:
    """Count the members in service; events come from the beginning of history, oldest first."""
    serving: dict[GroupId, set[MemberName]] = {}
    for each in events:
        inside = serving.setdefault(each.group, set())
        if each.kind == "member" and each.member is not None:
            if each.name == "in_service":
                inside.add(each.member)
            elif each.name in {"leaving", "gone"}:
                inside.discard(each.member)
        yield CountedEvent(event=each, in_service=len(inside))


def write_events(file: TextIO, events: Iterable[TimelineEvent], wanted: RecordingSelection) -> int:
    """Write the wanted events; return how many."""
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(COLUMNS)
    count = 0
    for each in counted(events):
        event = each.event
        if wanted.since <= event.at < wanted.until and (not wanted.groups or event.group in wanted.groups):
            lines.writerow(_line(each))
            count += 1
    return count


def _line(counted: CountedEvent) -> tuple[object, ...]:
    """Return an event's columns; a decision's ``by`` has its cause and the person or program; empty: none."""
    event = counted.event
    cause, by = "", event.by
    if event.kind == "decision":
        cause, _, by = event.by.partition(" ")
    return (
        repr(float(event.at)),
        event.group,
        event.kind,
        event.name,
        cause,
        by,
        event.member or "",
        "" if event.desired_from is None else event.desired_from,
        "" if event.desired_to is None else event.desired_to,
        counted.in_service,
        event.result or "",
        event.message,
        event.given or "",
    )
