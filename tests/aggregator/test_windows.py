"""Rings of ticks, and what a window comes to."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aggregator.across import Row
from aggregator.windows import Ring, Stretch, Window, over
from config.reductions import Reduce

INF = math.inf
ONLY = np.array([0], dtype=np.intp)


def a_row(value: float | None, *, low: float = 0.0, high: float = 100.0, share: float = 1.0, at: float = 0.0) -> Row:
    """One track; ``None`` is silence."""
    if value is None:
        return Row(*(np.array([part]) for part in (low, 0.0, high, 0.0, 4.0, -INF)))
    if share == 1.0:
        low = high = value
    return Row(*(np.array([part]) for part in (low, value, high, 4.0 * share, 4.0, at)))


def a_ring(length: int, *rows: Row) -> Ring:
    ring = Ring(length, 1)
    for tick, row in enumerate(rows):
        ring.put(tick, row, a_row(None))
    return ring


def window(how: Reduce, *rows: Row, bounded: bool = True) -> Window:
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
        pytest.param(Reduce.LAST, SILENT_FIRST, (25.0, 25.0, 25.0), id="last does not mind an older silence"),
        pytest.param(Reduce.LAST, SILENT_LAST, (0.0, 40.0, 100.0), id="last is uncertain when the newest is silent"),
        pytest.param(Reduce.COUNT, SILENT_FIRST, (2.0, 2.0, 3.0), id="count could have reached every tick"),
        pytest.param(
            Reduce.MIN,
            (a_row(None), a_row(120.0)),
            (0.0, 120.0, 120.0),
            id="a value outside the range lies within its bounds all the same",
        ),
        pytest.param(
            Reduce.SUM,
            (a_row(None, low=50.0), a_row(10.0)),
            (10.0, 10.0, 110.0),
            id="a sum over those who were heard lies within its bounds all the same",
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
        pytest.param(Reduce.AVG, THREE, (25.0, 25.0), id="not when all were heard"),
    ],
)
def test_without_a_range_anybody_unheard_leaves_no_bounds(how, rows, expected):
    one = window(how, *rows, bounded=False)
    assert (one.low[0], one.high[0]) == expected


def test_coverage_is_the_least_share_of_any_tick():
    assert window(Reduce.AVG, a_row(1.0), a_row(1.0, share=0.25), a_row(1.0)).coverage[0] == 0.25


def test_coverage_of_a_silent_tick_is_nought():
    assert window(Reduce.AVG, a_row(1.0), a_row(None)).coverage[0] == 0.0


def test_samples_are_the_ticks_with_an_answer():
    assert window(Reduce.AVG, *SILENT_LAST).samples[0] == 2


def test_the_newest_answer_may_be_in_an_older_tick():
    assert window(Reduce.AVG, a_row(1.0, at=3.0), a_row(1.0, at=9.0), a_row(None)).newest[0] == 9.0


def test_a_spike_leaves_no_error_once_it_has_left_the_window():
    ring = a_ring(3, a_row(1.8e19), a_row(0.1), a_row(0.2), a_row(0.3))
    assert over(Reduce.SUM, ring.newest(3, ONLY), np.array([True])).value[0] == 0.3 + 0.2 + 0.1


def values(stretch: Stretch) -> list[float | None]:
    order = stretch.order
    columns = zip(stretch.value[order, 0], stretch.heard[order, 0], strict=True)
    return [value if heard else None for value, heard in columns]


def test_a_missed_tick_is_a_silent_row_and_not_a_shorter_window():
    ring = a_ring(4, a_row(1.0))
    ring.put(3, a_row(4.0), a_row(None))
    assert values(ring.newest(4, ONLY)) == [4.0, None, None, 1.0]


def test_missing_more_ticks_than_the_ring_has_leaves_all_of_them_silent():
    ring = a_ring(3, a_row(1.0), a_row(2.0), a_row(3.0))
    ring.put(1000, a_row(4.0), a_row(None))
    assert values(ring.newest(3, ONLY)) == [4.0, None, None]


def test_a_second_row_for_a_tick_replaces_the_first():
    ring = a_ring(2, a_row(1.0), a_row(2.0))
    ring.put(1, a_row(None), a_row(None))
    assert values(ring.newest(2, ONLY)) == [None, 1.0]


@pytest.mark.parametrize(
    ("ticks", "watched"),
    [
        pytest.param([], 0, id="none"),
        pytest.param([7], 1, id="the first"),
        pytest.param([7, 8], 2, id="two"),
        pytest.param([7, 7], 1, id="one twice"),
        pytest.param([7, 10], 4, id="missed ticks were watched too"),
    ],
)
def test_a_track_is_watched_from_its_first_tick(ticks, watched):
    ring = Ring(9, 1)
    for tick in ticks:
        ring.put(tick, a_row(1.0), a_row(None))
    assert ring.watched().tolist() == [watched]


def test_a_watch_begins_anew_after_a_tick_without_members():
    ring = a_ring(9, a_row(1.0), a_row(1.0)._replace(expected=np.array([0.0])), a_row(1.0))
    assert ring.watched().tolist() == [1]


def test_nothing_is_read_from_an_empty_ring():
    with pytest.raises(ValueError, match="before the first tick"):
        Ring(3, 1).newest(1, ONLY)


def adopted(old: Ring, length: int, *, newest: int | None = None, shift: int = 0) -> Ring:
    ring = Ring(length, 2)
    ring.skip_to((old.last or 0) + shift if newest is None else newest)
    ring.adopt(old, [(0, 1)], shift)
    return ring


@pytest.mark.parametrize(
    ("length", "newest", "shift", "expected", "watched"),
    [
        pytest.param(3, None, 0, [3.0, 2.0, 1.0], 3, id="as long"),
        pytest.param(2, None, 0, [3.0, 2.0], 2, id="shorter"),
        pytest.param(5, None, 0, [3.0, 2.0, 1.0, None, None], 3, id="longer has what there was"),
        pytest.param(3, None, 40, [3.0, 2.0, 1.0], 3, id="under other numbers"),
        pytest.param(3, 3, 0, [None, 3.0, 2.0], 3, id="behind the others"),
        pytest.param(3, 9, 0, [None, None, None], 3, id="far behind the others"),
    ],
)
def test_an_adopted_track_keeps_its_history(length, newest, shift, expected, watched):
    ring = adopted(a_ring(3, a_row(1.0), a_row(2.0), a_row(3.0)), length, newest=newest, shift=shift)
    assert values(ring.newest(length, np.array([1]))) == expected
    assert ring.watched().tolist() == [0, watched]


def test_what_was_not_watched_is_bounded_by_nothing():
    ring = adopted(a_ring(1, a_row(1.0)), 3)
    assert ring.newest(3, np.array([1])).high[:, 0].tolist() == [1.0, INF, INF]


def test_skipping_ahead_forgets_what_stood_in_those_rows():
    ring = a_ring(3, a_row(1.0), a_row(2.0), a_row(3.0))
    ring.skip_to(4)
    assert values(ring.newest(3, ONLY)) == [None, None, 3.0]


def test_history_newer_than_the_ring_is_not_adopted():
    with pytest.raises(ValueError, match="expected skip_to"):
        adopted(a_ring(3, a_row(1.0), a_row(2.0)), 3, newest=0)
