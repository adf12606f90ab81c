"""OneFlow's ``start_time`` → a moment.

Nothing but digits are seconds since 1970, whatever they look like; all else is read as Ruby's ``Time.parse`` reads it,
as far as a day is named. What has no zone is local to OneFlow's server. Source: OneFlow 6.8 to 7.4; Ruby 3's ``time``.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

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
            return _sensible(_moment(found.groupdict()))
    return None


def _sensible(moment: datetime | None) -> datetime | None:
    return moment if moment is not None and moment.year in _YEARS else None


def _moment(parts: dict[str, str | None]) -> datetime | None:
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
