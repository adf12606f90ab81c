"""Source of the rules: ``reference/oneflow.md`` section 2.2, and DESIGN.md for what a gap is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.catalogue import InARow
from config.units import Monotonic
from trigger.conditions.streaks import long_enough, restarted, streak
from trigger.verdicts import PolicyStreak, Truth

T, F, U = Truth.TRUE, Truth.FALSE, Truth.UNKNOWN
THREE = InARow(times=3, every=60.0)


def after(*ticks: tuple[float, Truth], rule: InARow = THREE) -> tuple[int, bool]:
    """How many in a row these (seconds, truth) lead to, and whether the last was an evaluation."""
    current, judged = None, False
    for seconds, truth in ticks:
        current, judged = streak(current, truth, Monotonic(seconds), rule, 30.0)
    return (0 if current is None else current.true), judged


@pytest.mark.parametrize(
    ("ticks", "expected"),
    [
        pytest.param([(0, T)], (1, True), id="the-first-evaluation-is-at-once"),
        pytest.param([(0, T), (30, T)], (1, False), id="between-two-evaluations-nothing-counts"),
        pytest.param([(0, T), (30, F), (60, T)], (2, True), id="nor-does-anything-reset"),
        pytest.param([(0, T), (60, T), (120, T)], (3, True), id="one-more-at-each"),
        pytest.param([(0, T), (60, T), (120, T), (180, T)], (3, True), id="at-most-as-many-as-are-wanted"),
        pytest.param([(0, T), (60, T), (120, F)], (0, True), id="false-resets"),
        pytest.param([(0, T), (59, T)], (2, True), id="a-tick-may-be-early-by-its-jitter"),
        pytest.param([(0, T), (60, U)], (1, False), id="unknown-is-no-evaluation"),
        pytest.param([(0, T), (60, U), (90, T)], (2, True), id="the-next-may-be-a-tick-late"),
        pytest.param([(0, T), (60, U), (90, U), (120, T)], (1, True), id="a-longer-gap-begins-anew"),
        pytest.param([(60, T), (0, T)], (1, True), id="a-clock-that-went-back-begins-anew"),
    ],
)
def test_evaluations_in_a_row(ticks: list[tuple[float, Truth]], expected: tuple[int, bool]) -> None:
    assert after(*ticks) == expected


@pytest.mark.parametrize(
    ("every", "seconds", "count"),
    [
        pytest.param(10.0, (0, 30, 60), 3, id="no-closer-than-ticks"),
        pytest.param(40.0, (0, 30, 60), 2, id="at-the-next-tick-after-the-period"),
        pytest.param(0.0, (0, 30, 60), 3, id="every-tick"),
    ],
)
def test_evaluations_fall_on_ticks(every: float, seconds: tuple[float, ...], count: int) -> None:
    assert after(*((second, T) for second in seconds), rule=InARow(times=5, every=every))[0] == count


def test_a_change_of_size_counts_from_zero_and_keeps_the_spacing() -> None:
    begun = restarted(PolicyStreak(true=3, judged_at=Monotonic(60.0)))

    assert streak(begun, T, Monotonic(90.0), THREE, 30.0) == (begun, False)
    assert streak(begun, T, Monotonic(120.0), THREE, 30.0) == (PolicyStreak(true=1, judged_at=Monotonic(120.0)), True)


@given(st.lists(st.tuples(st.sampled_from([1.0, 30.0, 31.0, 60.0, 400.0]), st.sampled_from(Truth)), max_size=30))
def test_enough_in_a_row_were_true_and_no_gap_lay_between(steps: list[tuple[float, Truth]]) -> None:
    now, current, judged_true = 0.0, None, 0
    for step, truth in steps:
        now += step
        before = current
        current, judged = streak(current, truth, Monotonic(now), THREE, 30.0)
        gap = before is not None and now - before.judged_at > 90.0
        if judged:
            judged_true = (0 if gap else judged_true) + 1 if truth is T else 0
        assert long_enough(current, THREE) is (judged_true >= 3)
