"""Policies by schedule: when limits stand, and what a file may say of them."""

from __future__ import annotations

import math
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.errors import DeclarationError
from config.model.adjustments import Adjustment, AdjustmentVerb, Rounding
from config.model.calendars import Calendar, last_before, next_after
from config.model.catalogue import QuietScope
from config.model.schedules import (
    End,
    LastsFor,
    Once,
    ScheduledBound,
    ScheduledChange,
    ScheduledLimit,
    Times,
    last_time,
    next_time,
    standing,
)
from config.units import Instant, PolicyId
from tests.support.config import declared

MORNING = Calendar(cron="0 9 * * mon-fri", timezone="Europe/Paris")
EVENING = Calendar(cron="0 19 * * mon-fri", timezone="Europe/Paris")


def paris(text: str, offset: str = "+01:00") -> Instant:
    return Instant(datetime.fromisoformat(text + offset).timestamp())


def a_limit(times: Times = MORNING, until: End = EVENING) -> ScheduledLimit:
    return ScheduledLimit(id=PolicyId("days"), times=times, until=until, limit=ScheduledBound.FLOOR, size=6)


@pytest.mark.parametrize(
    ("now", "since", "until"),
    [
        pytest.param("2026-01-02T08:59:59", None, "2026-01-02T09:00", id="before"),
        pytest.param("2026-01-02T09:00", "2026-01-02T09:00", "2026-01-02T19:00", id="as it begins"),
        pytest.param("2026-01-02T18:59:59", "2026-01-02T09:00", "2026-01-02T19:00", id="to its end"),
        pytest.param("2026-01-02T19:00", None, "2026-01-05T09:00", id="as it ends, over the weekend"),
    ],
)
@pytest.mark.parametrize("asked_before", ["2026-01-02T08:00", "2026-01-02T12:00", "2026-01-03T12:00"])
def test_a_limit_stands_from_its_time_to_the_end_that_follows(
    now: str, since: str | None, until: str, asked_before: str
) -> None:
    standing(a_limit(), paris(asked_before))  # what was answered before never shows
    found = standing(a_limit(), paris(now))
    assert (found.since, found.until) == (None if since is None else paris(since), paris(until))
    assert found.active is (since is not None)


@pytest.mark.parametrize(
    ("times", "until", "now", "ends"),
    [
        pytest.param(MORNING, LastsFor(span=5400.0), "2026-01-02T10:29", "2026-01-02T10:30", id="a duration"),
        pytest.param(MORNING, LastsFor(span=5400.0), "2026-01-02T10:30", None, id="a duration that is over"),
        pytest.param(
            Once(at=paris("2026-01-01T00:00")), EVENING, "2026-01-01T12:00", "2026-01-01T19:00", id="from a moment on"
        ),
        pytest.param(Once(at=paris("2026-01-03T00:00")), EVENING, "2026-01-02T12:00", None, id="a moment to come"),
        pytest.param(
            MORNING, Once(at=paris("2026-01-09T12:00")), "2026-01-07T23:00", "2026-01-09T12:00", id="until a moment"
        ),
        pytest.param(MORNING, Once(at=paris("2026-01-09T12:00")), "2026-01-12T10:00", None, id="after that moment"),
    ],
)
def test_times_and_ends_are_calendars_moments_or_durations(
    times: Times, until: End, now: str, ends: str | None
) -> None:
    found = standing(a_limit(times, until), paris(now))
    assert (found.until if found.active else None) == (None if ends is None else paris(ends))


def test_a_limit_that_begins_again_before_its_end_goes_on() -> None:
    limit = a_limit(Calendar(cron="0 * * * *"), LastsFor(span=5400.0))
    noon = datetime.fromisoformat("2026-01-01T12:00+00:00").timestamp()
    assert standing(limit, Instant(noon + 60)).until == noon + 5400
    assert standing(limit, Instant(noon + 3600)).until == noon + 3600 + 5400


def test_a_limit_that_ends_as_it_begins_stands_until_the_next_end() -> None:
    found = standing(
        a_limit(MORNING, Calendar(cron="0 9,12 * * *", timezone="Europe/Paris")), paris("2026-01-02T09:00")
    )
    assert found.until == paris("2026-01-02T12:00")


