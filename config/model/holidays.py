"""Holidays: days on which the load does not go as usual on that day of the week. Pure: the day is an argument.

A day is its number since 1970-01-01, in the time zone of the holidays.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from config.units import Instant

_FIRST = date(1970, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holidays:
    """Which days are holidays, and what they are like."""

    days: tuple[int, ...]
    """Ascending."""
    yearly: tuple[tuple[int, int], ...]
    """(month, day) of those that come every year."""
    like: int
    """The day of the week that a holiday is like: 0 is Monday."""
    timezone: str = "UTC"
    """In which these days begin at midnight."""


def day_at(holidays: Holidays, instant: Instant) -> int:
    """Return the day that it is.

    >>> paris = Holidays(days=(), yearly=(), like=6, timezone="Europe/Paris")
    >>> day_at(paris, Instant(86_400 - 3_600.0)), day_at(paris, Instant(86_400 - 3_601.0))
    (1, 0)
    """
    return day_of(datetime.fromtimestamp(instant, ZoneInfo(holidays.timezone)).date())


def day_of(when: date) -> int:
    """Return the number of a day.

    >>> day_of(date(1970, 1, 2))
    1
    """
    return (when - _FIRST).days


def weekday_of(day: int) -> int:
    """Return the day of the week; 0 is Monday.

    >>> weekday_of(0)  # a Thursday
    3
    """
    return (day + 3) % 7


def is_holiday(holidays: Holidays, day: int) -> bool:
    """Tell whether a day is a holiday."""
    when = _FIRST + timedelta(days=day)
    return day in holidays.days or (when.month, when.day) in holidays.yearly
