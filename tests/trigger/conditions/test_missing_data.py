"""The missing-data rule as three tables. `make mutants` shows that every break of the rule fails one of them."""

from __future__ import annotations

import math

import pytest

from aggregator.frames import Cell, Lack
from config.model.catalogue import Compare
from tests.support.trigger import a_condition, measured, missing, unranked
from trigger.conditions.judging import at_least, conjunction, judge
from trigger.verdicts import Truth

T, F, U = Truth.TRUE, Truth.FALSE, Truth.UNKNOWN
INF = math.inf

RULE: list[tuple[Cell, float | None, Truth, Truth]] = [
    *((missing(lack), None, U, U) for lack in Lack),
    (missing(), 0.5, U, U),
    (unranked(81.0, 100.0), None, T, T),
    (unranked(0.0, 100.0), None, U, U),
    (measured(90.0), None, T, T),
    (measured(70.0), None, F, F),
    (measured(90.0, low=85.0, high=95.0, heard=9), None, T, T),
    (measured(90.0, low=75.0, high=95.0, heard=9), None, U, U),
    (measured(70.0, low=65.0, high=85.0, heard=9), None, U, U),
    (measured(90.0, low=-INF, high=INF, heard=9), None, T, U),
    (measured(70.0, low=-INF, high=INF, heard=9), None, F, U),
    (measured(90.0, low=75.0, high=95.0, heard=9), 0.9, T, T),
    (measured(90.0, low=-INF, high=INF, heard=9), 0.95, T, U),
]
"""A cell, a quorum, and the truth of ``above 80`` for growth and for shrinking. Source: Note [Missing answers]."""

AND: list[tuple[tuple[Truth, ...], Truth]] = [((T, T), T), ((T, U), U), ((U, T), U), ((U, F), F), ((U,), U), ((), U)]
"""Kleene's; of nothing it is UNKNOWN."""

SOME: list[tuple[int, tuple[Truth, ...], Truth]] = [
    (1, (T, U), T), (1, (F, U), U), (2, (T, U), U), (2, (F, U), F), (1, (F, F), F), (1, (), U),
]  # fmt: skip


@pytest.mark.parametrize(("cell", "quorum", "growth", "shrinking"), RULE)
def test_missing_data_is_neither_true_nor_false(
    cell: Cell, quorum: float | None, growth: Truth, shrinking: Truth
) -> None:
    condition = a_condition(compare=Compare.ABOVE, threshold=80.0, quorum=quorum)
    judged = tuple(judge(condition, cell, shrinking=each).truth for each in (False, True))
    assert judged == (growth, shrinking)


@pytest.mark.parametrize(("truths", "joined"), AND)
def test_all_conditions_together_are_kleenes_and(truths: tuple[Truth, ...], joined: Truth) -> None:
    assert conjunction(truths) is joined


@pytest.mark.parametrize(("wanted", "truths", "joined"), SOME)
def test_some_conditions_are_enough_only_if_they_surely_hold(
    wanted: int, truths: tuple[Truth, ...], joined: Truth
) -> None:
    assert at_least(wanted, truths) is joined
