from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.support.loads import a_wave, begun
from trigger.forecast.carrying import MEAN_STEPS, nothing_carried
from trigger.forecast.horizons import DAY
from trigger.forecast.outlook import step
from trigger.forecast.reserves import Gaps, no_gaps, reserved, with_gap
from trigger.forecast.shadows import BALANCED

HOUR = DAY // 24
FIVE_MINUTES = 10
NONE = nothing_carried(1)


def gaps_after(holes: Sequence[tuple[int, int]]) -> Gaps:
    """Return the gaps after holes, each with its first step and its length; between them there is data."""
    gaps, silent = no_gaps(1), np.full(1, -np.inf)
    for first, length in holes:
        for number in range(first, first + length):
            gaps = with_gap(gaps, np.ones(1, dtype=np.bool_), silent, number)
            silent = np.full(1, float(number))
    return gaps


def keeps_a_reserve(gaps: Gaps, at: int) -> bool:
    _, memory = begun()
    memory.append(np.log(np.full(1, 12.25)))
    memory.step = at
    return bool(reserved(gaps, NONE, memory, (np.inf, 1.0)).gaps[0])


@pytest.mark.parametrize(
    ("holes", "kept"),
    [
        pytest.param([(0, 10), (DAY, 10)], True, id="the same hour of the next day"),
        pytest.param([(0, 10), (29 * HOUR, 10)], True, id="five hours later on the next day"),
        pytest.param([(0, 10), (29 * HOUR, 10), (34 * HOUR, 10)], True, id="and again five hours after that"),
        pytest.param([(0, 9), (15, 4), (DAY, 10)], True, id="some answers in between"),
        pytest.param([(0, 10)], False, id="once"),
        pytest.param([(0, 600)], False, id="once for long"),
        pytest.param([(0, 10), (3 * HOUR, 10)], False, id="twice on one morning"),
        pytest.param([(0, 10), (49 * HOUR, 10)], False, id="again after more than two days"),
        pytest.param([(0, 9), (DAY, 9), (2 * DAY, 9)], False, id="less than five minutes each day"),
        pytest.param([(hour * HOUR, 2) for hour in range(48)], False, id="a minute each hour"),
    ],
)
def test_a_reserve_is_kept_where_data_is_missing_again_on_another_half_day(
    holes: list[tuple[int, int]], *, kept: bool
) -> None:
    last = holes[-1][0] + holes[-1][1]

    assert keeps_a_reserve(gaps_after(holes), last) is kept


def test_the_reserve_for_missing_data_ends_after_two_days_with_data() -> None:
    gaps = gaps_after([(0, FIVE_MINUTES), (DAY, FIVE_MINUTES)])
    last = DAY + FIVE_MINUTES - 1

    assert keeps_a_reserve(gaps, last + 2 * DAY)
    assert not keeps_a_reserve(gaps, last + 2 * DAY + 1)


@pytest.mark.parametrize(("steps", "kept"), [(10, True), (MEAN_STEPS - 1, True), (MEAN_STEPS, False)])
def test_a_reserve_is_kept_until_what_members_carry_is_a_mean_of_six_hours(steps: int, *, kept: bool) -> None:
    _, memory = begun()
    memory.append(np.log(np.full(1, 12.25)))
    carried = replace(NONE, each=np.array([80.0]), steps=np.array([float(steps)]))

    reserve = reserved(no_gaps(1), carried, memory, (np.inf, 2.0))

    assert reserve.learning[0] == kept
    assert reserve.needed[0] == (32.0 if kept else 0.0)  # twice as many members bear the load of 12


def test_the_reserve_is_a_third_more_than_the_load_and_than_its_highest_of_a_quarter_of_an_hour() -> None:
    _, memory = begun()
    for load in (60.0, *[30.0] * 20, 12.0):
        memory.append(np.log(np.full(1, load + 0.25)))
    gaps = gaps_after([(-DAY, FIVE_MINUTES), (0, FIVE_MINUTES)])

    reserve = reserved(gaps, NONE, memory, (np.inf, 1.0))
    capped = reserved(gaps, NONE, memory, (14.0, 1.0))

    assert (reserve.needed[0], reserve.may_shrink_to[0]) == (16.0, 80.0)
    assert (capped.needed[0], capped.may_shrink_to[0]) == (14.0, 14.0)


def test_a_group_whose_data_is_missing_each_day_keeps_the_reserve_in_a_hole_too() -> None:
    load, (state, memory) = a_wave(60), begun()
    for value in load:
        state = step(state, memory, np.array([value]), BALANCED)
    state = replace(state, gaps=gaps_after([(60 - DAY, FIVE_MINUTES), (50, FIVE_MINUTES)]))

    state = step(state, memory, np.array([np.nan]), BALANCED)

    assert state.outlook is not None
    assert not state.outlook.heard[0]
    assert state.outlook.gaps[0]
    assert state.outlook.needed[0] >= 4 / 3 * load[-1]
    assert state.outlook.may_shrink_to[0] >= state.outlook.needed[0]
