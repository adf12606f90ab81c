"""Policies by schedule and freeze windows as they are written: a calendar or a moment in the place of conditions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence, Set
from datetime import datetime
from typing import Annotated, Protocol

from pydantic import PlainValidator, Strict, WithJsonSchema

from config.document.declared import Declared, key, must, worded
from config.document.scalars import PositiveSpan, read_positive_span, read_span
from config.model.calendars import Calendar, instant_at, read_cron, read_timezone
from config.model.effects import FrozenDirection
from config.model.freezes import FreezeWindow
from config.units import Instant, Seconds

_MOMENT = re.compile(r"(?P<year>\d{4})-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?")
_YEARS = range(1970, 2200)
_SPAN = re.compile(r"\s*(\d+(\.\d+)?\s*(ms|s|m|h|d)\s*)+")


def read_moment(text: object) -> datetime:
    """Read a moment of ISO 8601, with an offset from UTC or without.

    Raises:
        ValueError: says what was expected.

    >>> read_moment("2026-12-24T18:00+01:00").isoformat()
    '2026-12-24T18:00:00+01:00'
    """
    expected = "a moment such as 2026-12-24T18:00+01:00, or 2026-12-24T18:00 beside a timezone"
    found = _MOMENT.fullmatch(text) if isinstance(text, str) else None
    if found is None or int(found["year"]) not in _YEARS:
        raise ValueError(expected)
    try:
        return datetime.fromisoformat(found[0])
    except ValueError as error:
        raise ValueError(f"{expected}: there is no such day or hour") from error


def read_until(text: object) -> str | datetime | Seconds:
    """Read when a limit ends: five fields of cron, a moment, or a duration.

    Raises:
        ValueError: says what was expected.

    >>> read_until("0 19 * * mon-fri"), read_until("10h"), read_until("1d 12h")
    ('0 19 * * mon-fri', 36000.0, 129600.0)
    """
    expected = 'a calendar such as "0 19 * * mon-fri", a moment such as 2026-12-24T18:00+01:00, or a duration'
    if not isinstance(text, str):
        raise ValueError(expected)
    if re.match(r"\d{4}-", text):
        return read_moment(text)
    if _SPAN.fullmatch(text):
        return read_positive_span(text)
    if " " in text.strip() or text.startswith("@"):
        return read_cron(text)
    if not re.match(r"\s*\d", text):
        raise ValueError(expected)
    return read_positive_span(text)


def read_missed(value: object) -> Seconds:
    """Read how late something may still be carried out, in seconds; infinite: however late.

    Raises:
        ValueError: says what was expected.

    >>> read_missed("once"), read_missed("skip"), read_missed({"within": "10m"})
    (inf, 0.0, 600.0)
    """
    expected = "once, skip or {within: 10m}"
    match value:
        case "once":
            return math.inf
        case "skip":
            return 0.0
        case {"within": str(text), **others} if not others:
            return read_span(text)
        case _:
            raise ValueError(expected)


Cron = Annotated[str, PlainValidator(read_cron), worded("calendar: five fields of cron", type="string")]
Timezone = Annotated[str, PlainValidator(read_timezone), worded("time zone", type="string")]
At = Annotated[
    datetime,
    PlainValidator(read_moment),
    worded("moment of ISO 8601", "the years 1970 to 2199", type="string", pattern=_MOMENT.pattern),
]
Until = Annotated[
    str | datetime | Seconds, PlainValidator(read_until), worded("calendar, moment or duration", type="string")
]
Missed = Annotated[
    Seconds,
    PlainValidator(read_missed),
    WithJsonSchema(
        {
            "title": "`once`, `skip`, or `{within: DURATION}`",
            "anyOf": [
                {"enum": ["once", "skip"]},
                {
                    "type": "object",
                    "properties": {"within": {"type": "string"}},
                    "required": ["within"],
                    "additionalProperties": False,
                },
            ],
        }
    ),
]

_OF_CONDITIONS = ("when", "match", "duration", "in_a_row", "holds", "steps", "by")
_OF_SCHEDULES = ("until", "timezone", "floor", "ceiling", "missed")
_OF_CHANGES = ("missed", "at_least", "rounding", "quiet_time", "quiet_scope")


class ScheduledStart(Protocol):
    """A policy as it is written, as far as it matters how it is begun."""

    @property
    def is_scheduled(self) -> bool: ...  # noqa: D102 as the keys of the file
    @property
    def model_fields_set(self) -> Set[str]: ...  # noqa: D102
    @property
    def schedule(self) -> str | None: ...  # noqa: D102
    @property
    def at(self) -> datetime | None: ...  # noqa: D102
    @property
    def until(self) -> str | datetime | Seconds | None: ...  # noqa: D102
    @property
    def timezone(self) -> str | None: ...  # noqa: D102
    @property
    def floor(self) -> int | None: ...  # noqa: D102
    @property
    def ceiling(self) -> int | None: ...  # noqa: D102
    @property
    def set(self) -> object | None: ...  # noqa: D102
    @property
    def at_least(self) -> int | None: ...  # noqa: D102


def misfits(entry: ScheduledStart) -> Iterator[tuple[str, str]]:
    """Yield keys that do not fit the policy's trigger, and why; only the first is reported."""
    if entry.is_scheduled:
        yield from _strays(entry, _OF_CONDITIONS, "belongs to conditions, and a schedule has none: leave it out")
        if entry.schedule is not None and entry.at is not None:
            yield "at", "the start is written twice, as schedule and at: keep one"
        limiting = entry.floor is not None or entry.ceiling is not None
        yield from _misfits_of_a_limit(entry) if limiting else _misfits_of_a_change(entry)
        yield from _misfits_of_zones(entry)
    else:
        yield from _strays(entry, _OF_SCHEDULES, "belongs to a schedule: write schedule or at, too")


