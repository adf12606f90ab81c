from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.units import Monotonic
from trigger.conditions.timers import held, hold, long_enough
from trigger.verdicts import Hold, Truth

T, F, U = Truth.TRUE, Truth.FALSE, Truth.UNKNOWN


def after(*ticks: tuple[float, Truth], interval: float = 30.0) -> Hold | None:
    """The hold that these (seconds, truth) lead to."""
    current = None
    for seconds, truth in ticks:
        current = hold(current, truth, Monotonic(seconds), interval)
    return current


@pytest.mark.parametrize(
    ("ticks", "expected"),
    [
        pytest.param([(0, T)], 0, id="the-first-true-has-held-for-nothing"),
        pytest.param([(0, T), (30, T), (60, T)], 60, id="grows-between-trues"),
        pytest.param([(0, T), (45, T)], 45, id="one-and-a-half-intervals-are-still-one-hold"),
        pytest.param([(0, T), (45.1, T)], 0, id="a-longer-gap-resets"),
        pytest.param([(0, T), (30, F), (60, T)], 0, id="false-resets"),
        pytest.param([(0, T), (10, F), (20, T)], 0, id="false-between-two-ticks-resets"),
        pytest.param([(0, T), (30, U)], 0, id="unknown-adds-nothing"),
        pytest.param([(0, T), (30, T), (60, U)], 30, id="unknown-keeps-what-was-held"),
        pytest.param([(0, T), (30, U), (60, T)], 0, id="one-blind-tick-resets"),
        pytest.param([(0, T), (15, U), (30, T)], 30, id="unknown-between-two-ticks-does-no-harm"),
        pytest.param([(60, T), (30, T)], 0, id="a-clock-that-went-back-resets"),
    ],
)
def test_held_time(ticks: list[tuple[float, Truth]], expected: float) -> None:
    assert held(after(*ticks)) == expected


def test_nothing_is_held_after_a_restart() -> None:
    assert hold(None, T, Monotonic(30.0), 30.0) == Hold(true_since=Monotonic(30.0), last_true=Monotonic(30.0))


def test_ticks_that_jitter_reach_the_duration_on_the_tick_that_is_meant() -> None:
    ticks = [(0.02, T), (30.0, T), (60.01, T), (89.99, T), (120.0, T)]
    assert held(after(*ticks)) < 120
    assert long_enough(after(*ticks), 120.0, 30.0)
    assert not long_enough(after(*ticks[:-1]), 120.0, 30.0)


@pytest.mark.parametrize(("last", "enough"), [(28.5, True), (28.4, False)])
def test_at_most_a_twentieth_of_an_interval_may_be_missing(last: float, enough: bool) -> None:
    assert long_enough(after((0, T), (last, T)), 30.0, 30.0) is enough


STEPS = (0.5, 15.0, 29.984375, 30.0, 30.015625, 45.0, 46.0, 60.0, 300.0)
"""Seconds that binary numbers add up exactly: 1.5 intervals must not become a little more by adding."""


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(Truth)), max_size=30))
def test_held_time_is_the_sum_of_short_steps_between_trues_since_the_last_reset(
    steps: list[tuple[float, Truth]],
) -> None:
    now, current, since_true, proven = 0.0, None, None, 0.0
    for step, truth in steps:
        now += step
        since_true = None if since_true is None else since_true + step
        current = hold(current, truth, Monotonic(now), 30.0)
        if truth is F:
            since_true, proven = None, 0.0
        if truth is T:
            proven = proven + since_true if since_true is not None and since_true <= 45.0 else 0.0
            since_true = 0.0
        assert held(current) == pytest.approx(proven)
