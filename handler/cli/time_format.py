"""Instants as people read and write them on the command line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from config.units import Instant, parse_span
from trigger.explain.time_words import say_moment, whole_milliseconds

_DAY = 86_400_000_000
_MILLISECOND = 1_000
_WIDTHS = (3_600_000_000, 60_000_000, 1_000_000)
"""Microseconds of an hour, a minute and a second."""
_ZONE = re.compile(r"(Z|[+-]\d\d(:?\d\d){0,2}(\.\d+)?)$")
_NUMBER = re.compile(r"\+?(\d+\.?\d*|\.\d+)")
_LATEST = 1e12
"""Seconds."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH).total_seconds()


def clock_text(at: float | None) -> str:
    """Return an instant as UTC date and time; a dash for not yet."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S") if at is not None else "–"


def moment_text(at: float) -> str:
    """Return the instant of a decision as UTC date and time, precise enough for ``why --at`` to find it.

    >>> moment_text(1772366400.5319998)
    '2026-03-01 12:00:00.531'
    """
    day = datetime.fromtimestamp(whole_milliseconds(Instant(at)) // 1000, UTC)
    return f"{day:%Y-%m-%d} {say_moment(Instant(at))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """The instants that a text means: ``12:00`` is a whole minute, ``12:00:00.531`` one millisecond of it."""

    at: float
    until: float
    """The first instant after the range."""


def written(text: str, now: float) -> TimeRange:
    """Read what a person wrote: a time ago, epoch seconds, ISO 8601 (UTC where it names no zone), or a time of day.

    A time of day is that of the last 24 hours; a time ago is one instant, to the millisecond; ``now`` is zero ago.

    Raises:
        ValueError: the text has none of these forms.

    >>> written("2026-03-01 12:00", 0.0)
    TimeRange(at=1772366400.0, until=1772366460.0)
    >>> written("1772366400.5", 0.0)
    TimeRange(at=1772366400.5, until=1772366400.6)
    >>> written("12:00:00.531", 1772370000.0)
    TimeRange(at=1772366400.531, until=1772366400.532)
    >>> written("-5m", 1772366700.0)
    TimeRange(at=1772366400.0, until=1772366400.001)
    """
    if text == "now":
        return _wide(round(now * 1_000_000), _MILLISECOND)
    if text.startswith("-"):
        ago = now - parse_span(text[1:])
        if ago < _FIRST:
            raise ValueError("no calendar reaches that far back")
        return _wide(round(ago * 1_000_000), _MILLISECOND)
    if _NUMBER.fullmatch(text):
        number = Decimal(text)
        if abs(number) > _LATEST:
            raise ValueError("no calendar reaches that far")
        last_digit = Decimal(1).scaleb(min(int(number.as_tuple().exponent), 0))
        return TimeRange(at=float(number), until=float(number + last_digit))
    if re.match(r"\d\d:", text):
        return _last(text, now)
    moment = datetime.fromisoformat(text)
    begin = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return _wide(begin // timedelta(microseconds=1), _width(text))


def _last(time_of_day: str, now: float) -> TimeRange:
    """Return the last time, until now, that the clock showed this."""
    today = datetime.fromtimestamp(now, UTC).date()
    found = written(f"{today.isoformat()}T{time_of_day}", now)
    if found.at <= now:
        return found
    return written(f"{(today - timedelta(days=1)).isoformat()}T{time_of_day}", now)


def _wide(begin: int, width: int) -> TimeRange:
    return TimeRange(at=begin / 1_000_000, until=(begin + width) / 1_000_000)


def _width(text: str) -> int:
    """Return how many microseconds the last digit of an ISO 8601 text stands for."""
    _, _, time_of_day = text.replace(" ", "T").partition("T")
    whole, _, fraction = _ZONE.sub("", time_of_day).replace(",", ".").partition(".")
    if fraction:
        return int(10 ** max(0, 6 - len(fraction)))
    digits = whole.replace(":", "")
    return _WIDTHS[len(digits) // 2 - 1] if digits else _DAY
