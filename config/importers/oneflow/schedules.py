"""``recurrence`` and ``start_time`` of a role → when a policy is due, or why that cannot be expressed. Pure.

Of ``start_time`` nothing but digits are seconds since 1970, whatever they look like; all else is read as Ruby's
``Time.parse`` reads it, as far as a day is named. What has no zone is local to OneFlow's server.

OneFlow reads recurrences with parse-cron, which knows less than cron does. A field is a list of ``*``, ``*/n``, ``a``,
``a-b`` and ``a-b/n``; names of months and days have three letters. There are five fields, or six of which the last
means nothing, or a word such as ``@daily``. OneFlow asks it for the next time before it takes a template, and refuses
the template where that fails.

Source: OneFlow 6.8 to 7.4; Ruby 3's ``time``; parse-cron 0.1.4, ``parse_element`` and ``validate_source``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from config.document.places import Plain
from config.importers.oneflow.policies import Entry, Unmappable
from config.importers.oneflow.template import ScheduledPolicy
from config.model.calendars import read_cron

_WORDS: Final = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_NAMES: Final = re.compile("jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat")
_EVERY: Final = re.compile(r"\*(.[-+]?0*[1-9].*)?")  # what follows the number is not looked at
_SOME: Final = re.compile(r"[0-9]+(-[0-9]+(/0*[1-9][0-9]*)?)?")
_FROM: Final = re.compile(r"([0-9]+)/([0-9]+)")
_CRON_FIELDS: Final = ("a minute", "an hour", "a day of the month", "a month", "a day of the week")
_LAST: Final = (59, 23, 31, 12, 6)
_FEWEST, _MOST = 5, 6


def refusal(recurrence: str) -> str:
    """Say what of a recurrence OneFlow does not read; empty: it reads all of it.

    >>> refusal("0 9 * * mon-fri"), refusal("@daily"), refusal("*/5 8-18/2 1,15 * *")
    ('', '', '')
    >>> refusal("5/15 * * * *")
    "'5/15' as a minute; write '5-59/15'"
    >>> refusal("0 9 L * *"), refusal("0 9 * * 5#2")
    ("'L' as a day of the month", "'5#2' as a day of the week")
    >>> refusal("@reboot")
    'one field: it wants five'
    """
    if recurrence in _WORDS:
        return ""
    fields = re.split(r"\s+", recurrence.rstrip())
    if not _FEWEST <= len(fields) <= _MOST:
        return f"{'one field' if len(fields) == 1 else f'{len(fields)} fields'}: it wants five"
    for name, last, field in zip(_CRON_FIELDS, _LAST, fields, strict=False):
        for part in field.split(","):
            if field and not _is_read(part):
                return f"{part!a} as {name}{_instead(part, last)}"
    return ""


def _is_read(part: str) -> bool:
    plain = _NAMES.sub("0", part.lower())
    return _EVERY.fullmatch(plain) is not None or _SOME.fullmatch(plain) is not None


def _instead(part: str, last: int) -> str:
    found = _FROM.fullmatch(part)
    return "" if found is None else f"; write '{found[1]}-{last}/{found[2]}'"


_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH: Final = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_TIME: Final = r"(?:[t ,]\s*(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?\s*(?P<half>[ap]m)?)?"
_ZONE: Final = r"\s*(?P<zone>z|utc|gmt|[-+]\d\d:?\d\d)?"
_FORMS: Final = tuple(
    re.compile(rf"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?{form}", re.IGNORECASE | re.ASCII)
    for form in (
        rf"(?P<year>\d{{4}})-(?P<month>\d\d?)-(?P<day>\d\d?){_TIME}{_ZONE}",
        rf"(?P<year>\d{{4}})/(?P<month>\d\d?)/(?P<day>\d\d?){_TIME}{_ZONE}",
        rf"(?P<day>\d\d?)/(?P<month>\d\d?)/(?P<year>\d{{4}}){_TIME}{_ZONE}",
        rf"(?P<year>\d{{4}})(?P<month>\d\d)(?P<day>\d\d)t(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)?{_ZONE}",
        rf"{_DAY}[\s-]+{_MONTH}[\s,-]+(?P<year>\d{{4}}){_TIME}{_ZONE}",
        rf"{_MONTH}\s+{_DAY},?\s+(?P<year>\d{{4}}){_TIME}{_ZONE}",
    )
)
_DIGITS: Final = re.compile(r"\d{1,10}", re.ASCII)
_NOON = 12
_YEARS: Final = range(1970, 2200)
"""Those that a declaration may name."""


def read_start_time(text: str) -> datetime | None:
    """Read a moment, without an offset if it is local to the server.

    ``None``: it names no day, or one that there is not, or is of another century.

    >>> str(read_start_time("2nd oct 2017 15:45")), str(read_start_time("1506959100"))
    ('2017-10-02 15:45:00', '2017-10-02 15:45:00+00:00')
    >>> read_start_time("15:45") is None
    True
    """
    compact = text.strip()
    if _DIGITS.fullmatch(compact):
        return _sensible(datetime.fromtimestamp(int(compact), UTC))
    for form in _FORMS:
        if found := form.fullmatch(compact):
            return _sensible(_moment_of(found.groupdict()))
    return None


def _sensible(moment: datetime | None) -> datetime | None:
    return moment if moment is not None and moment.year in _YEARS else None


def _moment_of(parts: dict[str, str | None]) -> datetime | None:
    month = (parts["month"] or "").lower()
    hour = _hour(int(parts["hour"] or 0), (parts.get("half") or "").lower())
    if hour is None:
        return None
    try:
        return datetime(
            year=int(parts["year"] or 0),
            month=_MONTHS.index(month) + 1 if month in _MONTHS else int(month),
            day=int(parts["day"] or 0),
            hour=hour,
            minute=int(parts["minute"] or 0),
            second=int(parts["second"] or 0),
            tzinfo=_zone(parts["zone"]),
        )
    except ValueError:
        return None


def _hour(hour: int, half: str) -> int | None:
    """Of 24, from one of 12 where a half of the day is named."""
    if not half:
        return hour
    return hour % _NOON + (_NOON if half == "pm" else 0) if 1 <= hour <= _NOON else None


def _zone(text: str | None) -> timezone | None:
    if text is None:
        return None
    if text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


_FIELDS = 5
MISSED = {"missed": "once"}
"""OneFlow carries out a time that has passed once, however late."""


def times(policy: ScheduledPolicy, timezone: str | None) -> Entry | Unmappable:
    """Translate when a policy is due.

    Args:
        policy: as it is written.
        timezone: that of OneFlow's server, in which all is read that says no zone itself; ``None``: UTC.
    """
    return _moment(policy.start_time, timezone) if policy.recurrence is None else _calendar(policy.recurrence, timezone)


def _calendar(recurrence: str, timezone: str | None) -> Entry | Unmappable:
    try:
        cron = read_cron(" ".join(recurrence.split()[:_FIELDS]))
    except ValueError as error:
        return Unmappable(why=f"{recurrence!a} is not {error}")
    return {"schedule": cron} | _in(timezone)


def _moment(start_time: str | None, timezone: str | None) -> Entry | Unmappable:
    moment = read_start_time(start_time or "")
    if moment is None:
        return Unmappable(why=f"{(start_time or '')!a} names no day and hour that OneFlow and Trimtab both read alike")
    if moment.tzinfo is None and timezone is None:
        return {"at": f"{moment.isoformat()}Z"}
    return {"at": moment.isoformat()} | (_in(timezone) if moment.tzinfo is None else {})


def _in(timezone: str | None) -> dict[str, Plain]:
    return {} if timezone is None else {"timezone": timezone}


def is_local(policy: ScheduledPolicy) -> bool:
    """Whether the zone of OneFlow's server decides what it says."""
    moment = None if policy.start_time is None else read_start_time(policy.start_time)
    return moment is None or moment.tzinfo is None


def other_readings(policy: ScheduledPolicy) -> Iterator[str]:
    """What OneFlow makes of the text that people may not expect."""
    fields = (policy.recurrence or "").split()
    if len(fields) > _FIELDS:
        yield f"OneFlow looks at the first five fields only, so that {' '.join(fields[_FIELDS:])!a} means nothing"
    if (policy.recurrence or "").startswith(" "):
        yield "OneFlow takes the blank at its beginning for a field, and so shifts all others; here it means nothing"
    moment = read_start_time(policy.start_time or "")
    if moment is not None and (policy.start_time or "").strip().isdigit():
        yield f"nothing but digits are seconds since 1970: {moment.isoformat()}"
