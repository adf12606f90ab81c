from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest

from collector.clients.http.client import HttpFailure
from collector.samples import Reply, Series
from collector.sources.reducing import ReducedRows, Reducer, RowNumber
from config.model.counters import Counter, CounterKind, HttpValue, JsonPick, MemberAddress
from config.model.reductions import Reduce
from config.units import CounterId
from tests.support.collector import WEB

HITS = Series(WEB, CounterId("hits"), None)


def a_counter(rows: Reduce | None, kind: CounterKind = CounterKind.GAUGE) -> Counter:
    source = HttpValue(at=MemberAddress(port=80, path="/"), pick=JsonPick(path="$"))
    return Counter(id=HITS.counter, source=source, rows=rows, kind=kind)


def read(
    reducer: Reducer,
    rows: Sequence[RowNumber],
    how: Reduce | None = Reduce.SUM,
    *,
    kind: CounterKind = CounterKind.GAUGE,
    at: float = 0.0,
) -> ReducedRows | HttpFailure:
    return reducer.reading(HITS, a_counter(how, kind), rows, at=at, interval=30.0)


def risen(*answers: Mapping[str, float], every: float = 30.0) -> list[tuple[float, bool]]:
    """The total after each answer, and whether it goes back to the answer before."""
    reducer, found = Reducer(), []
    for place, answer in enumerate(answers):
        rows = [RowNumber(value, name) for name, value in answer.items()]
        reading = read(reducer, rows, kind=CounterKind.RISING, at=1000.0 + place * every)
        assert isinstance(reading, ReducedRows)
        found.append((reading.value, reading.uptime >= every))
    return found


def test_one_value_needs_no_way_to_become_one() -> None:
    assert read(Reducer(), [RowNumber(5.0, None)], None) == ReducedRows(5.0, pytest.approx(math.nan, nan_ok=True))


def test_several_values_need_one() -> None:
    numbers = [RowNumber(5.0, None), RowNumber(7.0, None)]

    assert read(Reducer(), numbers, None) == HttpFailure(reply=Reply.AMBIGUOUS, detail="2 values")
    reading = read(Reducer(), numbers, Reduce.MAX)
    assert isinstance(reading, ReducedRows)
    assert reading.value == 7.0


@pytest.mark.parametrize("kind", [CounterKind.GAUGE, CounterKind.RISING])
def test_a_row_that_is_not_finite_spoils_them_all(kind: CounterKind) -> None:
    reading = read(Reducer(), [RowNumber(5.0, "a"), RowNumber(math.inf, "b")], kind=kind)

    assert isinstance(reading, ReducedRows)
    assert math.isnan(reading.value)


def test_rows_that_rise_are_added_up_by_what_they_rose() -> None:
    assert risen({"a": 100, "b": 7}, {"a": 110, "b": 8}, {"a": 130, "b": 8}) == [
        (0.0, False),
        (11.0, True),
        (31.0, True),
    ]


@pytest.mark.parametrize("every", [1, 20], ids=["a-new-sample-at-every-poll", "at-every-twentieth"])
def test_rows_that_arrive_late_are_added_up_like_others(every: int) -> None:
    reducer, found = Reducer(), []
    for poll in range(3 * every):
        now, sample = 5_000.0 + poll * 30.0, poll // every
        reducer.tidy(now)
        rows, taken = [RowNumber(100.0 + 7.0 * sample, "a")], 5_000.0 + sample * every * 30.0 - 1_200.0
        reading = read(reducer, rows, kind=CounterKind.RISING, at=taken)
        assert isinstance(reading, ReducedRows)
        found.append((reading.value, reading.uptime))

    assert [found[number * every] for number in range(1, 3)] == [(7.0, every * 30.0), (14.0, every * 60.0)]


def test_a_row_that_comes_or_goes_is_no_jump() -> None:
    assert risen({"a": 100}, {"a": 110, "b": 10_000}, {"b": 10_005}) == [(0.0, False), (10.0, True), (15.0, True)]


def test_a_row_that_begins_anew_begins_the_sum_anew_and_is_never_a_rate() -> None:
    (_, (_, before), (_, reset), (_, after)) = risen(
        {"a": 100, "b": 5}, {"a": 200, "b": 5}, {"a": 3, "b": 900}, {"a": 4, "b": 901}
    )

    assert (before, reset, after) == (True, False, True)


def test_rows_that_rise_must_have_names() -> None:
    answer = read(Reducer(), [RowNumber(5.0, None)], kind=CounterKind.RISING)

    assert isinstance(answer, HttpFailure)
    assert answer.reply is Reply.AMBIGUOUS


def test_the_same_rows_again_change_nothing() -> None:
    reducer = Reducer()
    readings = [
        read(reducer, [RowNumber(float(hits), "a")], kind=CounterKind.RISING, at=at)
        for hits, at in ((5, 0), (9, 30), (9, 30), (11, 60))
    ]

    assert [reading[0] for reading in readings if isinstance(reading, ReducedRows)] == [0.0, 4.0, 4.0, 6.0]


def test_what_is_not_asked_for_is_forgotten() -> None:
    reducer = Reducer()
    read(reducer, [RowNumber(5.0, "a")], kind=CounterKind.RISING, at=0.0)

    reducer.tidy(1000.0)

    assert reducer._last == {}
