"""Calendars against an oracle that looks at every minute, and a table of what people write."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.calendars import Calendar, instant_at, last_before, longest_gap, next_after, read_cron, read_timezone
from config.units import Instant

PARIS = "Europe/Paris"


def utc(text: str) -> Instant:
    return Instant(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def local_time(instant: Instant | None, timezone: str = "UTC") -> str | None:
    return None if instant is None else f"{datetime.fromtimestamp(instant, ZoneInfo(timezone)):%Y-%m-%dT%H:%M%z}"


@pytest.mark.parametrize(
    ("cron", "after", "then"),
    [
        pytest.param("0 9 * * mon-fri", "2026-01-02T09:00", "2026-01-05T09:00", id="over the weekend, from Friday"),
        pytest.param("0 9 * * 1-5", "2026-01-04T00:00", "2026-01-05T09:00", id="1 is Monday"),
        pytest.param("0 9 * * 0", "2026-01-01T00:00", "2026-01-04T09:00", id="0 is Sunday"),
        pytest.param("0 9 * * 7", "2026-01-01T00:00", "2026-01-04T09:00", id="and so is 7"),
        pytest.param("0 9 * * FRI-7", "2026-01-03T10:00", "2026-01-04T09:00", id="up to Sunday"),
        pytest.param("0 0 1 jan,jul *", "2026-01-02T00:00", "2026-07-01T00:00", id="months by name"),
        pytest.param("*/20 * * * *", "2026-01-01T00:40", "2026-01-01T01:00", id="steps"),
        pytest.param("10-30/10 * * * *", "2026-01-01T00:20", "2026-01-01T00:30", id="steps of a range"),
        pytest.param("5/25 * * * *", "2026-01-01T00:30", "2026-01-01T00:55", id="steps from a start"),
        pytest.param("0 8,20 * * *", "2026-01-01T08:00", "2026-01-01T20:00", id="lists"),
        pytest.param("@daily", "2026-01-01T00:00", "2026-01-02T00:00", id="a word"),
        pytest.param("@weekly", "2026-01-01T00:00", "2026-01-04T00:00", id="weeks begin on Sunday"),
        pytest.param("0 0 13 * fri", "2026-01-01T00:00", "2026-01-02T00:00", id="day of month or weekday: Friday"),
        pytest.param("0 0 13 * fri", "2026-01-09T00:00", "2026-01-13T00:00", id="day of month or weekday: the 13th"),
        pytest.param("0 0 29 2 *", "2026-01-01T00:00", "2028-02-29T00:00", id="leap day"),
        pytest.param("0 0 L * *", "2026-02-01T00:00", "2026-02-28T00:00", id="the last of a month"),
        pytest.param("0 0 * * mon#1", "2026-01-06T00:00", "2026-02-02T00:00", id="the first Monday"),
        pytest.param("0 9 * * *", "2026-01-01T08:59:59.5", "2026-01-01T09:00", id="half a second before"),
    ],
)
def test_common_calendars_have_the_right_next_time(cron: str, after: str, then: str) -> None:
    calendar = Calendar(cron=read_cron(cron))
    found = next_after(calendar, utc(after))
    assert found == utc(then)
    assert last_before(calendar, utc(then)) == found


@pytest.mark.parametrize(
    ("cron", "after", "then"),
    [
        pytest.param("30 2 * * *", "2026-03-29T00:00", "2026-03-29T03:00+0200", id="it does not exist: as it leaps"),
        pytest.param("30 2 * * *", "2026-03-29T01:00", "2026-03-30T02:30+0200", id="once only"),
        pytest.param("30 2 * * *", "2026-10-25T00:00", "2026-10-25T02:30+0200", id="it exists twice: the first"),
        pytest.param("30 2 * * *", "2026-10-25T00:30", "2026-10-26T02:30+0100", id="not the second"),
        pytest.param("30 2 * * *", "2026-10-25T01:15", "2026-10-26T02:30+0100", id="nor when asked between"),
        pytest.param("*/30 * * * *", "2026-10-25T00:30", "2026-10-25T02:00+0100", id="by real minutes, twice"),
        pytest.param("*/30 * * * *", "2026-03-29T00:30", "2026-03-29T03:00+0200", id="by real minutes, never"),
        pytest.param("0 9 * * *", "2026-07-01T00:00", "2026-07-01T09:00+0200", id="summer"),
        pytest.param("0 9 * * *", "2026-01-01T00:00", "2026-01-01T09:00+0100", id="winter"),
    ],
)
def test_clocks_that_change(cron: str, after: str, then: str) -> None:
    assert local_time(next_after(Calendar(cron=cron, timezone=PARIS), utc(after)), PARIS) == then


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0 0 30 2 *", "no such month has a day 30"),
        ("0 0 31 2,4,6 *", "no such month has a day 31"),
        ("0 24 * * *", "'24' is no hour"),
        ("60 * * * *", "'60' is no minute"),
        ("0 0 * * fri-mon", "ranges run upwards"),
        ("0 0 * 13 *", "no month"),
        ("0 0 0 * *", "no day of the month"),
        ("0 0 * * funday", "no day of the week"),
        ("*/0 * * * *", "no minute"),
        ("0 0 0 * * *", "five fields"),
        ("0 9", "@daily"),
        ("@reboot", "@daily"),
        ("", "five fields"),
        ("9" * 5000, "five fields"),
        ("²  * * * *", "no minute"),
        (900, "five fields"),
    ],
)
def test_an_invalid_calendar_is_refused_with_the_reason(text: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_cron(text)


@given(st.lists(st.text("0123456789*/,-#LWmonjafri²", min_size=1, max_size=8), min_size=5, max_size=5))
def test_garbage_is_refused_or_understood(parts: list[str]) -> None:
    try:
        calendar = Calendar(cron=read_cron(" ".join(parts)))
    except ValueError:
        return
    found = next_after(calendar, utc("2026-01-01"))
    assert found is None or found > utc("2026-01-01")


@pytest.mark.parametrize("text", ["Europe", "Europe/Pariss", "../etc/passwd", "/etc/localtime", "", "a\0b", 3, "é"])
def test_an_invalid_time_zone_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="Europe/Paris"):
        read_timezone(text)


@pytest.mark.parametrize(
    ("wall", "then"),
    [
        ("2026-12-24T18:00", "2026-12-24T18:00+0100"),
        ("2026-03-29T02:30", "2026-03-29T03:00+0200"),
        ("2026-10-25T02:30", "2026-10-25T02:30+0200"),
    ],
)
def test_a_moment_is_read_as_a_calendar_reads_it(wall: str, then: str) -> None:
    assert local_time(instant_at(datetime.fromisoformat(wall), PARIS), PARIS) == then


# A second opinion: look at every minute.

ZONES = {  # a few days around a change of the clock
    PARIS: ["2026-03-28", "2026-10-24"],
    "America/New_York": ["2026-03-07", "2026-10-31"],
    "Australia/Lord_Howe": ["2026-04-03", "2026-10-03"],
    "Asia/Kathmandu": ["2026-02-27"],
    "UTC": ["2028-02-28"],
}


def _fits(field: str, value: int) -> bool:
    for part in field.split(","):
        span, _, step = part.partition("/")
        low, _, high = span.partition("-")
        first, last = (0, 99) if span == "*" else (int(low), int(high or low))
        if first <= value <= last and (value - first) % int(step or 1) == 0:
            return True
    return False


def _is_now(cron: str, wall: datetime) -> bool:
    minute, hour, day, month, weekday = cron.split()
    days = [_fits(day, wall.day), _fits(weekday, wall.isoweekday() % 7)]
    either = "*" not in (day, weekday)
    return (
        _fits(minute, wall.minute)
        and _fits(hour, wall.hour)
        and _fits(month, wall.month)
        and (any(days) if either else all(days))
    )


def _every(cron: str, timezone: str, begin: datetime) -> Iterator[Instant]:
    """All occurrences within four days."""
    fixed = not (cron.startswith("*") or cron.split()[1].startswith("*"))
    for minute in range(4 * 1440):
        if fixed:
            wall = begin + timedelta(minutes=minute)
            if _is_now(cron, wall):
                yield instant_at(wall, timezone)
        else:
            instant = Instant(instant_at(begin, timezone) + 60 * minute)
            if _is_now(cron, datetime.fromtimestamp(instant, ZoneInfo(timezone))):
                yield instant


@given(
    place=st.sampled_from([(zone, day) for zone, days in ZONES.items() for day in days]),
    minute=st.sampled_from(["*", "*/10", "0", "30", "15,45", "7-9"]),
    hour=st.sampled_from(["*", "2", "1-3", "0,2,23", "*/6"]),
    day=st.sampled_from(["*", "*", "1", "29"]),
    weekday=st.sampled_from(["*", "*", "0", "1-5", "6"]),
    asked=st.floats(min_value=86_400, max_value=3 * 86_400),
)
def test_it_agrees_with_a_search_of_every_minute(
    place: tuple[str, str], minute: str, hour: str, day: str, weekday: str, asked: float
) -> None:
    timezone, begin = place
    if timezone == "Australia/Lord_Howe" and "*" in (minute[0], hour[0]):
        minute, hour = "30", "2"  # half an hour: real minutes are not followed there
    cron = f"{minute} {hour} {day} * {weekday}"
    calendar, start = Calendar(cron=cron, timezone=timezone), datetime.fromisoformat(begin)
    now = Instant(instant_at(start, timezone) + asked)
    every = sorted(set(_every(cron, timezone, start)))
    later, earlier = [one for one in every if one > now], [one for one in every if one <= now]
    if later[1:]:
        assert next_after(calendar, now) == later[0]
    if earlier[1:]:
        assert last_before(calendar, now) == earlier[-1]


@pytest.mark.parametrize(
    ("cron", "hours"),
    [
        ("* * * * *", 1 / 60),
        ("0 9 * * *", 24),
        ("0 9 * * mon-fri", 72),
        ("0 9,17 * * mon-fri", 64),
        ("*/10 9-17 * * *", 15 + 1 / 6),
        ("0 0 1 * *", 31 * 24),
        ("* * * 1 *", (365 - 30 + 1) * 24 - 24 + 1 / 60),
        ("0 0 1 1 *", 366 * 24),
    ],
)
def test_the_longest_gap_of_a_calendar(cron: str, hours: float) -> None:
    assert longest_gap(Calendar(cron=cron)) == pytest.approx(hours * 3600)
