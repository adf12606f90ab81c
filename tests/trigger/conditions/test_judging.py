"""How one condition is judged against one cell, and several together; `make mutants` tries every break of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.frames import Aggregate, Lack
from config.model.catalogue import Compare
from tests.support.trigger import a_condition, measured, missing, unranked
from trigger.conditions.judging import at_least, conjunction, judge
from trigger.verdicts import Truth

T, F, U = Truth.TRUE, Truth.FALSE, Truth.UNKNOWN
INF = math.inf


@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("lack", list(Lack))
def test_without_an_aggregate_nothing_is_known(lack: Lack, shrinking: bool) -> None:
    assert judge(a_condition(), missing(lack), shrinking=shrinking).truth is U


@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        pytest.param(0.0, 80.0, F, id="none above"),
        pytest.param(81.0, 100.0, T, id="all above"),
        pytest.param(0.0, 81.0, U, id="some above"),
    ],
)
def test_a_rank_with_too_few_answers_is_judged_by_its_bounds(
    low: float, high: float, expected: Truth, shrinking: bool
) -> None:
    condition = a_condition(quorum=0.5)
    assert judge(condition, unranked(low, high), shrinking=shrinking).truth is expected


@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize(
    ("compare", "below", "at", "above"),
    [
        (Compare.ABOVE, F, F, T),
        (Compare.AT_LEAST, F, T, T),
        (Compare.BELOW, T, F, F),
        (Compare.AT_MOST, T, T, F),
        (Compare.EQUALS, F, T, F),
    ],
    ids=lambda value: value.value if isinstance(value, Compare) else None,
)
def test_with_all_answers_the_value_decides(
    compare: Compare, below: Truth, at: Truth, above: Truth, shrinking: bool
) -> None:
    condition = a_condition(compare=compare, threshold=80.0)
    judged = [judge(condition, measured(value), shrinking=shrinking).truth for value in (79.9, 80.0, 80.1)]
    assert judged == [below, at, above]


@pytest.mark.parametrize(
    ("compare", "inside", "beneath", "over", "touching_low", "touching_high"),
    [  # threshold 50 against 40..60, 51..60, 40..49, 50..60, 40..50
        (Compare.ABOVE, U, T, F, U, F),
        (Compare.AT_LEAST, U, T, F, T, U),
        (Compare.BELOW, U, F, T, F, U),
        (Compare.AT_MOST, U, F, T, U, T),
        (Compare.EQUALS, U, F, F, U, U),
    ],
    ids=lambda value: value.value if isinstance(value, Compare) else None,
)
def test_an_interval_decides_only_as_a_whole(
    compare: Compare, inside: Truth, beneath: Truth, over: Truth, touching_low: Truth, touching_high: Truth
) -> None:
    condition = a_condition(compare=compare, threshold=50.0)
    intervals = [(40.0, 60.0), (51.0, 60.0), (40.0, 49.0), (50.0, 60.0), (40.0, 50.0)]
    for shrinking in (False, True):
        judged = [
            judge(condition, measured((low + high) / 2, low=low, high=high, heard=9), shrinking=shrinking).truth
            for low, high in intervals
        ]
        assert judged == [inside, beneath, over, touching_low, touching_high]


@pytest.mark.parametrize(
    ("cell", "quorum", "growing", "shrinking"),
    [
        pytest.param(measured(90, low=85, high=95, heard=9), None, T, T, id="DESIGN-range-cannot-change-it"),
        pytest.param(measured(90, low=75, high=95, heard=9), None, U, U, id="DESIGN-range-could-change-it"),
        pytest.param(measured(90, low=-INF, high=INF, heard=9), None, T, U, id="DESIGN-shrink-no-range-true"),
        pytest.param(measured(70, low=-INF, high=INF, heard=9), None, F, U, id="DESIGN-grow-no-range-false"),
        pytest.param(measured(90, low=-INF, high=INF, heard=9), 0.8, T, T, id="DESIGN-quorum-reached"),
        pytest.param(measured(90, low=75, high=95, heard=9), 0.8, T, T, id="DESIGN-quorum-reached-with-range"),
        pytest.param(measured(90, low=-INF, high=INF, heard=9), 0.9, T, T, id="DESIGN-quorum-exactly"),
        pytest.param(measured(90, low=-INF, high=INF, heard=9), 0.95, T, U, id="DESIGN-quorum-missed"),
        pytest.param(
            measured(90, low=-INF, high=INF, heard=10, coverage=0.5),
            0.9,
            T,
            U,
            id="quorum-missed-earlier-in-the-window",
        ),
        pytest.param(measured(90, low=85, high=INF, heard=9), None, T, T, id="bounded-on-the-side-that-matters"),
        pytest.param(measured(90, low=-INF, high=95, heard=9), None, T, U, id="unbounded-on-the-side-that-matters"),
        pytest.param(measured(math.nan), None, U, U, id="not-a-number"),
    ],
)
def test_missing_answers_decide(cell: Aggregate, quorum: float | None, growing: Truth, shrinking: Truth) -> None:
    condition = a_condition(compare=Compare.ABOVE, threshold=80.0, quorum=quorum)
    assert judge(condition, cell, shrinking=False).truth is growing
    assert judge(condition, cell, shrinking=True).truth is shrinking


def test_equals_ignores_the_rounding_of_arithmetic() -> None:
    third = (0.1 + 0.1 + 0.1) / 3
    assert third != 0.1
    assert judge(a_condition(compare=Compare.EQUALS, threshold=0.1), measured(third), shrinking=True).truth is T


@pytest.mark.parametrize(
    ("threshold", "value", "equal"),
    [
        pytest.param(0.0, 0.9e-9, T, id="next to zero"),
        pytest.param(0.0, 1.1e-9, F, id="beside zero"),
        pytest.param(1e6, 1e6 + 0.9e-3, T, id="a billionth above a million"),
        pytest.param(1e6, 1e6 + 1.1e-3, F, id="more above a million"),
        pytest.param(-1e6, -1e6 - 0.9e-3, T, id="a billionth below"),
        pytest.param(-1e6, -1e6 - 1.1e-3, F, id="more below"),
        pytest.param(2.0**30, 2.0**30 * (1 + 0.9e-9), T, id="relative to the threshold"),
    ],
)
def test_equals_ignores_a_billionth_of_the_threshold(threshold: float, value: float, equal: Truth) -> None:
    condition = a_condition(compare=Compare.EQUALS, threshold=threshold)
    assert judge(condition, measured(value), shrinking=False).truth is equal


@given(
    compare=st.sampled_from(Compare),
    low=st.integers(0, 100),
    width=st.integers(0, 100),
    threshold=st.integers(0, 200),
    data=st.data(),
)
def test_no_missing_answer_changes_a_sure_result(
    compare: Compare, low: int, width: int, threshold: int, data: st.DataObject
) -> None:
    condition = a_condition(compare=compare, threshold=float(threshold))
    value, truly = (data.draw(st.integers(low, low + width)) for _ in range(2))
    seen = judge(condition, measured(value, low=low, high=low + width, heard=5), shrinking=True).truth
    result = judge(condition, measured(truly), shrinking=True).truth
    assert seen in {result, U}


@pytest.mark.parametrize(
    ("truths", "expected"),
    [
        pytest.param([T, T], T, id="all"),
        pytest.param([T, F], F, id="one-false"),
        pytest.param([T, U], U, id="one-unknown"),
        pytest.param([U, F], F, id="false-beats-unknown"),
        pytest.param([], U, id="nothing"),
    ],
)
def test_conjunction(truths: Sequence[Truth], expected: Truth) -> None:
    assert conjunction(truths) is expected
    assert conjunction(reversed(truths)) is expected


@pytest.mark.parametrize(
    ("needed", "truths", "expected"),
    [
        pytest.param(2, [T, T, F], T, id="enough are true"),
        pytest.param(2, [T, T, U], T, id="enough are true, whatever the unknown"),
        pytest.param(2, [T, U, F], U, id="the unknown decides"),
        pytest.param(2, [U, U, U], U, id="nothing is known"),
        pytest.param(2, [T, F, F], F, id="too few are left"),
        pytest.param(2, [U, F, F], F, id="too few are left, whatever the unknown"),
        pytest.param(1, [U, F], U, id="any: one may be"),
        pytest.param(1, [U, T], T, id="any: one is"),
        pytest.param(3, [T, T], F, id="more than there are"),
        pytest.param(1, [], U, id="of nothing"),
    ],
)
def test_m_of_n_is_true_or_false_only_if_the_unknown_cannot_change_it(
    needed: int, truths: list[Truth], expected: Truth
) -> None:
    assert at_least(needed, truths) is expected


@given(st.lists(st.sampled_from(Truth), min_size=1, max_size=5), st.integers(1, 5), st.randoms(use_true_random=False))
def test_m_of_n_agrees_with_every_way_that_the_unknown_could_turn_out(
    truths: list[Truth], needed: int, random: Random
) -> None:
    unknown = truths.count(U)
    outcomes = {truths.count(T) + more >= needed for more in range(unknown + 1)}
    expected = U if len(outcomes) > 1 else T if outcomes == {True} else F
    shuffled = random.sample(truths, len(truths))
    assert at_least(needed, truths) is at_least(needed, shuffled) is expected


@given(st.lists(st.sampled_from(Truth), max_size=5))
def test_all_of_them_is_the_conjunction(truths: list[Truth]) -> None:
    assert at_least(len(truths), truths) is conjunction(truths)
