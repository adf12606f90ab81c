from __future__ import annotations

import math

import pytest

from aggregator.frames import Aggregate, Cell, Insufficient, Lack
from config.model.adjustments import Capacity
from trigger.policies.foresight import load_of, sized_by, truth_of
from trigger.verdicts import Foreseen, Truth

OF_GROUP = Capacity(each=10.0, per_member=False, quorum=0.9)
OF_MEMBERS = Capacity(each=10.0, per_member=True, quorum=0.9)


def foreseen(needed: int, enough: int | None) -> Foreseen:
    return Foreseen(
        needed=needed,
        may_shrink_to=enough,
        load=None,
        coming=1.0,
        at_most=1.0,
        within=180.0,
        spread=0.1,
        missed=0.0,
        days=1.0,
    )


def cell(value: float, *, heard: int = 10, expected: int = 10, left_out: int = 0) -> Cell:
    return Aggregate(
        value=value,
        low=value,
        high=value,
        samples=2,
        needed=2,
        heard=heard,
        expected=expected,
        coverage=1.0,
        age=1.0,
        left_out=left_out,
    )


@pytest.mark.parametrize(
    ("forecast", "size", "truth"),
    [
        (None, 5, Truth.UNKNOWN),
        (foreseen(6, 7), None, Truth.UNKNOWN),
        (foreseen(6, 7), 5, Truth.TRUE),
        (foreseen(6, 7), 6, Truth.FALSE),
        (foreseen(6, 7), 7, Truth.FALSE),
        (foreseen(6, 7), 8, Truth.TRUE),
        (foreseen(6, None), 5, Truth.TRUE),
        (foreseen(6, None), 8, Truth.UNKNOWN),
        (foreseen(0, None), 8, Truth.UNKNOWN),
    ],
)
def test_a_forecast_asks_for_another_size_outside_of_its_two_sizes(
    forecast: Foreseen | None, size: int | None, truth: Truth
) -> None:
    assert truth_of(forecast, size) is truth


@pytest.mark.parametrize(("size", "asked"), [(5, 6), (6, 6), (7, 7), (9, 7)])
def test_it_grows_to_what_is_needed_and_shrinks_to_what_is_enough(size: int, asked: int) -> None:
    assert sized_by(foreseen(6, 7), size) == asked


def test_without_data_it_never_shrinks() -> None:
    assert sized_by(foreseen(6, None), 20) == 20


@pytest.mark.parametrize(
    ("measured", "capacity", "load"),
    [
        (cell(80.0, heard=1, expected=1), OF_GROUP, 80.0),
        (cell(8.0), OF_MEMBERS, 80.0),
        (cell(8.0, heard=9), OF_MEMBERS, 80.0),
        (cell(8.0, left_out=2), OF_MEMBERS, 96.0),
        (cell(-3.0, heard=1, expected=1), OF_GROUP, 0.0),
    ],
)
def test_the_load_of_the_group_counts_members_that_warm_up_or_did_not_answer(
    measured: Cell, capacity: Capacity, load: float
) -> None:
    assert load_of(measured, capacity) == pytest.approx(load)


@pytest.mark.parametrize(
    ("measured", "capacity"),
    [
        (cell(80.0, heard=0, expected=1), OF_GROUP),
        (cell(8.0, heard=8), OF_MEMBERS),
        (cell(math.inf, heard=1, expected=1), OF_GROUP),
        (Insufficient(because=Lack.STALE, samples=0, needed=2, heard=0, expected=1), OF_GROUP),
    ],
)
def test_missing_data_is_no_load(measured: Cell, capacity: Capacity) -> None:
    assert math.isnan(load_of(measured, capacity))
