"""Whoever breaks the missing-data rule breaks a test: mutants of `conditions.judging`, made and tried at every run."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from aggregator.frames import Cell, Lack
from config.model.catalogue import Compare
from tests.support.trigger import a_condition, measured, missing, unranked
from trigger.conditions import judging as conditions
from trigger.verdicts import Truth, Verdict

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
"""A cell, a quorum, and the truth of ``above 80`` for growth and for shrinking. Source: Note [The unheard]."""

AND: list[tuple[tuple[Truth, ...], Truth]] = [((T, T), T), ((T, U), U), ((U, T), U), ((U, F), F), ((U,), U), ((), U)]
"""Kleene's; of nothing it is UNKNOWN."""

SOME: list[tuple[int, tuple[Truth, ...], Truth]] = [
    (1, (T, U), T), (1, (F, U), U), (2, (T, U), U), (2, (F, U), F), (1, (F, F), F), (1, (), U),
]  # fmt: skip

MUTANTS = {
    "no aggregate is FALSE": ("_truth_within(condition, cell.low, cell.high)", "Truth.FALSE"),
    "no aggregate is TRUE": ("_truth_within(condition, cell.low, cell.high)", "Truth.TRUE"),
    "no aggregate is nought": (
        "_truth_within(condition, cell.low, cell.high)",
        "_truth_within(condition, 0.0, 0.0)",
    ),
    "no aggregate is UNKNOWN whatever it lies within": (
        "_truth_within(condition, cell.low, cell.high)",
        "Truth.UNKNOWN",
    ),
    "what some values satisfy is FALSE": ("return Truth.FALSE if none else Truth.UNKNOWN", "return Truth.FALSE"),
    "what some values satisfy is TRUE": (
        "return Truth.FALSE if none else Truth.UNKNOWN",
        "return Truth.FALSE if none else Truth.TRUE",
    ),
    "the value decides although members are unheard": (
        "_truth_within(condition, aggregate.low, aggregate.high)",
        "_truth_within(condition, aggregate.value, aggregate.value)",
    ),
    "the unheard weigh no more for shrinking": ("unbounded and not shrinking", "unbounded"),
    "no range is UNKNOWN for growth too": ("unbounded and not shrinking", "False"),
    "a quorum counts for nothing": ("condition.quorum is not None and", "False and"),
    "a quorum declared is a quorum reached": ("aggregate.coverage >= condition.quorum", "True"),
    "UNKNOWN and TRUE is TRUE": ("if of_all is not Truth.UNKNOWN:", "if truth is not Truth.UNKNOWN:"),
    "UNKNOWN counts as TRUE where some are enough": (
        "sum(truth is Truth.TRUE for truth in truths)",
        "sum(truth is not Truth.FALSE for truth in truths)",
    ),
    "UNKNOWN counts as FALSE where some are enough": (
        "sure + sum(truth is Truth.UNKNOWN for truth in truths)",
        "sure",
    ),
    "of nothing is TRUE": ("return Truth.UNKNOWN if of_all is None else of_all", "return of_all or Truth.TRUE"),
}
"""What stands in the source, once, and what is written instead."""


def faults(module: ModuleType) -> list[object]:
    """Rows of the rule that this module does not follow."""
    judge: Callable[..., Verdict] = module.judge
    judged = [
        row
        for row in RULE
        for shrinking, expected in ((False, row[2]), (True, row[3]))
        if judge(a_condition(compare=Compare.ABOVE, threshold=80.0, quorum=row[1]), row[0], shrinking=shrinking).truth
        is not expected
    ]
    joined = [row for row in AND if module.conjunction(row[0]) is not row[1]]
    some = [row for row in SOME if module.at_least(row[0], row[1]) is not row[2]]
    return [*judged, *joined, *some]


@pytest.fixture
def mutant(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    before, after = MUTANTS[request.param]
    source = inspect.getsource(conditions)
    assert source.count(before) == 1, f"{before!r} must stand once in the source"
    changed = ModuleType("trigger.conditions_mutant")
    sys.modules[changed.__name__] = changed
    exec(compile(source.replace(before, after), changed.__name__, "exec"), changed.__dict__)  # noqa: S102  # ours
    yield changed
    del sys.modules[changed.__name__]


def test_the_rule_is_followed() -> None:
    assert faults(conditions) == []


@pytest.mark.parametrize("mutant", MUTANTS, indirect=True)
def test_a_mutant_of_the_rule_is_found_out(mutant: ModuleType) -> None:
    assert faults(mutant)
