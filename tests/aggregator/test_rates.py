"""Check that rising counters become rates, and that no ambiguous advance becomes one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.ranges import LARGEST
from aggregator.rates import NO_BASELINE, UPTIME_WRAP, Columns, columns_of, measure
from config.model.counters import Counter, CounterKind
from tests.support.aggregator import Reading, a_counter, a_layout, a_scrape, series

LAP = 2.0**32
ANSWERS = series("a")


def a_rising(*, bits: int = 64, scale: float = 1.0, range: tuple[float, float] | None = None) -> Counter:
    return a_counter(kind=CounterKind.RISING, bits=bits, scale=scale, range=range)


def columns(counter: Counter, *members: str) -> Columns:
    layout = a_layout([series(member) for member in members or ("a",)])
    return columns_of(layout, np.zeros(len(layout.series), dtype=np.intp), [counter], 10.0)


def measured(counter: Counter, *readings: tuple[float, Reading | float | None]) -> float | None:
    """Poll member ``a`` at these times; return the measurement of the last poll."""
    layout, layout_columns = a_layout([ANSWERS]), columns(counter)
    value, baseline = None, NO_BASELINE
    for at, reading in readings:
        one, baseline = measure(layout_columns, baseline, a_scrape(layout, at, {ANSWERS: reading}))
        value = float(one.value[0]) if one.usable[0] else None
    return value


@pytest.mark.parametrize(
    ("counter", "readings", "expected"),
    [
        pytest.param(a_rising(), [(0, 100.0)], None, id="first reading has no rate"),
        pytest.param(a_rising(), [(0, 100.0), (10, 150.0)], 5.0, id="rate is the advance per second"),
        pytest.param(a_rising(), [(0, 100.0), (10, 100.0)], 0.0, id="a constant count is a rate of 0"),
        pytest.param(a_rising(scale=8.0), [(0, 100.0), (10, 150.0)], 40.0, id="scale applies to the rate"),
        pytest.param(
            a_rising(),
            [(0, Reading(100.0, late=2.0)), (10, Reading(150.0, late=4.0))],
            50 / 12,
            id="time runs from answer to answer",
        ),
        pytest.param(a_rising(), [(0, 100.0), (10, None)], None, id="no answer no rate"),
        pytest.param(a_rising(), [(0, 100.0), (10, None), (20, 150.0)], 2.5, id="a gap gives the rate over longer"),
        pytest.param(a_rising(), [(0, 100.0), (0, 150.0)], None, id="time not advancing"),
        pytest.param(
            a_rising(),
            [(0, 100.0), (0, 150.0), (10, 150.0)],
            5.0,
            id="time not advancing keeps the earlier reading",
        ),
        pytest.param(a_rising(), [(0, 100.0), (10, 50.0)], None, id="64 bits going back is a reset"),
        pytest.param(a_rising(), [(0, 100.0), (10, 50.0), (20, 70.0)], 2.0, id="rates go on from a reset"),
        pytest.param(
            a_rising(),
            [(0, Reading(100.0, uptime=900.0)), (10, Reading(150.0, uptime=4.0))],
            None,
            id="uptime going back is a reset even if the counter advanced",
        ),
        pytest.param(
            a_rising(),
            [(0, Reading(100.0, uptime=5.0)), (300, Reading(150.0, uptime=200.0))],
            None,
            id="uptime too young to reach the last answer is a reset",
        ),
        pytest.param(
            a_rising(),
            [(0, Reading(100.0, uptime=UPTIME_WRAP - 4.0)), (10, Reading(150.0, uptime=6.0))],
            5.0,
            id="uptime that wrapped is no reset",
        ),
        pytest.param(
            a_rising(),
            [(0, Reading(100.0, uptime=100.0)), (30, Reading(150.0, uptime=3700.0))],
            None,
            id="uptime that leaps ahead is another agent's, or our clock stood still",
        ),
        pytest.param(
            a_rising(),
            [
                (0, Reading(100.0, uptime=100.0)),
                (30, Reading(200.0, uptime=3700.0)),
                (60, Reading(230.0, uptime=3730.0)),
            ],
            1.0,
            id="rates go on from an uptime that has leapt",
        ),
        pytest.param(
            a_rising(),
            [(0, Reading(100.0, uptime=100.0)), (30, Reading(100.0, uptime=100.0))],
            None,
            id="uptime that stands still is the same answer once more",
        ),
        pytest.param(
            a_rising(),
            [(0, Reading(100.0, uptime=100.0)), (30, Reading(100.0, uptime=100.0)), (60, Reading(160.0, uptime=160.0))],
            1.0,
            id="after a repeated answer the rate is over the whole time",
        ),
        pytest.param(
            a_rising(),
            [(0, Reading(100.0, uptime=100.0)), (30, Reading(130.0, uptime=120.0))],
            1.0,
            id="the uptime of a slow clock is valid",
        ),
        pytest.param(
            a_rising(),
            [(0, Reading(0.0, uptime=-60.0)), (30, Reading(30.0, uptime=30.0))],
            1.0,
            id="an uptime below 0 begins a total, and is no leap",
        ),
        pytest.param(
            a_rising(bits=32),
            [(0, Reading(LAP - 20, uptime=100.0)), (10, Reading(30.0, uptime=110.0))],
            5.0,
            id="32 bits going back with steady uptime is a wrap",
        ),
        pytest.param(
            a_rising(bits=32),
            [(0, LAP - 20), (10, 30.0)],
            None,
            id="32 bits going back with unknown uptime is ambiguous",
        ),
        pytest.param(
            a_rising(bits=32),
            [(0, LAP - 20), (10, Reading(30.0, uptime=110.0))],
            None,
            id="32 bits going back with the earlier uptime unknown is ambiguous",
        ),
        pytest.param(
            a_rising(bits=32),
            [(0, Reading(LAP - 20, uptime=900.0)), (10, Reading(30.0, uptime=4.0))],
            None,
            id="32 bits going back with uptime going back is a reset",
        ),
        pytest.param(
            a_rising(bits=32, range=(0.0, 10.0)),
            [(0, Reading(500.0, uptime=100.0)), (10, Reading(30.0, uptime=110.0))],
            None,
            id="a wrap beyond the declared range is a counter that was cleared",
        ),
        pytest.param(
            a_rising(bits=32),
            [(0, 0.0), (10, None), (20, 40.0)],
            None,
            id="32 bits may have wrapped twice in a gap",
        ),
        pytest.param(
            a_rising(bits=32),
            [(0, 0.0), (10, None), (20, 40.0), (30, 60.0)],
            2.0,
            id="32 bits have a rate again after the gap",
        ),
        pytest.param(
            a_rising(bits=32, range=(0.0, LAP / 20 - 1)),
            [(0, 0.0), (10, None), (20, 40.0)],
            2.0,
            id="32 bits too slow to wrap twice in the gap",
        ),
        pytest.param(
            a_rising(bits=32, range=(0.0, LAP / 20 + 1)),
            [(0, 0.0), (10, None), (20, 40.0)],
            None,
            id="32 bits fast enough to wrap twice in the gap",
        ),
        pytest.param(
            a_rising(bits=32, scale=8.0, range=(0.0, 8 * LAP / 20 - 1)),
            [(0, 0.0), (10, None), (20, 40.0)],
            16.0,
            id="the range is in the counter's unit and the wrap in the reading's",
        ),
        pytest.param(a_rising(), [(0, 0.0), (10, LARGEST * 2)], None, id="a reading that would overflow is none"),
        pytest.param(a_counter(scale=0.1), [(0, 42.0)], pytest.approx(4.2), id="a gauge is its reading times scale"),
        pytest.param(a_counter(scale=LARGEST), [(0, 42.0)], None, id="a value that would overflow is none"),
        pytest.param(a_counter(range=(0.0, 100.0)), [(0, -1.0)], None, id="below its range"),
        pytest.param(a_counter(range=(0.0, 100.0)), [(0, 130.0)], None, id="above its range"),
        pytest.param(a_counter(range=(0.0, 100.0)), [(0, 0.0)], 0.0, id="the least of its range"),
        pytest.param(a_counter(range=(0.0, 100.0)), [(0, 100.0)], 100.0, id="the greatest of its range"),
        pytest.param(a_counter(scale=100.0, range=(0.0, 100.0)), [(0, 0.7)], pytest.approx(70.0), id="a share, scaled"),
        pytest.param(a_counter(scale=100.0, range=(0.0, 100.0)), [(0, 70.0)], None, id="the range is of the scaled"),
        pytest.param(
            a_counter(scale=1e-3, range=(0.0, 0.3)), [(0, 300.0000000001)], 0.3, id="rounding is within the range"
        ),
        pytest.param(a_rising(range=(0.0, 5.0)), [(0, 100.0), (10, 140.0)], 4.0, id="a rate within its range"),
        pytest.param(a_rising(range=(0.0, 5.0)), [(0, 100.0), (10, 160.0)], None, id="a rate above its range"),
        pytest.param(a_rising(range=(2.0, 5.0)), [(0, 100.0), (10, 110.0)], None, id="a rate below its range"),
        pytest.param(a_rising(range=(0.0, 5.0)), [(0, 100.0)], None, id="the count itself is not in the range"),
        pytest.param(
            a_rising(range=(0.0, 5.0)), [(0, 100.0), (10, 154.0)], 5.0, id="an answer that was under way for longer"
        ),
        pytest.param(
            a_rising(range=(0.0, 5.0)), [(0, 100.0), (60, 430.0)], None, id="no answer is under way for six seconds"
        ),
        pytest.param(
            a_rising(range=(0.0, 5.0)),
            [(0, 100.0), (10, 1e12), (20, 140.0), (30, 180.0)],
            4.0,
            id="rates go on after a reading that leapt",
        ),
        pytest.param(
            a_rising(range=(0.0, 5.0)),
            [(0, 100.0), (10, 1e12), (20, 1e12 + 40)],
            4.0,
            id="rates go on from where a count really is",
        ),
        pytest.param(a_counter(), [(0, math.nan)], None, id="malformed"),
    ],
)
def test_a_reading_becomes_a_measurement(counter, readings, expected):
    assert measured(counter, *readings) == expected


@settings(deadline=None)
@given(
    before=st.integers(0, 2**32 - 1),
    advance=st.integers(0, 2**32 - 1),
    seconds=st.floats(1.0, 15.0),
)
def test_a_wrap_gives_the_same_rate_as_no_wrap(before, advance, seconds):
    wide = measured(a_rising(), (0, float(before)), (seconds, float(before + advance)))
    narrow = measured(
        a_rising(bits=32),
        (0, Reading(float(before), uptime=50.0)),
        (seconds, Reading(float((before + advance) % 2**32), uptime=50.0 + seconds)),
    )
    assert narrow == wide


def test_readings_follow_their_series_when_the_layout_changes():
    counter = a_rising()
    (a, b, c), layout = (series(name) for name in "abc"), a_layout([series("a"), series("c")])
    _, baseline = measure(columns(counter, "a", "c"), NO_BASELINE, a_scrape(layout, 0, {a: 10.0, c: 1000.0}))
    wider = a_layout([a, b, c])
    one, _ = measure(columns(counter, "a", "b", "c"), baseline, a_scrape(wider, 10, {a: 20.0, b: 7.0, c: 1100.0}))
    assert (one.value.tolist(), one.usable.tolist()) == ([1.0, 0.0, 10.0], [True, False, True])


def test_a_series_that_left_is_forgotten():
    counter, (a, b) = a_rising(), (series("a"), series("b"))
    both, alone = a_layout([a, b]), a_layout([b])
    _, baseline = measure(columns(counter, "a", "b"), NO_BASELINE, a_scrape(both, 0, {a: 10.0, b: 10.0}))
    _, baseline = measure(columns(counter, "b"), baseline, a_scrape(alone, 10, {b: 20.0}))
    one, _ = measure(columns(counter, "a", "b"), baseline, a_scrape(both, 20, {a: 30.0, b: 30.0}))
    assert one.usable.tolist() == [False, True]


def test_series_that_no_policy_needs_are_ignored():
    layout = a_layout([series("a"), series("a", counter="other")])
    runs = np.array([0, -1], dtype=np.intp)
    one, baseline = measure(
        columns_of(layout, runs, [a_rising()], 10.0),
        NO_BASELINE,
        a_scrape(layout, 0, {series("a", counter="other"): 5.0}),
    )
    assert (one.value.tolist(), baseline.series) == ([0.0, 5.0], (series("a"),))
