from __future__ import annotations

import numpy as np
import pytest

from collector.samples import Floats
from config.units import GroupId, PolicyId
from tests.support.loads import TWO_MINUTES, a_wave
from trigger.forecast import lanes as columns
from trigger.forecast.cohorts import ForecastCohort, Lane, Terms, joined
from trigger.forecast.memory import LoadMemory
from trigger.forecast.shadows import BALANCED

TERMS = Terms(horizons=TWO_MINUTES, preference=BALANCED)


def lane(name: str) -> Lane:
    return Lane(GroupId(name), PolicyId("ahead"))


def one(name: str, first: int) -> ForecastCohort:
    return ForecastCohort.begin([lane(name)], TERMS, first)


def sizes(cohort: ForecastCohort, load: Floats) -> list[tuple[float, ...]]:
    """Of the first lane, step by step; the others have half of its load."""
    found = []
    for value in load:
        cohort.take(np.array([value] + [0.5 * value] * (len(cohort.lanes) - 1)))
        assert cohort.state.outlook is not None
        found.append((float(cohort.state.outlook.needed[0]), float(cohort.state.outlook.may_shrink_to[0])))
    return found


def test_a_step_may_have_any_number() -> None:
    load = a_wave(150)

    assert sizes(one("a", 0), load) == sizes(one("a", 58_000_120), load)  # both at a full hour


@pytest.mark.parametrize("younger", [1, 20, 140])
def test_a_lane_that_joins_others_goes_on_as_it_would_alone(younger: int) -> None:
    load = a_wave(300)
    alone, mine, other = one("a", 0), one("a", 0), one("b", 200 - younger)
    expected = sizes(alone, load)
    sizes(mine, load[:200])
    sizes(other, load[200 - younger : 200] * 3.0)

    (both,) = joined([mine, other])

    assert both.lanes == (lane("a"), lane("b"))
    assert sizes(both, load[200:]) == expected[200:]


@pytest.mark.parametrize("younger", [1, 20, 140])
def test_a_young_lane_goes_on_among_older_ones_as_it_would_alone(younger: int) -> None:
    load = a_wave(300)
    expected = sizes(one("a", 200 - younger), load[200 - younger :])
    mine, other = one("a", 200 - younger), one("b", 0)
    sizes(mine, load[200 - younger : 200])
    sizes(other, load[:200] * 3.0)

    (both,) = joined([mine, other])

    assert sizes(both, load[200:]) == expected[younger:]


def test_a_lane_goes_on_without_the_others() -> None:
    load = a_wave(260)
    expected = sizes(one("a", 0), load)
    both = ForecastCohort.begin([lane("a"), lane("b")], TERMS, 0)
    sizes(both, load[:200])

    assert sizes(both.only([lane("a")]), load[200:]) == expected[200:]


def test_lanes_of_other_steps_stay_apart() -> None:
    mine, other = one("a", 0), one("b", 0)
    sizes(mine, a_wave(3))

    assert len(joined([mine, other])) == 2


@pytest.mark.parametrize("steps", [5, 200])
def test_a_state_that_is_written_as_numbers_goes_on(steps: int) -> None:
    load = a_wave(300)
    mine = one("a", 0)
    sizes(mine, load[:steps])
    numbers = columns.numbers_of(mine.state)
    memory = LoadMemory.of([ring.copy() for ring in mine.memory.rings], TWO_MINUTES, 0, mine.number)

    again = ForecastCohort(mine.lanes, TERMS, memory, columns.state_of(numbers, TWO_MINUTES))

    assert sizes(again, load[steps:]) == sizes(mine, load[steps:])


def test_numbers_of_other_horizons_are_refused() -> None:
    with pytest.raises(ValueError, match="numbers"):
        columns.state_of(np.zeros(7), TWO_MINUTES)
