"""A calendar file (iCalendar, RFC 5545) → the days of its all-day events, and what is wrong with it, by its line.

An event counts on each of its dates, as they stand in the file. One that comes every year on the same date stays such a
rule; any other rule is followed up to the year 2100. Events at a time of day are no holidays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from config.model.holidays import day_of

if TYPE_CHECKING:
    from icalendar import Event, vRecur

_MOST_BYTES = 2**20
_MOST_DAYS = 10_000
_END = datetime(2100, 1, 1)  # noqa: DTZ001 dates without a time zone
_REPLACES = (
    "RECURRENCE-ID is not read: write what replaces one day of a series as an event of its own, and the day as EXDATE"
)


class CalendarFaultError(ValueError):
    """A calendar that cannot be used; the message has the line, and what is wrong there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarDays:
    """The days of a calendar, as `config.model.holidays.Holidays` has them."""

    days: frozenset[int] = frozenset()
    yearly: frozenset[tuple[int, int]] = frozenset()


def read_calendar(path: Path) -> CalendarDays:
    """Read the days of a calendar file.

    Raises:
        CalendarFaultError: it cannot be read, is no calendar, has an event that is wrong, or has no all-day event.
    """
    from icalendar import Calendar, Event  # slow to load: only files with a calendar pay

    content = _content_of(path)
    try:
        events = [each for each in Calendar.from_ical(content).walk("VEVENT") if isinstance(each, Event)]
    except ValueError as error:
        raise CalendarFaultError(f"line 1: it is no calendar (iCalendar, RFC 5545): {_first_line(error)}") from error
    lines = [number for number, line in enumerate(content.splitlines(), 1) if line.strip().upper() == b"BEGIN:VEVENT"]
    days, yearly = set[int](), set[tuple[int, int]]()
    for line, event in zip(lines, events, strict=True):
        try:
            found = _days_of(event)
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            raise CalendarFaultError(f"line {line}: the event that begins there: {_first_line(error)}") from error
        days |= found.days
        yearly |= found.yearly
    if not days and not yearly:
        raise CalendarFaultError("line 1: it has no all-day event (DTSTART;VALUE=DATE)")
    return CalendarDays(days=frozenset(days), yearly=frozenset(yearly))


def _content_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise CalendarFaultError(f"it cannot be read: {error.strerror}") from error
    if len(content) > _MOST_BYTES:
        raise CalendarFaultError("it is longer than 1 MiB: keep the holidays in a calendar of their own")
    return content


def _days_of(event: Event) -> CalendarDays:
    """Return the days of one event; none: it is at a time of day.

    Raises:
        ValueError: it is wrong.
    """
    if event.errors:
        name, why = event.errors[0]
        raise ValueError(f"{name}: {why}" if name else why)
    first = event.start
    if isinstance(first, datetime):
        return CalendarDays()
    if "RECURRENCE-ID" in event:
        raise ValueError(_REPLACES)
    span = [timedelta(days=days) for days in range((event.end - first).days)]
    if not span:
        raise ValueError("it ends before it begins")
    if _is_plainly_yearly(event, first):
        return CalendarDays(yearly=frozenset(((first + each).month, (first + each).day) for each in span))
    return CalendarDays(days=frozenset(day_of(at + each) for at in _dates(event, first) for each in span))


def _is_plainly_yearly(event: Event, first: date) -> bool:
    if len(event.rrules) != 1 or event.exdates or event.rdates:
        return False
    same = {"FREQ": "YEARLY", "INTERVAL": 1, "BYMONTH": first.month, "BYMONTHDAY": first.day}
    (rule,) = event.rrules
    return rule.get("FREQ") == ["YEARLY"] and all(rule[key] == [same.get(key)] for key in rule if key != "WKST")


def _dates(event: Event, first: date) -> Iterator[date]:
    """Yield the dates on which an event begins."""
    from dateutil.rrule import rruleset, rrulestr

    dates: Any = rruleset()
    dates.rdate(_midnight(first))
    for rule in event.rrules:
        dates.rrule(rrulestr(_words_of(rule), dtstart=_midnight(first)))
    for at, _ in event.rdates:
        dates.rdate(_midnight(at))
    for at in event.exdates:
        dates.exdate(_midnight(at))
    for number, at in enumerate(takewhile(lambda at: at < _END, dates)):
        if number == _MOST_DAYS:
            raise ValueError(f"it comes on more than {_MOST_DAYS:,} days")
        yield at.date()


def _words_of(rule: vRecur) -> str:
    """Return a rule with a date as its end, as it must be; many programs write an instant."""
    until = [each.date() if isinstance(each, datetime) else each for each in rule.get("UNTIL", ())]
    rule = type(rule)({**rule, "UNTIL": until}) if until else rule
    return str(rule.to_ical().decode())  # type: ignore[no-untyped-call]


def _midnight(at: date) -> datetime:
    return datetime(at.year, at.month, at.day)  # noqa: DTZ001 dates without a time zone


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
