"""The time that a group's page shows: a span until now, or from one instant to another; it stands in the address."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from config.errors import Refused
from config.units import Instant, Seconds, format_span, parse_span

RECENT: Seconds = 1800.0
"""What a page shows if nothing else is asked for."""
SPANS: tuple[Seconds, ...] = (RECENT, 3600.0, 6 * 3600.0, 86_400.0, 7 * 86_400.0, 30 * 86_400.0)
_SHORTEST: Seconds = 10.0
_LONGEST: Seconds = 400 * 86_400.0
_LAST = Instant(datetime(2200, 1, 1, tzinfo=UTC).timestamp())
"""Later instants have no date in the end."""
_FORMAT = "%Y-%m-%dT%H:%M:%S"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A time, and how it was asked for."""

    begin: Instant
    end: Instant
    span: Seconds | None
    """It ends now, and moves on; ``None``: it stays."""

    @property
    def length(self) -> Seconds:
        """How long it is."""
        return Seconds(self.end - self.begin)

    @property
    def query(self) -> str:
        """The part of an address that asks for it; empty for what a page shows anyway."""
        if self.span is None:
            return urlencode({"from": field_text(self.begin), "to": field_text(self.end)}, safe=":")
        return "" if self.span == RECENT else f"span={format_span(self.span)}"

    def moved(self, shares: float) -> Window:
        """Return the window that is later by this share of its length, or earlier."""
        by = shares * self.length
        return Window(begin=Instant(self.begin + by), end=Instant(self.end + by), span=None)

    def wider(self, times: float) -> Window:
        """Return the window around it that is so many times as long."""
        more = (times - 1) * self.length / 2
        return Window(begin=Instant(self.begin - more), end=Instant(self.end + more), span=None)


def window_of(now: Instant, *, span: str = "", begin: str = "", end: str = "") -> Window:
    """Return the window that an address asks for.

    Args:
        now: seconds since the epoch.
        span: as in the file (``6h``); empty: half an hour.
        begin: UTC, as 2026-03-01T12:00 or seconds since the epoch; with it, ``span`` must be empty.
        end: likewise; empty: now.

    Raises:
        Refused: one of them cannot be read, or the time is empty.
    """
    if not begin and not end:
        length = _span(span) if span else RECENT
        return Window(begin=Instant(now - length), end=now, span=length)
    if span or not begin:
        raise Refused("a time is either span=6h, or from=2026-03-01T12:00 with or without to=…")
    first, last = _instant("from", begin), _instant("to", end) if end else now
    if not (math.isnan(first) or math.isnan(last) or 0 <= min(first, last) <= max(first, last) <= _LAST):
        raise Refused(f"from {begin} to {end or 'now'} is not a time between 1970 and 2200")
    if not _SHORTEST <= last - first <= _LONGEST:
        raise Refused(f"from {begin} to {end or 'now'} is not a time of ten seconds to 400 days")
    return Window(begin=first, end=last, span=None)


def _span(text: str) -> Seconds:
    try:
        length = parse_span(text)
    except ValueError as error:
        raise Refused(f"span={text}: {error}") from error
    if not _SHORTEST <= length <= _LONGEST:
        raise Refused(f"span={text} is not a time of ten seconds to 400 days")
    return length


def _instant(name: str, text: str) -> Instant:
    """Read an instant; without a zone it is UTC."""
    try:
        return Instant(float(text))
    except ValueError:
        pass
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise Refused(
            f"{name}={text} is not a time: write 2026-03-01T12:00 (UTC), or seconds since the epoch"
        ) from error
    return Instant((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())


def field_text(at: Instant) -> str:
    """Write an instant as a form has it, UTC.

    >>> field_text(Instant(1772366400.5))
    '2026-03-01T12:00:00'
    """
    return datetime.fromtimestamp(at, UTC).strftime(_FORMAT)
