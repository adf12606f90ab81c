"""Compare every reduction with pandas, and check its bounds against any missing answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.aggregate import Aggregator
from aggregator.frames import Aggregate, Cell, Insufficient, Lack
from config.model.counters import Counter
from config.model.reductions import Rank, Reduce, Reduction, Statistic
from tests.support.aggregator import (
    WEB,
    Watch,
    a_catalogue,
    a_condition,
    a_counter,
    a_group,
    a_layout,
    a_policy,
    a_scrape,
    series,
)

LOW, HIGH = -50.0, 150.0
BOUNDED = a_counter(range=(LOW, HIGH))
OVER_TIME: Sequence[Reduction] = [*Reduce, *Statistic, Rank(1, True), Rank(2, True), Rank(3, False), Rank(9, True)]
ACROSS = [how for how in OVER_TIME if how is not Reduce.LAST]
Pair = tuple[Reduction, Reduction]
PAIRS: Sequence[Pair] = list(itertools.product(ACROSS, OVER_TIME))

Tick = Mapping[str, float | None]
numbers = st.floats(min_value=LOW, max_value=HIGH, allow_subnormal=False) | st.sampled_from([LOW, 0.0, 42.0, HIGH])
ticks = st.lists(
    st.dictionaries(st.sampled_from("abcde"), st.none() | st.just(math.nan) | numbers, min_size=1),
    min_size=1,
    max_size=6,
)
"""Members join and leave; some do not answer, and some answer NaN."""


def by_pandas(how: Reduction, values: pd.Series, expected: int) -> float:
    """Reduce the answers with pandas; NaN where too few members answered."""
    heard = values.dropna()
    if heard.empty:
        return math.nan
    match how:
        case Rank(nth=nth, highest=highest):
            chosen = min(nth, expected)
            ranked = heard.nlargest(chosen) if highest else heard.nsmallest(chosen)
            return float(ranked.iloc[-1]) if len(ranked) == chosen else math.nan
        case Statistic():
            return float(heard.std(ddof=0) if how.share is None else heard.quantile(how.share))
        case Reduce():
            named = {Reduce.AVG: "mean", Reduce.LAST: lambda each: each.iloc[-1]}
            return float(heard.agg(named.get(how, how.value)))


def expected_values(history: Sequence[Tick]) -> Mapping[Pair, float]:
    """Return the value of each pair of reductions; NaN: no value."""
    rows = [pd.Series(tick, dtype="float64") for tick in history]
    reduced = {how: pd.Series([by_pandas(how, row, len(row)) for row in rows]) for how in ACROSS}
    return {(across, how): by_pandas(how, reduced[across], len(rows)) for across, how in PAIRS}


def cells_of(history: Sequence[Tick], counter: Counter = BOUNDED) -> Mapping[Pair, Cell]:
    """Make a window over all of a history, for every pair of reductions."""
    window = 10.0 * len(history)
    names = {f"c{number}": pair for number, pair in enumerate(PAIRS)}
    catalogue = a_catalogue(
        counters=[counter],
        conditions=[
            a_condition(name, across=across, aggregate=aggregate, window=window)
            for name, (across, aggregate) in names.items()
        ],
        policies=[a_policy(when=[*names])],
        groups=[a_group(freshness=1000)],
    )
    aggregator = Aggregator(catalogue, [WEB])
    for number, tick in enumerate(history):
        layout = a_layout([series(name) for name in tick])
        scrape = a_scrape(layout, 10.0 * number, {series(name): value for name, value in tick.items()})
        frame = aggregator.take(scrape)[WEB]
    return {(key.across, key.aggregate): cell for key, cell in frame.cells.items()}


@given(ticks)
def test_a_window_has_the_value_that_pandas_computes(history):
    found = cells_of(history)
    for pair, wanted in expected_values(history).items():
        cell = found[pair]
        if math.isnan(wanted):
            assert isinstance(cell, Insufficient), pair
        else:
            assert isinstance(cell, Aggregate), pair
            assert cell.value == pytest.approx(wanted, rel=1e-9, abs=1e-7), pair
            assert cell.low <= cell.value <= cell.high, pair


@given(ticks, st.lists(numbers, min_size=30, max_size=30))
def test_no_missing_answer_leaves_the_bounds(history, silence):
    """Also where too few members answered for a value."""
    answers = itertools.cycle(silence)
    spoken = [
        {name: next(answers) if value is None or math.isnan(value) else value for name, value in tick.items()}
        for tick in history
    ]
    found = cells_of(history)
    for pair, actual in expected_values(spoken).items():
        cell = found[pair]
        if pair[1] is not Reduce.COUNT:  # count over time counts ticks
            assert cell.low - 1e-7 <= actual <= cell.high + 1e-7, pair


def last_cell(history: Sequence[Tick], across: Reduction, aggregate: Reduction, *, bounded: bool = True) -> Cell:
    counter = BOUNDED if bounded else a_counter()
    return Watch(counter=counter, across=across, aggregate=aggregate, ticks=len(history)).ticks(*history)


@pytest.mark.parametrize("across", [Rank(2, True), Statistic.P95, Statistic.STDDEV], ids=lambda how: how.value)
def test_a_missing_answer_without_a_range_leaves_no_bounds(across):
    cell = last_cell([{"a": 1.0, "b": 2.0, "c": None}], across, Reduce.AVG, bounded=False)
    assert isinstance(cell, Aggregate)
    assert (cell.low, cell.high) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("history", "across", "aggregate", "expected"),
    [
        pytest.param([{"a": 1.0, "b": None, "c": None}], Rank(2, True), Reduce.AVG, (LOW, HIGH), id="of members"),
        pytest.param([{"a": 1.0, "b": 2.0, "c": None}], Rank(3, True), Reduce.AVG, (LOW, 1.0), id="third of three"),
        pytest.param([{"a": 1.0}, {"a": None}], Reduce.AVG, Rank(2, True), (LOW, 1.0), id="of ticks"),
    ],
)
def test_a_rank_above_the_number_of_answers_has_no_value_but_bounds(history, across, aggregate, expected):
    cell = last_cell(history, across, aggregate)
    assert isinstance(cell, Insufficient)
    assert (cell.because, cell.low, cell.high) == (Lack.TOO_FEW_HEARD, *expected)


def test_a_rank_above_the_number_of_answers_is_unknown_without_a_range():
    cell = last_cell([{"a": 1.0, "b": None, "c": None}], Rank(2, True), Reduce.AVG, bounded=False)
    assert (cell.low, cell.high) == (-math.inf, math.inf)


def test_a_cell_counts_its_answers_also_where_they_are_too_few_to_rank():
    cell = last_cell([{"a": 1.0, "b": 2.0, "c": None}], Rank(3, True), Reduce.AVG)
    assert (cell.heard, cell.expected) == (2, 3)


def test_great_values_do_not_overflow_the_deviation():
    cell = last_cell([{"a": 1e300, "b": -1e300}], Statistic.STDDEV, Statistic.STDDEV, bounded=False)
    assert isinstance(cell, Aggregate)
    assert math.isfinite(cell.value)
