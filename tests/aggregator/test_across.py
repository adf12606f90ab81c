"""Across members: values, and bounds for missing answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aggregator.across import TickRow, Track, Tracks, member_columns_of, missed_row, reduced, tally, tracks_of
from aggregator.rates import Measured
from config.model.reductions import Reduce
from tests.support.aggregator import CPU, WEB, Answer, a_counter, a_layout, a_scrape, series

INF = math.inf
PERCENT = (0.0, 100.0)


def tracks(across: Reduce, range: tuple[float, float] | None) -> Tracks:
    return tracks_of([Track(WEB, CPU, across)], {(WEB, CPU): 0}, {CPU: a_counter(range=range)})


def row(across: Reduce, range: tuple[float, float] | None, answers: dict[str, Answer], warming: str = "") -> TickRow:
    layout = a_layout([series(name) for name in answers], warming=[series(name) for name in warming])
    scrape = a_scrape(layout, 100.0, {series(name): answer for name, answer in answers.items()})
    members = member_columns_of(layout, np.zeros(len(answers), dtype=np.intp), 1)
    measured = Measured(value=scrape.value, usable=scrape.reply == 1, outside=scrape.reply < 0)
    seen = tally(members, measured, scrape.replied_at)
    return reduced(tracks(across, range), seen.pick(np.array([0])))


ALL = {"a": 10.0, "b": 20.0, "c": 60.0}
ONE_SILENT = {"a": 10.0, "b": 20.0, "c": None}


@pytest.mark.parametrize(
    ("across", "range", "answers", "expected"),
    [
        pytest.param(Reduce.AVG, None, ALL, (30.0, 30.0, 30.0), id="avg of all is certain"),
        pytest.param(Reduce.MIN, None, ALL, (10.0, 10.0, 10.0), id="min of all is certain"),
        pytest.param(Reduce.MAX, None, ALL, (60.0, 60.0, 60.0), id="max of all is certain"),
        pytest.param(Reduce.SUM, None, ALL, (90.0, 90.0, 90.0), id="sum of all is certain"),
        pytest.param(Reduce.COUNT, None, ALL, (3.0, 3.0, 3.0), id="count of all is certain"),
        pytest.param(Reduce.AVG, PERCENT, ONE_SILENT, (10.0, 15.0, 130 / 3), id="avg with one silent"),
        pytest.param(Reduce.MIN, PERCENT, ONE_SILENT, (0.0, 10.0, 10.0), id="min can only fall"),
        pytest.param(Reduce.MAX, PERCENT, ONE_SILENT, (20.0, 20.0, 100.0), id="max can only rise"),
        pytest.param(Reduce.SUM, PERCENT, ONE_SILENT, (30.0, 30.0, 130.0), id="sum with one silent"),
        pytest.param(Reduce.COUNT, PERCENT, ONE_SILENT, (2.0, 2.0, 3.0), id="count with one silent"),
        pytest.param(Reduce.COUNT, None, ONE_SILENT, (2.0, 2.0, 3.0), id="count needs no range"),
        pytest.param(Reduce.SUM, (0.0, INF), ONE_SILENT, (30.0, 30.0, INF), id="half a range bounds one side"),
        pytest.param(Reduce.SUM, (0.0, INF), ALL, (90.0, 90.0, 90.0), id="half a range and no missing answer"),
        pytest.param(Reduce.AVG, PERCENT, {"a": None}, (0.0, 0.0, 100.0), id="avg without answers"),
        pytest.param(Reduce.MIN, PERCENT, {"a": None}, (0.0, 0.0, 100.0), id="min without answers"),
        pytest.param(Reduce.MAX, PERCENT, {"a": None}, (0.0, 0.0, 100.0), id="max without answers"),
        pytest.param(Reduce.SUM, PERCENT, {"a": None, "b": None}, (0.0, 0.0, 200.0), id="sum without answers"),
    ],
)
def test_members_are_reduced_within_the_bounds_of_missing_answers(across, range, answers, expected):
    one = row(across, range, answers)
    assert (one.low[0], one.value[0], one.high[0]) == pytest.approx(expected)


def test_a_member_that_is_warming_up_answers_but_does_not_count():
    one = row(Reduce.AVG, PERCENT, {"a": 10.0, "b": 90.0}, warming="b")
    assert (one.value[0], one.heard[0], one.expected[0]) == (10.0, 1, 1)


def test_a_silent_member_that_is_warming_up_makes_nothing_uncertain():
    one = row(Reduce.AVG, None, {"a": 10.0, "b": None}, warming="b")
    assert (one.low[0], one.high[0]) == (10.0, 10.0)


def test_runs_do_not_mix_in_any_order_of_series():
    layout = a_layout([series(name, group=group) for group in ("web", "api") for name in "ab"])
    runs = np.array([1, 0, 1, 0], dtype=np.intp)
    measured = Measured(
        value=np.array([1.0, 20.0, 3.0, 40.0]),
        usable=np.array([True, True, True, False]),
        outside=np.zeros(4, dtype=np.bool_),
    )
    seen = tally(member_columns_of(layout, runs, 3), measured, np.array([5.0, 6.0, 7.0, 8.0]))
    assert seen.total.tolist() == [20.0, 4.0, 0.0]
    assert seen.heard.tolist() == [1, 2, 0]
    assert seen.expected.tolist() == [2, 2, 0]
    assert seen.newest.tolist() == [6.0, 7.0, -INF]


@pytest.mark.parametrize(
    ("across", "expected"),
    [
        pytest.param(Reduce.AVG, (0.0, 100.0), id="avg does not depend on how many"),
        pytest.param(Reduce.SUM, (0.0, 500.0), id="sum could be of the larger fleet"),
        pytest.param(Reduce.COUNT, (0.0, 5.0), id="count could be of the larger fleet"),
    ],
)
def test_a_missed_tick_is_bounded_by_the_members_before_and_after(across, expected):
    missed = missed_row(tracks(across, PERCENT), np.array([5.0]), np.array([2.0]))
    assert (missed.low[0], missed.high[0], missed.heard[0]) == (*expected, 0)


def test_a_missed_tick_of_negative_values_is_bounded_by_the_larger_fleet_below():
    missed = missed_row(tracks(Reduce.SUM, (-10.0, -1.0)), np.array([5.0]), np.array([2.0]))
    assert (missed.low[0], missed.high[0]) == (-50.0, -2.0)


def test_the_last_value_across_members_is_refused():
    with pytest.raises(ValueError, match="no order"):
        tracks(Reduce.LAST, None)
