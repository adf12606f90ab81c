from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from config.units import ConditionId, PolicyId
from handler.runtime.series import KEPT, POINTS_AT_MOST, SeriesRecorder
from tests.support.store import an_explanation, at
from tests.trigger.explain.test_forecast_words import FORESEEN
from trigger.explain.explanation import Explanation

AHEAD = PolicyId("ahead")


def sized(series: SeriesRecorder, second: float, desired: int | None = 3, in_service: int | None = 3) -> None:
    series.sized(at(second), desired=desired, in_service=in_service, minimum=2, maximum=10)


def judged_as(second: float, *names: str, value: float | None = 50.0) -> Explanation:
    """One policy with these conditions."""
    plain = an_explanation(at(second), values=(value,))
    (policy,) = plain.policies
    conditions = tuple(replace(policy.conditions[0], condition=ConditionId(name)) for name in names)
    return replace(plain, policies=(replace(policy, conditions=conditions),))


def test_a_size_that_is_not_known_is_absent_and_not_zero() -> None:
    series = SeriesRecorder(10.0)
    sized(series, 0, desired=None, in_service=None)
    sized(series, 10, desired=0, in_service=0)
    sizes = series.picture(at(10)).sizes
    assert (sizes.desired, sizes.in_service) == ((None, 0.0), (None, 0.0))


def test_a_condition_that_could_not_be_judged_has_a_row_without_a_value() -> None:
    series = SeriesRecorder(10.0)
    for second, value in ((0, 50.0), (10, None), (20, 0.0)):
        series.judged(an_explanation(at(second), values=(value,)))
    (curve,) = series.picture(at(20)).curves
    assert curve.values == (50.0, None, 0.0)
    assert curve.thresholds == (80.0, 80.0, 80.0)


def test_nothing_recorded_is_an_empty_picture_that_never_began() -> None:
    picture = SeriesRecorder(10.0).picture(at(0))
    assert (picture.began, picture.at, picture.curves, picture.sizes.at) == (None, (), (), ())
    assert SeriesRecorder(10.0).last_sizes() is None


def test_a_condition_of_two_policies_is_recorded_once() -> None:
    explanation = an_explanation(at(0))
    series = SeriesRecorder(10.0)
    series.judged(replace(explanation, policies=explanation.policies * 2))
    assert len(series.picture(at(0)).curves) == 1


def test_a_condition_that_stays_through_a_reload_keeps_its_past_and_a_new_one_has_none() -> None:
    series = SeriesRecorder(10.0)
    series.judged(judged_as(0, "busy", "idle"))
    series.judged(judged_as(10, "slow", "busy", value=60.0))
    curves = {curve.line.condition: curve.values for curve in series.picture(at(10)).curves}
    assert curves == {"slow": (None, 60.0), "busy": (50.0, 60.0)}


def test_a_condition_over_another_window_begins_anew() -> None:
    series = SeriesRecorder(10.0)
    series.judged(judged_as(0, "busy"))
    after = judged_as(10, "busy")
    (policy,) = after.policies
    wider = replace(policy.conditions[0], window=300.0)
    series.judged(replace(after, policies=(replace(policy, conditions=(wider,)),)))
    (curve,) = series.picture(at(10)).curves
    assert curve.values == (None, 50.0)


def test_a_sketch_has_the_last_row_of_each_part_and_none_of_a_part_without_rows() -> None:
    series = SeriesRecorder(10.0)
    for second in (*range(0, 900, 10), *range(1200, 1800, 10)):
        sized(series, second, in_service=second)
    sketch = series.sketch(at(1800), 6)
    assert sketch.begin == at(0)
    assert sketch.sizes.in_service == (290.0, 590.0, 890.0, 1490.0, 1790.0)
    assert sketch.apart == 300.0
    assert SeriesRecorder(10.0).sketch(at(0), 6).sizes.at == ()


def test_rows_older_than_half_an_hour_are_not_shown() -> None:
    series = SeriesRecorder(600.0)
    for second in (0, 600, 1200, 1801):
        sized(series, second)
    picture = series.picture(at(1801))
    assert picture.sizes.at == (at(600), at(1200), at(1801))
    assert picture.began == at(0)


def test_a_clock_that_was_set_back_takes_what_would_be_in_the_future() -> None:
    series = SeriesRecorder(10.0)
    for second in (0, 10, 20, 5):
        sized(series, second, desired=second)
    assert series.picture(at(20)).sizes.desired == (0.0, 5.0)


def test_another_interval_leaves_what_was_recorded() -> None:
    series = SeriesRecorder(30.0)
    for second in range(0, 300, 30):
        sized(series, second)
        series.judged(an_explanation(at(second)))
    series.paced(5.0)
    for second in range(300, 600, 5):
        series.judged(an_explanation(at(second)))
    picture = series.picture(at(600))
    assert picture.interval == 5.0
    assert len(picture.sizes.at) == 10
    assert len(picture.at) == 70


@given(st.floats(0.05, 3600.0), st.lists(st.floats(0.01, 100.0), max_size=900))
def test_it_never_keeps_more_than_its_bound_and_always_the_newest(interval: float, steps: list[float]) -> None:
    series, second = SeriesRecorder(interval), 0.0
    for step in steps:
        second += step
        sized(series, second)
        series.judged(an_explanation(at(second)))
    picture = series.picture(at(second))
    assert len(picture.at) <= POINTS_AT_MOST
    assert list(picture.at) == sorted(picture.at)
    assert all(instant >= at(second) - KEPT for instant in picture.at)
    assert not steps or picture.at[-1] == picture.sizes.at[-1] == at(second)


def test_what_a_forecast_said_is_kept_tick_by_tick() -> None:
    series = SeriesRecorder(10.0)
    series.foresaw(at(0), {AHEAD: FORESEEN})
    series.foresaw(at(10), {AHEAD: replace(FORESEEN, load=None, coming=16.0)})

    (curve,) = series.picture(at(10)).foreseen

    assert (curve.policy, curve.load, curve.coming) == (AHEAD, (14.0, None), (15.5, 16.0))
    assert (curve.within, curve.at_most) == ((180.0, 180.0), (16.2, 16.2))
    assert series.picture(at(3000)).foreseen == ()
