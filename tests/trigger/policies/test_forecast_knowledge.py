from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from config.units import GroupId, PolicyId
from tests.support.loads import TWO_MINUTES, a_wave
from trigger.forecast.carrying import LevelToKeep
from trigger.forecast.cohorts import ForecastCohort, Lane, MemberReadings, Terms
from trigger.forecast.horizons import DAY, STEP
from trigger.forecast.profiles import number_of
from trigger.forecast.shadows import BALANCED, HOUR
from trigger.policies.forecast_knowledge import ForecastKnowledge, HeadroomChoice, known_by

WEB = Lane(GroupId("web"), PolicyId("ahead"))
FIRST = 10 * DAY


def a_cohort(steps: int = 40) -> ForecastCohort:
    cohort = ForecastCohort.begin([WEB], Terms(horizons=TWO_MINUTES, preference=BALANCED), FIRST)
    for load in a_wave(steps):
        cohort.take(np.array([load]))
    return cohort


def known(cohort: ForecastCohort) -> ForecastKnowledge:
    found = known_by(cohort, WEB)
    assert found is not None
    return found


def choices(cohort: ForecastCohort, chosen: list[float], *earlier: list[float]) -> tuple[HeadroomChoice, ...]:
    """Return the choices of a forecast that followed these headrooms, hour by hour before, the newest first."""
    before = np.full_like(cohort.state.shadows.earlier, np.nan)
    for age, pair in enumerate(earlier):
        before[age, :, 0] = pair
    shadows = replace(cohort.state.shadows, chosen=np.array(chosen)[:, None], earlier=before)
    cohort.state = replace(cohort.state, shadows=shadows)
    return known(cohort).choices


def test_before_the_first_load_nothing_is_known() -> None:
    cohort = ForecastCohort.begin([WEB], Terms(horizons=TWO_MINUTES, preference=BALANCED), FIRST)
    assert known_by(cohort, WEB) is None

    cohort.take(np.array([np.nan]))

    assert known_by(cohort, WEB) is None


def test_the_history_begins_with_the_first_load_and_ends_with_the_newest_step() -> None:
    found = known(a_cohort(40))

    assert (found.since, found.at) == (FIRST * STEP, (FIRST + 39) * STEP)
    assert (found.boot, found.drain) == (120.0, 60.0)


@pytest.mark.parametrize(("age", "days"), [(DAY // 2, 0), (2 * DAY + HOUR, 2), (30 * DAY, 7)])
def test_days_that_are_known_are_counted_up_to_a_week(age: int, days: int) -> None:
    cohort = a_cohort()
    cohort.state = replace(cohort.state, since=np.array([float(cohort.number - age)]))

    assert known(cohort).days_alike == days


def test_the_bands_are_those_that_the_sizes_are_made_of() -> None:
    cohort = a_cohort()
    growing, shrinking = known(cohort).bands

    assert cohort.state.outlook is not None
    assert np.ceil(shrinking.at_most) <= cohort.state.outlook.may_shrink_to[0]
    assert (growing.within, growing.highest) == (TWO_MINUTES.grow * STEP, False)
    assert (shrinking.within, shrinking.highest) == (TWO_MINUTES.shrink * STEP, True)
    assert growing.load < growing.at_most
    assert shrinking.load < shrinking.at_most


def test_headrooms_are_listed_since_when_they_were_followed() -> None:
    cohort = a_cohort(2 * HOUR + 10)
    hour = (FIRST + 2 * HOUR) * STEP

    first, second, third = choices(cohort, [1.0, 4.0], [1.0, 4.0], [2.0, 4.0], [2.5, 4.0])

    assert first == HeadroomChoice(since=hour - 3600, growing=1.0, shrinking=4.0)
    assert second == HeadroomChoice(since=hour - 7200, growing=2.0, shrinking=4.0)
    assert third == HeadroomChoice(since=None, growing=2.5, shrinking=4.0)


def test_headrooms_that_did_not_change_for_a_day_have_no_beginning() -> None:
    (only,) = choices(a_cohort(), [1.0, 4.0], *[[1.0, 4.0]] * 24)

    assert only.since is None


def test_what_members_of_earlier_profiles_carried_is_listed_with_its_evidence() -> None:
    level = LevelToKeep(at=70.0, top=100.0, least=0.0, most=9.5)
    cohort = ForecastCohort.begin([WEB], Terms(horizons=TWO_MINUTES, preference=BALANCED, level=level), FIRST)
    for profile, steps in ((number_of("5e" * 32), 20), (number_of("7a" * 32), 1)):
        for _ in range(steps):
            cohort.take(np.array([120.0]), MemberReadings(np.array([8.0]), np.array([56.0]), np.array([profile])))

    (before,) = known(cohort).profiles

    assert (before.profile, before.each, before.learned) == ("5e5e5e5e5e5e", 9.5, 20 * STEP)
    assert before.until == (FIRST + 20) * STEP
