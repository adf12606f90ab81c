from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from config.errors import DeclarationError
from config.holiday_calendars import CalendarDays, CalendarFaultError, read_calendar
from config.load import load
from config.model.adjustments import FollowForecast
from config.model.holidays import Holidays, day_of
from config.units import PolicyId

MODEL = """\
counters: {requests: {push: REQUESTS, per: group}}
policies:
  ahead: {forecast: {load: {counter: requests, each: 10}, holidays: {dates: [05-01], calendar: CALENDAR}}}
clouds: {box: {process: {}}}
profiles: {web: {cloud: box, command: [sleep, "9"]}}
groups: {web: {profile: web, min: 0, max: 80, policies: [ahead]}}
"""


def a_calendar(place: Path, *events: str) -> Path:
    """Write a calendar of events, each of them lines without their ``UID``."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//tests//EN"]
    for number, event in enumerate(events):
        lines += ["BEGIN:VEVENT", f"UID:{number}", *event.splitlines(), "END:VEVENT"]
    path = place / "holidays.ics"
    path.write_text("\r\n".join([*lines, "END:VCALENDAR", ""]))
    return path


def days(*dates: str) -> frozenset[int]:
    return frozenset(day_of(date.fromisoformat(each)) for each in dates)


@pytest.mark.parametrize(
    ("event", "found"),
    [
        pytest.param("DTSTART;VALUE=DATE:20270326", CalendarDays(days=days("2027-03-26")), id="a day"),
        pytest.param(
            "DTSTART;VALUE=DATE:20261225\nDTEND;VALUE=DATE:20261227",
            CalendarDays(days=days("2026-12-25", "2026-12-26")),
            id="two days: the end is the day after",
        ),
        pytest.param(
            "DTSTART;VALUE=DATE:20201231\nDTEND;VALUE=DATE:20210102\nRRULE:FREQ=YEARLY",
            CalendarDays(yearly=frozenset({(12, 31), (1, 1)})),
            id="every year",
        ),
        pytest.param(
            "DTSTART;VALUE=DATE:20201225\nRRULE:FREQ=YEARLY;INTERVAL=1;BYMONTH=12;BYMONTHDAY=25",
            CalendarDays(yearly=frozenset({(12, 25)})),
            id="every year on the same date, in more words",
        ),
        pytest.param(
            "DTSTART;VALUE=DATE:20261126\nRRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH;COUNT=3\nEXDATE;VALUE=DATE:20271125",
            CalendarDays(days=days("2026-11-26", "2028-11-23")),
            id="a day of the week of a month, but one",
        ),
        pytest.param(
            "DTSTART;VALUE=DATE:20251226\nRRULE:FREQ=YEARLY;UNTIL=20271226T000000Z\nRDATE;VALUE=DATE:20260101",
            CalendarDays(days=days("2025-12-26", "2026-01-01", "2026-12-26", "2027-12-26")),
            id="for some years, and a day more",
        ),
    ],
)
def test_all_day_events_are_holidays_on_their_dates(event: str, found: CalendarDays, tmp_path: Path) -> None:
    assert read_calendar(a_calendar(tmp_path, event)) == found


def test_an_event_at_a_time_of_day_is_no_holiday(tmp_path: Path) -> None:
    path = a_calendar(tmp_path, "DTSTART:20260301T100000Z", "DTSTART;VALUE=DATE:20270326")

    assert read_calendar(path).days == days("2027-03-26")


def test_a_rule_without_an_end_is_followed_to_the_year_2100(tmp_path: Path) -> None:
    found = read_calendar(a_calendar(tmp_path, "DTSTART;VALUE=DATE:20261126\nRRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH"))

    assert max(found.days) == day_of(date(2099, 11, 26))
    assert len(found.days) == 74


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ("DTSTART;VALUE=DATE:20261399", "DTSTART: Wrong date format 20261399"),
        ("SUMMARY:Easter", "No DTSTART given."),
        ("DTSTART;VALUE=DATE:20261225\nDTEND;VALUE=DATE:20261225", "it ends before it begins"),
        ("DTSTART;VALUE=DATE:20261225\nRRULE:FREQ=SOMETIMES", "RRULE: Expected frequency, got: SOMETIMES"),
        ("DTSTART;VALUE=DATE:20261225\nRRULE:FREQ=DAILY", "it comes on more than 10,000 days"),
        ("DTSTART;VALUE=DATE:20261225\nRECURRENCE-ID;VALUE=DATE:20261225", "RECURRENCE-ID is not read"),
    ],
)
def test_an_event_that_is_wrong_is_named_by_its_line(event: str, why: str, tmp_path: Path) -> None:
    path = a_calendar(tmp_path, "DTSTART;VALUE=DATE:20270326", event)

    with pytest.raises(CalendarFaultError) as caught:
        read_calendar(path)

    assert str(caught.value).startswith(f"line 8: the event that begins there: {why}")


def test_a_calendar_without_an_all_day_event_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CalendarFaultError, match="line 1: it has no all-day event"):
        read_calendar(a_calendar(tmp_path, "DTSTART:20260301T100000Z"))


def test_a_file_that_is_no_calendar_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "holidays.ics"
    path.write_text("25 December")

    with pytest.raises(CalendarFaultError, match="line 1: it is no calendar"):
        read_calendar(path)


def test_a_forecast_has_the_days_of_its_calendar_and_its_own_each_time_the_file_is_read(tmp_path: Path) -> None:
    model, calendar = tmp_path / "model.yaml", a_calendar(tmp_path, "DTSTART;VALUE=DATE:20270326")
    model.write_text(MODEL.replace("CALENDAR", str(calendar)))

    def holidays() -> Holidays:
        action = load(model).policies[PolicyId("ahead")].adjustment
        assert isinstance(action, FollowForecast)
        assert action.holidays is not None
        return action.holidays

    assert (holidays().days, holidays().yearly) == ((day_of(date(2027, 3, 26)),), ((5, 1),))

    a_calendar(tmp_path, "DTSTART;VALUE=DATE:20270329")
    assert holidays().days == (day_of(date(2027, 3, 29)),)


def test_a_calendar_that_is_wrong_is_a_problem_where_the_file_names_it(tmp_path: Path) -> None:
    model, calendar = tmp_path / "model.yaml", a_calendar(tmp_path, "SUMMARY:Easter")
    model.write_text(MODEL.replace("CALENDAR", str(calendar)))

    with pytest.raises(DeclarationError) as caught:
        load(model)

    (problem,) = caught.value.problems
    where = "policies.ahead.forecast.holidays.calendar"
    assert problem.line == 3
    assert problem.message == f"{where}: {calendar}: line 4: the event that begins there: No DTSTART given."