def test_working_hours_follow_the_clock_on_the_wall_when_it_changes() -> None:
    assert standing(a_limit(), paris("2026-03-30T12:00", "+02:00")).since == paris("2026-03-30T09:00", "+02:00")


CRONS = st.sampled_from(["*/7 * * * *", "0 9 * * *", "30 1,2 * * *", "0 0 1 * *", "15 6 * * sun"])


@given(cron=CRONS, days=st.lists(st.floats(0, 400), min_size=1, max_size=4))
def test_the_times_around_an_instant_are_those_of_the_calendar_whatever_was_asked_before(
    cron: str, days: list[float]
) -> None:
    calendar = Calendar(cron=cron, timezone="Europe/Paris")
    for day in days:
        now = Instant(1_767_225_600.0 + day * 86400.0)
        assert (last_time(calendar, now), next_time(calendar, now)) == (
            last_before(calendar, now),
            next_after(calendar, now),
        )


def test_a_moment_comes_once() -> None:
    once = Once(at=Instant(100.0))
    assert (last_time(once, Instant(99.9)), next_time(once, Instant(99.9))) == (None, 100.0)
    assert (last_time(once, Instant(100.0)), next_time(once, Instant(100.0))) == (100.0, None)


# In the file


def written(policy: str) -> ScheduledChange | ScheduledLimit:
    catalogue = declared(("out: {when: [busy], add: 2}", f"out: {policy}"))
    (schedule,) = catalogue.groups[next(iter(catalogue.groups))].schedules
    return schedule


def test_a_floor_is_read() -> None:
    text = '{schedule: "0 9 * * mon-fri", until: "0 19 * * mon-fri", timezone: Europe/Paris, floor: 6}'
    assert written(text) == ScheduledLimit(
        id=PolicyId("out"), times=MORNING, until=EVENING, limit=ScheduledBound.FLOOR, size=6
    )


def test_a_ceiling_is_read() -> None:
    text = "{at: 2026-12-24T18:00, timezone: Europe/Paris, until: 2026-12-27T08:00Z, ceiling: 4}"
    assert written(text) == ScheduledLimit(
        id=PolicyId("out"),
        times=Once(at=paris("2026-12-24T18:00")),
        until=Once(at=paris("2026-12-27T08:00", "+00:00")),
        limit=ScheduledBound.CEILING,
        size=4,
    )


def test_a_change_is_read_with_all_that_it_may_say() -> None:
    text = '{schedule: "@daily", remove: 10%, at_least: 2, rounding: truncate, quiet_time: 1m, quiet_scope: policy}'
    assert written(text) == ScheduledChange(
        id=PolicyId("out"),
        times=Calendar(cron="0 0 * * *"),
        adjustment=Adjustment(
            verb=AdjustmentVerb.REMOVE, amount=10, percent=True, at_least=2, rounding=Rounding.TRUNCATE
        ),
        grace=3600.0,
        quiet_time=60.0,
        quiet_scope=QuietScope.POLICY,
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{schedule: "0 9 * * *", floor: 4, until: 9999999999h}', id="until"),
        pytest.param('{schedule: "0 9 * * *", set: 4, missed: {within: 9999999999h}}', id="missed"),
    ],
)
def test_a_duration_beyond_a_year_is_refused(text: str) -> None:
    with pytest.raises(DeclarationError, match="a duration of at most 366d"):
        written(text)


@pytest.mark.parametrize(
    ("missed", "grace"),
    [("once", math.inf), ("skip", 0.0), ("{within: 10m}", 600.0), ("{within: 1d}", 86400.0)],
)
def test_how_late_it_may_be_is_read(missed: str, grace: float) -> None:
    found = written(f'{{schedule: "0 9 * * *", set: 4, missed: {missed}}}')
    assert isinstance(found, ScheduledChange)
    assert found.grace == grace


def test_a_group_keeps_its_schedules_apart_from_policies_with_conditions() -> None:
    catalogue = declared(("out: {when: [busy], add: 2}", 'out: {schedule: "0 9 * * *", add: 2}'))
    (group,) = catalogue.groups.values()
    assert (group.named, group.policies) == (("out", "in"), ("in",))
    assert (set(catalogue.policies), set(catalogue.schedules)) == ({"in"}, {"out"})
