"""Freeze windows: when they are active, and what a file may say of them."""

from __future__ import annotations

from datetime import datetime

import pytest

from config.errors import DeclarationError
from config.load import parse
from config.model.calendars import Calendar
from config.model.effects import FrozenDirection
from config.model.freezes import FreezeWindow, freezing, frozen_until
from config.units import GroupId, Instant

WEEKEND = FreezeWindow(calendar=Calendar(cron="0 22 * * fri", timezone="Europe/Paris"), duration=58 * 3600.0)


def paris(text: str, offset: str = "+01:00") -> Instant:
    return Instant(datetime.fromisoformat(text + offset).timestamp())


@pytest.mark.parametrize(
    ("now", "active", "until"),
    [
        pytest.param("2026-01-02T21:59:59", False, "2026-01-02T22:00", id="before"),
        pytest.param("2026-01-02T22:00", True, "2026-01-05T08:00", id="as it begins"),
        pytest.param("2026-01-05T07:59:59", True, "2026-01-05T08:00", id="to its end"),
        pytest.param("2026-01-05T08:00", False, "2026-01-09T22:00", id="as it ends"),
    ],
)
@pytest.mark.parametrize("asked_before", ["2026-01-02T21:00", "2026-01-04T12:00", "2026-01-07T12:00"])
def test_a_window_is_active_from_its_calendar_on_for_its_duration(
    now: str, active: bool, until: str, asked_before: str
) -> None:
    freezing(WEEKEND, paris(asked_before))  # what was answered before never shows
    found = freezing(WEEKEND, paris(now))
    assert (found.active, found.until) == (active, paris(until))


def test_a_duration_is_real_time_when_the_clock_changes() -> None:
    assert freezing(WEEKEND, paris("2026-03-29T12:00", "+02:00")).until == paris("2026-03-30T09:00", "+02:00")


def test_windows_that_overlap_go_on_to_the_latest_end() -> None:
    window = FreezeWindow(calendar=Calendar(cron="0 * * * *"), duration=5400.0)
    assert freezing(window, paris("2026-01-01T02:10")).until == paris("2026-01-01T03:30")
    assert freezing(window, paris("2026-01-01T03:00")).until == paris("2026-01-01T04:30")


@pytest.mark.parametrize(
    ("way", "frozen"),
    [
        (FrozenDirection.IN, {FrozenDirection.IN}),
        (FrozenDirection.OUT, {FrozenDirection.OUT}),
        (FrozenDirection.BOTH, {FrozenDirection.IN, FrozenDirection.OUT}),
    ],
)
def test_a_window_freezes_its_direction(way: FrozenDirection, frozen: set[FrozenDirection]) -> None:
    window = FreezeWindow(calendar=WEEKEND.calendar, duration=WEEKEND.duration, way=way)
    saturday = paris("2026-01-03T12:00")
    assert {
        asked for asked in (FrozenDirection.IN, FrozenDirection.OUT) if frozen_until([window], asked, saturday)
    } == frozen
    assert frozen_until([window], FrozenDirection.IN, paris("2026-01-06T12:00")) is None


FILE = """
clouds: {{local: {{process: {{}}}}}}
profiles: {{web: {{cloud: local, command: [/usr/bin/web]}}}}
groups:
  web:
    profile: web
    min: 2
    max: 4
    freeze: [{{{0}}}]
"""


def test_a_file_says_when_a_group_is_frozen() -> None:
    content = 'schedule: "0 22 * * fri", duration: 58h, timezone: Europe/Paris'
    assert parse(FILE.format(content), "f.yaml").groups[GroupId("web")].freezes == (WEEKEND,)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('schedule: "0 0 30 2 *", duration: 1h', "no such month has a day 30"),
        ('schedule: "0 22 * * fry", duration: 1h', "'fry' is no day of the week"),
        ('schedule: "@daily", duration: 0s', "more than 0s"),
        ('schedule: "@daily", duration: 1h, timezone: Europe/Pariss', "a time zone such as"),
        ('schedule: "@daily", duration: 1h, direction: up', "one of out, in, both"),
        ('schedule: "@daily"', "duration"),
    ],
)
def test_a_file_with_other_content_is_a_problem_at_its_line(content: str, message: str) -> None:
    with pytest.raises(DeclarationError, match=r"^f\.yaml:9: .*") as refused:
        parse(FILE.format(content), "f.yaml")
    assert message in str(refused.value)
    assert len(refused.value.problems) == 1
