from __future__ import annotations

from dataclasses import replace

from config.model.adjustments import Adjustment, AdjustmentVerb
from config.model.calendars import Calendar
from config.model.freezes import FreezeWindow
from config.model.schedules import LastsFor, Once, Schedule, ScheduledBound, ScheduledChange, ScheduledLimit
from config.units import Instant, PolicyId
from handler.web.pages.calendar import week_of
from tests.support.trigger import a_group

SUNDAY_NOON = Instant(1772366400.0)  # 2026-03-01T12:00Z
NINE = ScheduledLimit(
    id=PolicyId("days"),
    times=Calendar(cron="0 9 * * mon,fri", timezone="Europe/Paris"),
    until=LastsFor(span=3600.0),
    limit=ScheduledBound.FLOOR,
    size=6,
)


def week(*schedules: Schedule, freezes: tuple[FreezeWindow, ...] = ()) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    group = replace(a_group(), schedules=schedules, freezes=freezes)
    return [(day.date, day.entries) for day in week_of(group, SUNDAY_NOON)]


def test_a_limit_stands_in_the_calendar_at_each_of_its_times_with_its_end_in_utc() -> None:
    assert week(NINE) == [
        ("Mon 2026-03-02", (("08:00", "days: floor 6 until 2026-03-02 09:00"),)),
        ("Fri 2026-03-06", (("08:00", "days: floor 6 until 2026-03-06 09:00"),)),
    ]


def test_what_is_due_on_one_day_is_in_the_order_of_time() -> None:
    change = ScheduledChange(
        id=PolicyId("launch"),
        times=Once(at=Instant(SUNDAY_NOON + 71_999.0)),
        adjustment=Adjustment(verb=AdjustmentVerb.SET, amount=8),
        grace=0.0,
    )
    freeze = FreezeWindow(calendar=Calendar(cron="0 22 * * mon"), duration=7200.0)
    assert week(NINE, change, freezes=(freeze,))[0] == (
        "Mon 2026-03-02",
        (
            ("07:59", "launch: set 8"),
            ("08:00", "days: floor 6 until 2026-03-02 09:00"),
            ("22:00", "frozen (both) for 2h"),
        ),
    )


def test_what_is_not_due_within_a_week_or_never_again_is_left_out() -> None:
    later = ScheduledLimit(
        id=PolicyId("later"), times=Once(at=Instant(SUNDAY_NOON + 8 * 86_400)), until=LastsFor(span=60.0),
        limit=ScheduledBound.CEILING, size=1,
    )  # fmt: skip
    assert week(later) == []


def test_what_comes_every_minute_does_not_fill_the_page() -> None:
    freeze = FreezeWindow(calendar=Calendar(cron="* * * * *"), duration=30.0)
    assert sum(len(entries) for _, entries in week(freezes=(freeze,))) == 100
