"""A holiday goes like earlier holidays and one day of the week; other days do not go like a holiday."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from config.model.holidays import Holidays, day_of
from trigger.forecast.features import days_alike
from trigger.forecast.horizons import DAY

CHRISTMAS = Holidays(days=(day_of(date(2027, 1, 6)),), yearly=((12, 25), (12, 26)), like=6)
"""Of 2026: Friday and Saturday; the other one is a Wednesday. All are like a Sunday."""


@pytest.mark.parametrize(
    ("today", "like"),
    [
        pytest.param(date(2026, 12, 24), {1, 2, 3, 4, 5, 6, 7}, id="without a holiday every day counts"),
        pytest.param(date(2026, 12, 25), {5}, id="a holiday is like the Sunday before"),
        pytest.param(date(2026, 12, 26), {1, 6}, id="and like the holiday before"),
        pytest.param(date(2026, 12, 28), {1, 4, 5, 6, 7}, id="later days are not like it"),
        pytest.param(date(2027, 1, 6), {3}, id="a date of one year is one, too"),
        pytest.param(date(2028, 1, 6), {1, 2, 3, 4, 5, 6, 7}, id="but not in another year"),
    ],
)
def test_the_days_that_count_are_those_that_go_like_today(today: date, like: set[int]) -> None:
    alike = days_alike(CHRISTMAS, day_of(today) * DAY + 17)

    assert {back for back, counts in enumerate(alike.tolist(), 1) if counts} == like


def test_a_holiday_begins_at_midnight_of_its_time_zone() -> None:
    paris = replace(CHRISTMAS, timezone="Europe/Paris")
    midnight = day_of(date(2026, 12, 25)) * DAY - 120  # an hour before that of UTC

    assert days_alike(paris, midnight - 1).all()
    assert days_alike(paris, midnight).tolist() == [False] * 4 + [True] + [False] * 2


def test_without_a_calendar_every_day_counts() -> None:
    assert days_alike(None, 12345).all()
