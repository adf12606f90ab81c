from __future__ import annotations

import pytest

from config.model.catalogue import Group
from config.model.rolling import NO_HURRY, Allowance, RollBudgets
from config.units import GroupId
from tests.support.config import declared


def web(**keys: str) -> Group:
    written = "".join(f", {key}: {value}" for key, value in keys.items())
    return declared(("max: 8", f"max: 8{written}")).groups[GroupId("web")]


def budgets(surge: float, unavailable: float, *, percent: bool = False) -> RollBudgets:
    return RollBudgets(
        surge=Allowance(number=surge, percent=percent), unavailable=Allowance(number=unavailable, percent=percent)
    )


def test_a_roll_is_declared_or_takes_one_at_a_time() -> None:
    assert web().roll == NO_HURRY == budgets(1, 0)
    assert web(roll='{surge: "25%", unavailable: "10%"}').roll == budgets(25, 10, percent=True)
    assert web(roll="{surge: 0, unavailable: 2}").roll == budgets(0, 2)


@pytest.mark.parametrize(
    ("budgets", "size", "expected"),
    [
        pytest.param(budgets(1, 0), 20, (1, 0), id="members"),
        pytest.param(budgets(25, 25, percent=True), 10, (3, 2), id="surge up, unavailable down"),
        pytest.param(budgets(10, 10, percent=True), 10, (1, 1), id="what comes out even"),
        pytest.param(budgets(0, 10, percent=True), 5, (0, 1), id="neither is left: one may be missing"),
        pytest.param(budgets(100, 0, percent=True), 7, (7, 0), id="all at once"),
        pytest.param(budgets(7, 0, percent=True), 100, (7, 0), id="no rounding error"),
    ],
)
def test_shares_are_of_the_desired_size(budgets: RollBudgets, size: int, expected: tuple[int, int]) -> None:
    assert budgets.of(size) == expected


def test_a_roll_that_may_move_always_can() -> None:
    for size in range(1, 40):
        for share in (1, 33, 99.9):
            assert sum(budgets(share, share, percent=True).of(size)) >= 1
            assert budgets(0, share, percent=True).of(size)[1] in range(1, size + 1)
