from __future__ import annotations

from collections.abc import Mapping

import pytest

from collector.clients.http.client import HttpFailure
from collector.samples import Reply, Series
from collector.sources.prometheus.matching import MatchedValue, QueryRow, fulfilled
from collector.sources.prometheus.parsing import PromSeries, PromSeriesSet
from collector.targets import MemberTarget
from config.model.reductions import Reduce
from config.units import MemberName
from tests.support.collector import WEB
from tests.support.prometheus import a_query

Values = tuple[list[float], float]


def a_line(value: float = 1.0, labels: Mapping[str, str] | None = None, *, newest: float = 1000.0) -> PromSeries:
    return PromSeries(labels=labels or {}, points=((1000.0, value),), newest=newest)


def a_row(
    *, name: str | None = None, address: str = "10.0.0.1", rows: Reduce | None = None, limit: float = 90.0
) -> QueryRow:
    member = None if name is None else MemberTarget(name=MemberName(name), address=address, counted=True)
    counter = a_query("up", label="instance", rows=rows)
    series = Series(WEB, counter.id, member and member.name)
    return QueryRow(
        index=0, series=series, counter=counter, interval=30.0, limit=limit, member=member, label="instance"
    )


def found(
    row: QueryRow, *lines: PromSeries, over_time: bool = False, evaluated: float | None = None
) -> Values | HttpFailure:
    """The values, and their age."""
    ((_, answer),) = fulfilled([row], PromSeriesSet(lines=lines, over_time=over_time), evaluated)
    return ([line.value for line in answer.rows], answer.age) if isinstance(answer, MatchedValue) else answer


@pytest.mark.parametrize(
    ("name", "address", "instance"),
    [
        ("web-1", "10.0.0.1", "web-1"),
        ("web-1", "10.0.0.1", "web-1:9100"),
        ("web-1", "10.0.0.1", "10.0.0.1"),
        ("web-1", "10.0.0.1", "10.0.0.1:9100"),
        ("web-1", "2001:db8::1", "[2001:DB8:0::1]:9100"),
        ("web-1", "2001:db8:0:0::1", "2001:db8::1"),
    ],
)
def test_a_member_is_known_by_name_or_address(name: str, address: str, instance: str) -> None:
    assert found(a_row(name=name, address=address), a_line(7.0, {"instance": instance})) == ([7.0], 0.0)


@pytest.mark.parametrize("instance", ["web-10", "10.0.0.10:9100", "web-1.example.org", "", "xweb-1", "10.0.0.1:9100:x"])
def test_nothing_else_is_taken_for_a_member(instance: str) -> None:
    answer = found(a_row(name="web-1"), a_line(7.0, {"instance": instance}))

    assert isinstance(answer, HttpFailure)
    assert answer.reply is Reply.NO_SUCH_COUNTER


def test_a_member_without_an_address_is_not_a_series_without_a_label() -> None:
    answer = found(a_row(name="web-1", address=""), a_line(7.0, {"instance": ""}), a_line(8.0))

    assert isinstance(answer, HttpFailure)


def test_a_member_that_is_named_both_ways_has_one_value() -> None:
    line = a_line(7.0, {"instance": "10.0.0.1"})

    assert found(a_row(name="10.0.0.1"), line) == ([7.0], 0.0)


@pytest.mark.parametrize("name", ["web-1", None])
def test_several_series_are_several_rows(name: str | None) -> None:
    lines = (a_line(7.0, {"instance": "web-1:1"}), a_line(1.0, {"instance": "web-1:2"}))

    assert found(a_row(name=name, rows=Reduce.SUM), *lines) == ([7.0, 1.0], 0.0)
    last = found(a_row(name=name, rows=Reduce.LAST), *lines)
    assert last == HttpFailure(reply=Reply.AMBIGUOUS, detail="2 series, and none is the newest")


def test_rows_are_known_by_their_labels() -> None:
    lines = [a_line(1.0, {"instance": "a", "q": "x"}), a_line(2.0, {"q": "y", "instance": "a"})]

    ((_, answer),) = fulfilled([a_row(rows=Reduce.SUM)], PromSeriesSet(lines=lines, over_time=False), None)

    assert isinstance(answer, MatchedValue)
    assert [line.name for line in answer.rows] == [
        "[('instance', 'a'), ('q', 'x')]",
        "[('instance', 'a'), ('q', 'y')]",
    ]


def test_points_over_time_are_rows_but_series_of_points_are_not() -> None:
    line = PromSeries(labels={}, points=((1.0, 5.0), (2.0, 7.0)), newest=2.0)

    assert found(a_row(rows=Reduce.AVG), line, over_time=True, evaluated=2.0) == ([5.0, 7.0], 0.0)
    several = found(a_row(rows=Reduce.AVG), line, line, over_time=True, evaluated=2.0)
    assert several == HttpFailure(reply=Reply.AMBIGUOUS, detail="2 series, each with points over time")


@pytest.mark.parametrize("rows", [None, Reduce.COUNT, Reduce.SUM])
def test_an_empty_answer_is_absence_and_never_a_number(rows: Reduce | None) -> None:
    nothing = HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail="the query finds nothing")

    assert found(a_row(rows=rows)) == nothing
    assert found(a_row(name="web-1", rows=rows)) == nothing


def test_a_label_that_no_series_has_is_named() -> None:
    answer = found(a_row(name="web-1"), a_line(7.0, {"host": "web-1"}))

    assert answer == HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail="no series has a label instance")


def test_the_oldest_of_several_series_says_how_old_they_are() -> None:
    assert found(a_row(rows=Reduce.SUM), a_line(newest=990.0), a_line(newest=950.0)) == ([1.0, 1.0], 50.0)


def test_a_sample_that_is_too_old_is_stale() -> None:
    assert found(a_row(limit=90.0), a_line(newest=910.0)) == ([1.0], 90.0)
    stale = HttpFailure(reply=Reply.STALE, detail="its newest sample is 91 s old")
    assert found(a_row(limit=90.0), a_line(newest=909.0)) == stale


def test_a_sample_of_the_next_minute_is_fresh_and_one_beyond_it_is_not_heard() -> None:
    assert found(a_row(), a_line(newest=1060.0)) == ([1.0], 0.0)
    later = found(a_row(), a_line(newest=1061.0))
    assert isinstance(later, HttpFailure)
    assert later == HttpFailure(reply=Reply.FUTURE, detail="its sample is 61 s ahead of the server's clock")


def test_points_of_a_later_time_than_the_server_says_it_is_are_not_heard() -> None:
    row, answer = a_row(), PromSeriesSet(lines=(a_line(newest=1000.0),), over_time=False)
    ((_, near),) = fulfilled([row], answer, None, there=940.0)
    assert isinstance(near, MatchedValue)
    ((_, late),) = fulfilled([row], answer, None, there=939.0)
    assert isinstance(late, HttpFailure)
    assert late.reply is Reply.FUTURE
