"""Numbers and times as text. An unknown value is a dash, never a zero. Times are UTC, as in the command line."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from config.units import Instant, Seconds
from trigger.explain.time_words import say_moment, whole_milliseconds

ABSENT = "–"
_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def number(value: float | None) -> str:
    """Write a number with three digits; an integer in full.

    >>> number(71.318), number(4.0), number(123456.0), number(0.0), number(None)
    ('71.3', '4', '123456', '0', '–')
    """
    if value is None or not math.isfinite(value):
        return ABSENT
    if value == round(value) and abs(value) < 1e12:  # noqa: PLR2004  # beyond that, digits do not matter
        return str(round(value))
    if not 1e-4 <= abs(value) < 1e12:  # noqa: PLR2004
        return f"{value:.2e}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def quantity(value: float | None, unit: str) -> str:
    """Write a number with its unit.

    >>> quantity(71.318, "percent"), quantity(3.0, "ms"), quantity(None, "ms"), quantity(3.0, "")
    ('71.3 %', '3 ms', '–', '3')
    """
    if value is None:
        return ABSENT
    return f"{number(value)} {'%' if unit == 'percent' else unit}".rstrip()


def clock(at: Instant | None) -> str:
    """Write a time of day.

    >>> clock(Instant(3661.5)), clock(None)
    ('01:01:01', '–')
    """
    if at is None:
        return ABSENT
    minutes, seconds = divmod(math.floor(at) % 86_400, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"


def minute(at: Instant) -> str:
    """Write a date and a time of day.

    >>> minute(Instant(1772366400.5))
    '2026-03-01 12:00'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def second(at: Instant) -> str:
    """Write a date and a time of day to the second.

    >>> second(Instant(1772366400.5))
    '2026-03-01 12:00:00'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def stamp(at: Instant) -> str:
    """Write a date and time precise enough to find the decision of that instant.

    >>> stamp(Instant(1772366400.5319998))
    '2026-03-01T12:00:00.531Z'
    """
    day = datetime.fromtimestamp(whole_milliseconds(at) // 1000, UTC).date()
    return f"{day.isoformat()}T{say_moment(at)}Z"


def span(seconds: Seconds | None) -> str:
    """Write a length of time in at most two units. The page's script counts on in the same format.

    >>> span(42.9), span(250), span(3 * 3600), span(90061), span(None), span(-3)
    ('42 s', '4 min 10 s', '3 h', '1 d 1 h', '–', '0 s')
    """
    if seconds is None:
        return ABSENT
    rest, parts = max(0, math.floor(seconds)), []
    for size, unit in _UNITS:
        count, rest = divmod(rest, size)
        parts.append((count, unit))
    first = next((index for index, (count, _) in enumerate(parts) if count), len(parts) - 1)
    shown = [f"{count} {unit}" for count, unit in parts[first : first + 2] if count or first == len(parts) - 1]
    return " ".join(shown)
