"""Check the reduction of windows over time."""

from __future__ import annotations

import numpy as np
import pytest

from aggregator.across import TickRow
from aggregator.windows import ReducedWindow, over
from config.model.reductions import Reduce
from tests.support.rings import INF, ONLY, a_ring, a_row


def window(how: Reduce, *rows: TickRow, bounded: bool = True) -> ReducedWindow:
    stretch = a_ring(len(rows), *rows).newest(len(rows), ONLY)
    return over(how, stretch, np.array([bounded]))


THREE = (a_row(10.0), a_row(40.0), a_row(25.0))
SILENT_FIRST = (a_row(None), a_row(40.0), a_row(25.0))
SILENT_LAST = (a_row(10.0), a_row(40.0), a_row(None))


@pytest.mark.parametrize(
    ("how", "rows", "expected"),
    [
        pytest.param(Reduce.AVG, THREE, (25.0, 25.0, 25.0), id="avg"),
        pytest.param(Reduce.MIN, THREE, (10.0, 10.0, 10.0), id="min"),
        pytest.param(Reduce.MAX, THREE, (40.0, 40.0, 40.0), id="max"),
        pytest.param(Reduce.SUM, THREE, (75.0, 75.0, 75.0), id="sum"),
        pytest.param(Reduce.LAST, THREE, (25.0, 25.0, 25.0), id="last"),
        pytest.param(Reduce.COUNT, THREE, (3.0, 3.0, 3.0), id="count is of ticks"),
        pytest.param(Reduce.AVG, SILENT_FIRST, (65 / 3, 32.5, 55.0), id="avg with a silent tick"),
        pytest.param(Reduce.MIN, SILENT_FIRST, (0.0, 25.0, 25.0), id="min with a silent tick"),
        pytest.param(Reduce.MAX, SILENT_FIRST, (40.0, 40.0, 100.0), id="max with a silent tick"),
        pytest.param(Reduce.SUM, SILENT_FIRST, (65.0, 65.0, 165.0), id="sum with a silent tick"),
        pytest.param(Reduce.LAST, SILENT_FIRST, (25.0, 25.0, 25.0), id="last ignores an older tick without answers"),
        pytest.param(Reduce.LAST, SILENT_LAST, (0.0, 40.0, 100.0), id="last is uncertain when the newest is silent"),
        pytest.param(Reduce.COUNT, SILENT_FIRST, (2.0, 2.0, 3.0), id="count could have reached every tick"),
        pytest.param(
            Reduce.MIN,
            (a_row(None), a_row(120.0)),
            (0.0, 120.0, 120.0),
            id="a value outside the range lies within its bounds",
        ),
        pytest.param(
            Reduce.SUM,
            (a_row(None, low=50.0), a_row(10.0)),
            (10.0, 10.0, 110.0),
            id="a sum over the answers lies within its bounds",
        ),
    ],
)
def test_a_window_is_reduced_within_the_bounds_of_its_silent_ticks(how, rows, expected):
    one = window(how, *rows)
    assert (one.low[0], one.value[0], one.high[0]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("how", "rows", "expected"),
    [
        pytest.param(Reduce.AVG, SILENT_FIRST, (-INF, INF), id="avg"),
        pytest.param(Reduce.MIN, SILENT_FIRST, (-INF, INF), id="min"),
        pytest.param(Reduce.MAX, SILENT_FIRST, (-INF, INF), id="max"),
        pytest.param(Reduce.MAX, (a_row(5.0, share=0.5), a_row(6.0)), (-INF, INF), id="one member at one tick"),
        pytest.param(Reduce.LAST, SILENT_FIRST, (25.0, 25.0), id="not an older tick, for last"),
        pytest.param(Reduce.LAST, SILENT_LAST, (-INF, INF), id="the newest tick, for last"),
        pytest.param(Reduce.COUNT, SILENT_FIRST, (2.0, 3.0), id="never for count"),
        pytest.param(Reduce.AVG, THREE, (25.0, 25.0), id="not when all members answered"),
    ],
)
def test_without_a_range_a_missing_answer_leaves_no_bounds(how, rows, expected):
    one = window(how, *rows, bounded=False)
    assert (one.low[0], one.high[0]) == expected


def test_coverage_is_the_least_share_of_any_tick():
    assert window(Reduce.AVG, a_row(1.0), a_row(1.0, share=0.25), a_row(1.0)).coverage[0] == 0.25


def test_the_coverage_of_a_tick_without_answers_is_0():
    assert window(Reduce.AVG, a_row(1.0), a_row(None)).coverage[0] == 0.0


def test_samples_are_the_ticks_with_an_answer():
    assert window(Reduce.AVG, *SILENT_LAST).samples[0] == 2


def test_the_newest_answer_may_be_in_an_older_tick():
    assert window(Reduce.AVG, a_row(1.0, at=3.0), a_row(1.0, at=9.0), a_row(None)).newest[0] == 9.0


def test_a_spike_leaves_no_error_once_it_has_left_the_window():
    ring = a_ring(3, a_row(1.8e19), a_row(0.1), a_row(0.2), a_row(0.3))
    assert over(Reduce.SUM, ring.newest(3, ONLY), np.array([True])).value[0] == 0.3 + 0.2 + 0.1
