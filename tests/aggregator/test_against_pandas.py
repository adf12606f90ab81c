"""Every reduction comes to what pandas makes of the same window, and its bounds hold whatever the unheard would say."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.frames import Aggregate, Cell, Insufficient, Lack
from config.reductions import Rank, Reduce, Reduction, Statistic
from tests.support.aggregator import Watch, a_counter

LOW, HIGH = -50.0, 150.0
ALL: Sequence[Reduction] = [*Reduce, *Statistic, Rank(1, True), Rank(2, True), Rank(3, False), Rank(9, True)]
ACROSS = [how for how in ALL if how is not Reduce.LAST]

Answers = Mapping[str, float | None]
_values = st.floats(min_value=LOW, max_value=HIGH, allow_subnormal=False) | st.sampled_from([LOW, 0.0, 42.0, HIGH])
_ticks = st.lists(st.dictionaries(st.sampled_from("abcde"), st.none() | _values, min_size=1), min_size=1, max_size=6)


def by_pandas(how: Reduction, values: pd.Series, expected: int) -> float:
    """One reduction of what was heard; NaN where too few were."""
    heard = values.dropna()
    if isinstance(how, Rank):
        chosen = min(how.nth, expected)
        ranked = heard.nlargest(chosen) if how.highest else heard.nsmallest(chosen)
        return float(ranked.iloc[-1]) if len(ranked) == chosen else math.nan
    if isinstance(how, Statistic):
        return float(heard.std(ddof=0) if how.share is None else heard.quantile(how.share))
    if heard.empty:
        return math.nan
    named = {Reduce.AVG: "mean", Reduce.LAST: lambda each: each.iloc[-1]}
    return float(heard.agg(named.get(how, how.value)))


def expected_value(ticks: Sequence[Answers], across: Reduction, aggregate: Reduction) -> float:
    rows = [pd.Series(tick, dtype="float64") for tick in ticks]
    reduced = pd.Series([by_pandas(across, row, len(row)) if row.notna().any() else math.nan for row in rows])
    if reduced.notna().sum() == 0:
        return math.nan
    return by_pandas(aggregate, reduced, len(reduced))


def last_cell(ticks: Sequence[Answers], across: Reduction, aggregate: Reduction, *, bounded: bool = True) -> Cell:
    counter = a_counter(range=(LOW, HIGH) if bounded else None)
    watch = Watch(counter=counter, across=across, aggregate=aggregate, ticks=len(ticks), freshness=1000)
    return watch.ticks(*ticks)


@pytest.mark.parametrize("aggregate", ALL, ids=lambda how: how.value)
@pytest.mark.parametrize("across", ACROSS, ids=lambda how: how.value)
@settings(max_examples=12)
@given(ticks=_ticks)
def test_a_window_comes_to_what_pandas_makes_of_it(
    ticks: Sequence[Answers], across: Reduction, aggregate: Reduction
) -> None:
    cell = last_cell(ticks, across, aggregate)
    wanted = expected_value(ticks, across, aggregate)

    if math.isnan(wanted):
        assert isinstance(cell, Insufficient)
        return
    assert isinstance(cell, Aggregate)
    assert cell.value == pytest.approx(wanted, rel=1e-9, abs=1e-7)
    assert cell.low <= cell.value <= cell.high


@pytest.mark.parametrize("aggregate", ALL, ids=lambda how: how.value)
@pytest.mark.parametrize("across", ACROSS, ids=lambda how: how.value)
@settings(max_examples=12)
@given(ticks=_ticks, silence=st.lists(_values, min_size=30, max_size=30))
def test_no_answer_of_the_unheard_leaves_the_bounds(
    ticks: Sequence[Answers], silence: list[float], across: Reduction, aggregate: Reduction
) -> None:
    cell = last_cell(ticks, across, aggregate)
    said = itertools.cycle(silence)
    spoken = [{name: next(said) if value is None else value for name, value in tick.items()} for tick in ticks]
    if not isinstance(cell, Aggregate) or aggregate is Reduce.COUNT:
        return  # of a window, counting counts ticks, whatever they hold

    actual = expected_value(spoken, across, aggregate)

    assert cell.low - 1e-7 <= actual <= cell.high + 1e-7


@pytest.mark.parametrize("across", [Rank(2, True), Statistic.P95, Statistic.STDDEV], ids=lambda how: how.value)
def test_silence_without_a_range_bounds_nothing(across: Reduction) -> None:
    cell = last_cell([{"a": 1.0, "b": 2.0, "c": None}], across, Reduce.AVG, bounded=False)

    assert isinstance(cell, Aggregate)
    assert (cell.low, cell.high) == (-math.inf, math.inf)


def test_a_rank_beyond_those_who_were_heard_is_no_value() -> None:
    cell = last_cell([{"a": 1.0, "b": None, "c": None}], Rank(2, True), Reduce.AVG)

    assert isinstance(cell, Insufficient)
    assert cell.because is Lack.NO_SAMPLES


def test_great_values_do_not_overflow_the_deviation() -> None:
    cell = last_cell([{"a": 1e300, "b": -1e300}], Statistic.STDDEV, Statistic.STDDEV, bounded=False)

    assert isinstance(cell, Aggregate)
    assert np.isfinite(cell.value)
