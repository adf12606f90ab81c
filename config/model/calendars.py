"""Calendars: when something recurs, and for how long each time. Pure: the instant is an argument.

The text is cron's, with five fields, names, steps, lists and the usual ``@`` words; day of month *or* day of week where
both are restricted. Around a change of the clock it is read as Debian's cron(8) reads it: a fixed time that does not
exist comes at the first minute that does, one that exists twice comes the first time, and what recurs within the hour
(``*/10``) goes by real minutes; where the clock changes by half an hour (Lord Howe) it may miss up to an hour then.
Source of the arithmetic: cronsim (`docs/adr/0009-cronsim-for-calendars.md`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from config.units import Instant, Seconds

_FIELDS = ("minute", "hour", "day of the month", "month", "day of the week")
_WORDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_LONGEST = 200
_FIRST = datetime(2000, 1, 1)  # noqa: DTZ001 any wall clock's
_DAYS = 400
"""Days that a calendar names: never fewer than those of one year."""
_TWICE = 200
"""Occurrences in wall-clock time that passed twice, at most: an hour or two of minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """When something recurs: five fields of cron, in a time zone. `read_cron` and `read_timezone` make the parts."""

    cron: str
    timezone: str = "UTC"


def read_cron(text: object) -> str:
    """Read a cron expression, and write it as five fields.

    Raises:
        ValueError: says what was expected; also of a day that no month has.

    >>> read_cron("@daily"), read_cron("0 9  * * mon-fri")
    ('0 0 * * *', '0 9 * * mon-fri')
    """
    expected = 'a calendar of five fields as cron has them, such as "0 9 * * mon-fri"'
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ValueError(expected)
    parts = _WORDS.get(text.strip().lower(), text).split()
    if len(parts) != len(_FIELDS):
        raise ValueError(f"{expected}, or {', '.join(_WORDS)}")
    for place, (name, part) in enumerate(zip(_FIELDS, parts, strict=True)):
        alone = ["*"] * len(_FIELDS)
        alone[place] = part
        if not _is_understood(" ".join(alone)):
            raise ValueError(f"{expected}: {part!a} is no {name}{_backwards(part)}")
    written = " ".join(parts)
    if not _is_understood(written):
        raise ValueError(f"a calendar that ever comes: no such month has a day {parts[2]}")
    return written


def read_timezone(text: object) -> str:
    """Read the name of a time zone of the IANA database.

    Raises:
        ValueError: says what was expected.
    """
    try:
        if isinstance(text, str) and text.isprintable() and len(text) <= _LONGEST:
            return ZoneInfo(text).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass  # a folder of the database, an unsafe path, or unknown
    raise ValueError("a time zone such as Europe/Paris or UTC")


def next_after(calendar: Calendar, instant: Instant) -> Instant | None:
    """The first occurrence after ``instant``; ``None``: none within 50 years."""
    local = _local(calendar, instant)
    return next((found for found in _walk(calendar, local) if found > instant), None)


def last_before(calendar: Calendar, instant: Instant) -> Instant | None:
    """The last occurrence at or before ``instant``; ``None``: none within 50 years."""
    local = _local(calendar, instant)
    again = _repeated(local) if local.fold else 0.0  # what came in this hour's first pass may be later on the wall
    begin = _local(calendar, math.floor(instant) + again + 1)
    return next((found for found in _walk(calendar, begin, reverse=True) if found <= instant), None)


@lru_cache(maxsize=256)
def longest_gap(calendar: Calendar) -> Seconds:
    """The longest time between two occurrences, on a wall clock without shifts; infinite if there is only one.

    >>> longest_gap(Calendar(cron="0 9 * * mon-fri")) / 3600
    72.0
    >>> longest_gap(Calendar(cron="*/20 9-17 * * *")) / 3600
    15.333333333333334
    """
    minute, hour, *days_of = calendar.cron.split()
    end = _FIRST + timedelta(days=1)
    times = list(takewhile(lambda when: when < end, _occurrences(f"{minute} {hour} * * *")))
    days = list(islice(_occurrences(" ".join(["0", "0", *days_of])), _DAYS))
    if len(days) == 1:
        return math.inf
    overnight = times[0] - times[-1]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    gaps.append(max(later - earlier for earlier, later in pairwise(days)) + overnight)
    return max(gaps).total_seconds()


def _occurrences(cron: str) -> Iterator[datetime]:
    return iter(CronSim(cron, _FIRST - timedelta(minutes=1)))


def instant_at(wall: datetime, timezone: str) -> Instant:
    """The instant of a wall-clock time; read as by `Calendar` where it does not exist, or exists twice."""
    zone = ZoneInfo(timezone)
    while True:
        instant = wall.replace(tzinfo=zone, fold=0).timestamp()
        if datetime.fromtimestamp(instant, zone).replace(tzinfo=None, fold=0) == wall:
            return Instant(instant)
        wall += timedelta(minutes=1)  # a clock leaps over whole minutes, by a day at most


def _repeated(local: datetime) -> Seconds:
    """How much of the day passes twice."""
    first, second = local.replace(fold=0).utcoffset(), local.replace(fold=1).utcoffset()
    return 0.0 if first is None or second is None else (first - second).total_seconds()


def _local(calendar: Calendar, instant: float) -> datetime:
    return datetime.fromtimestamp(instant, ZoneInfo(calendar.timezone))


def _walk(calendar: Calendar, begin: datetime, *, reverse: bool = False) -> Iterator[Instant]:
    found = CronSim(calendar.cron, begin, reverse=reverse)
    return (Instant(one.timestamp()) for one in islice(found, _TWICE))


def _is_understood(cron: str) -> bool:
    try:
        CronSim(cron, datetime(2000, 1, 1))  # noqa: DTZ001 only parsed
    except (CronSimError, ValueError):
        return False
    return True


def _backwards(part: str) -> str:
    return "; ranges run upwards, with sunday as 0 or 7" if re.search("[0-9a-zA-Z]-[0-9a-zA-Z]", part) else ""