def _strays(entry: ScheduledStart, keys: Sequence[str], why: str) -> Iterator[tuple[str, str]]:
    yield from ((key, f"{key} {why}") for key in keys if key in entry.model_fields_set)


def _misfits_of_a_change(entry: ScheduledStart) -> Iterator[tuple[str, str]]:
    yield from _strays(entry, ("until",), "ends a floor or a ceiling: a single change has no end")
    if entry.set is not None and entry.at_least is not None:
        yield "at_least", "at_least needs add or remove: set gives the size itself, no change"


def _misfits_of_a_limit(entry: ScheduledStart) -> Iterator[tuple[str, str]]:
    why = "belongs to add, remove or set: a floor or a ceiling is in force from its first moment on"
    yield from _strays(entry, _OF_CHANGES, why)
    if entry.until is None:
        yield "", "until is missing: write when the floor or ceiling ends, such as until: 10h"
    elif entry.until == entry.schedule:
        yield "until", "until equals the schedule: write when it ends, such as 10h"
    elif isinstance(entry.until, datetime) and not _is_after(entry.until, entry):
        yield "until", "until is not after at: a floor or a ceiling ends after it began"


def _is_after(until: datetime, entry: ScheduledStart) -> bool:
    return entry.at is None or instant_of(until, entry.timezone) > instant_of(entry.at, entry.timezone)


def _misfits_of_zones(entry: ScheduledStart) -> Iterator[tuple[str, str]]:
    moments = [("at", entry.at), ("until", entry.until)]
    local = [key for key, moment in moments if isinstance(moment, datetime) and moment.tzinfo is None]
    if local and entry.timezone is None:
        yield local[0], f"{local[0]} has no offset from UTC: end it with Z or +01:00, or write timezone"
    if entry.timezone is not None and not (local or entry.schedule or isinstance(entry.until, str)):
        yield "timezone", "timezone has no effect here: every moment has its own offset"


def instant_of(moment: datetime, timezone: str | None) -> Instant:
    """When a moment is; one without an offset from UTC is in the timezone, which is UTC where none is written."""
    return instant_at(moment, timezone or "UTC") if moment.tzinfo is None else Instant(moment.timestamp())


class FreezeDocument(Declared):
    """A time that recurs, at which policies and alarms leave the size alone."""

    schedule: Cron = must("When it begins: five fields as cron has them.", "0 22 * * fri")
    duration: PositiveSpan = must("How long it lasts each time.", "58h")
    timezone: Timezone = key("Where the clock stands that the schedule means.", "Europe/Paris", default="UTC")
    direction: Annotated[FrozenDirection, Strict(False)] = key(
        "Which changes of size are frozen: in, out or both.", "in", default="both"
    )

    @property
    def window(self) -> FreezeWindow:
        """What the core sees."""
        calendar = Calendar(cron=self.schedule, timezone=self.timezone)
        return FreezeWindow(calendar=calendar, duration=self.duration, way=self.direction)
