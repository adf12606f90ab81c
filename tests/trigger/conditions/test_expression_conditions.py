"""Sources of the rules: DESIGN.md "Judging" and Note [Missing answers]; Kleene's strong logic; OneFlow's evaluator, in
which a comparison with an absent attribute is false; Note [Missing values remove no member].
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.frames import Cell, Lack
from config.model.catalogue import Compare
from tests.support.conditions import an_expression
from tests.support.trigger import a_condition, measured, missing, unranked
from trigger.conditions.expression_conditions import judge_expression
from trigger.conditions.judging import judge
from trigger.verdicts import Truth

T, F, U = Truth.TRUE, Truth.FALSE, Truth.UNKNOWN
NONE = missing()
NO_RANGE = {"low": -math.inf, "high": math.inf, "heard": 9}


def truth(text: str, *cells: Cell, shrinking: bool, dialect: str = "native", quorum: str = "") -> Truth:
    return judge_expression(an_expression(text, dialect, quorum=quorum), cells, shrinking=shrinking).truth


@pytest.mark.parametrize(
    ("text", "cells", "grows", "shrinks"),
    [
        pytest.param("cpu > 80", [measured(90)], T, T, id="all members answered"),
        pytest.param("cpu > 80", [NONE], U, U, id="absent"),
        pytest.param("!(cpu > 80)", [NONE], U, U, id="not absent"),
        pytest.param("cpu > 80 || load > 2", [NONE, measured(3)], T, T, id="absence cannot matter to OR"),
        pytest.param("cpu > 80 && load > 2", [NONE, measured(1)], F, F, id="absence cannot matter to AND"),
        pytest.param("cpu > 80 && load > 2", [NONE, measured(3)], U, U, id="absence matters"),
        pytest.param("cpu > 80", [measured(90, low=85, high=95)], T, T, id="range, all of it"),
        pytest.param("cpu > 80", [measured(90, low=70, high=95)], U, U, id="range, some of it"),
        pytest.param("cpu > 80", [measured(90, **NO_RANGE)], T, U, id="no range"),
        pytest.param("cpu > 80", [unranked(0, 70)], F, F, id="too few for a rank"),
        pytest.param("cpu - load > 80", [measured(90, **NO_RANGE), measured(3)], T, U, id="no range, in arithmetic"),
        pytest.param("cpu ?? load < 5", [NONE, measured(3)], T, T, id="a measured fallback"),
        pytest.param("cpu ?? 0 < 5", [NONE], T, U, id="a written fallback removes no member"),
        pytest.param("cpu ?? load ?? 0 < 5", [NONE, NONE], T, U, id="nor at the end of a chain"),
        pytest.param("cpu ?? (load ?? 0) < 5", [NONE, NONE], T, U, id="nor within one"),
    ],
)
def test_the_native_dialect_uses_kleene_s_logic_for_missing_values(
    text: str, cells: list[Cell], grows: Truth, shrinks: Truth
) -> None:
    assert truth(text, *cells, shrinking=False) is grows
    assert truth(text, *cells, shrinking=True) is shrinks


@pytest.mark.parametrize(
    ("text", "cells", "grows", "shrinks"),
    [
        pytest.param("CPU < 20", [measured(10)], T, T, id="all members answered"),
        pytest.param("CPU < 20", [NONE], F, F, id="absent is false"),
        pytest.param("!(CPU > 20)", [NONE], T, U, id="its negation is true, and removes no member"),
        pytest.param("!CPU > 20 | LOAD < 1", [NONE, NONE], T, U, id="negation over all that follows"),
        pytest.param("CPU < 20 | LOAD < 1", [NONE, measured(0)], T, T, id="absence cannot matter"),
        pytest.param("CPU < 20", [measured(10, low=0, high=30)], T, U, id="the mean of the answers, but not to shrink"),
        pytest.param("CPU < 20", [measured(10, **NO_RANGE)], T, U, id="no range"),
        pytest.param("!(CPU = 0)", [measured(10, low=0, high=30)], T, U, id="equality within a range"),
        pytest.param("CPU < 20", [unranked(0, 10)], F, F, id="too few for a rank is absent, and vetoes"),
        pytest.param("CPU = 33.34", [measured(33.335)], T, T, id="means of two decimals"),
    ],
)
def test_oneflow_s_dialect_takes_missing_values_as_false_but_removes_no_member_by_them(
    text: str, cells: list[Cell], grows: Truth, shrinks: Truth
) -> None:
    assert truth(text, *cells, shrinking=False, dialect="oneflow") is grows
    assert truth(text, *cells, shrinking=True, dialect="oneflow") is shrinks


@pytest.mark.parametrize(("coverage", "expected"), [(0.95, T), (0.9, U)], ids=["reached", "missed"])
def test_a_quorum_lets_each_term_s_value_decide(coverage: float, expected: Truth) -> None:
    cells = [measured(90, **NO_RANGE, coverage=coverage), measured(3)]
    assert truth("cpu > 80 && load > 2", *cells, shrinking=True, quorum="95%") is expected


numbers = st.integers(-5, 5).map(float)
COMPARES = {Compare.ABOVE: ">", Compare.AT_LEAST: ">=", Compare.BELOW: "<", Compare.AT_MOST: "<=", Compare.EQUALS: "="}


@st.composite
def cells(draw: st.DrawFn) -> Cell:
    if draw(st.booleans()):
        return draw(st.sampled_from([missing(lack) for lack in Lack]))
    low, value, high = sorted(draw(st.tuples(numbers, numbers, numbers)))
    if draw(st.booleans()):
        return measured(value, low=-math.inf, high=math.inf, heard=9)
    return measured(value, low=low, high=high)


@given(cells(), st.sampled_from(list(COMPARES)), numbers, st.booleans())
def test_one_comparison_is_judged_as_the_condition_is_that_says_the_same(
    cell: Cell, compare: Compare, threshold: float, shrinking: bool
) -> None:
    text = f"cpu {COMPARES[compare]} {threshold:g}"
    as_condition = judge(a_condition(compare=compare, threshold=threshold), cell, shrinking=shrinking)
    assert truth(text, cell, shrinking=shrinking) is as_condition.truth


TEXTS = ["A > 1", "!(A > 1)", "!A = 1", "A < 1 | B > 0", "!(A > 1 | B != 0)", "A >= 0 & !B <= 0", "!(A > 0 & B > 0)"]


@given(st.sampled_from(TEXTS), st.sampled_from(["native", "oneflow"]), st.lists(numbers, min_size=2, max_size=2))
def test_a_scale_in_without_a_value_holds_for_every_value(text: str, dialect: str, values: list[float]) -> None:
    native = text.replace("|", "||").replace("&", "&&")
    terms = an_expression(native if dialect == "native" else text, dialect).terms
    known = dict(zip("AB", values, strict=True))
    absent = truth_of(text, native, dialect, [NONE for _ in terms])
    if absent is T:
        assert truth_of(text, native, dialect, [measured(known[term.counter]) for term in terms]) is T


def truth_of(text: str, native: str, dialect: str, found: list[Cell]) -> Truth:
    return truth(native if dialect == "native" else text, *found, shrinking=True, dialect=dialect)
