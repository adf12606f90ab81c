from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.web.pages.charts import ChartMark, Plot, Rule, Trace, chart, nice_top, segments, sparkline
from handler.web.pages.layout import PageTemplate
from tests.support.pages import a_mark
from tests.support.store import at

CHARTS = PageTemplate("chart.html")


def a_trace(*rows: tuple[float, float | None], stepped: bool = False, filled: bool = False) -> Trace:
    times, values = [at(second) for second, _ in rows], [value for _, value in rows]
    return Trace(label="load", at=times, values=values, kind="value", stepped=stepped, filled=filled)


def drawn(*traces: Trace, rules: tuple[Rule, ...] = (), marks: Sequence[ChartMark] = (), lane: bool = False) -> str:
    """A chart from second 0 to 100, with a row every ten seconds."""
    plot = Plot(
        id="c", describe="d", begin=at(0), end=at(100), gap=25.0, unit="percent", traces=traces, rules=rules,
        marks=tuple(marks), lane=lane,
    )  # fmt: skip
    return CHARTS("chart", chart(plot))


def paths(markup: str) -> list[str]:
    return re.findall(r'<path d="([^"]*)" class="line', markup)


def numbers(markup: str) -> Any:
    found = re.search(r'data-chart="([^"]*)"', markup)
    assert found is not None
    return json.loads(unescape(found[1]))


def test_a_line_breaks_where_a_value_is_absent() -> None:
    (path,) = paths(drawn(a_trace((0, 50.0), (10, 50.0), (20, None), (30, 50.0), (40, 50.0))))
    assert path.count("M") == 2
    assert "100" not in re.findall(r"[ V](\d+)", path)  # nothing goes down to zero in between


def test_a_line_breaks_where_nothing_was_recorded_for_long() -> None:
    rows = [(0, 1.0), (25, 1.0), (51, 1.0)]
    assert [[second - at(0) for second, _ in run] for run in segments(a_trace(*rows), 25.0)] == [[0, 25], [51]]


def test_a_size_holds_until_the_next_row_and_after_the_last_only_as_long_as_it_is_believed() -> None:
    (held,) = paths(drawn(a_trace((60, 5.0), (80, 9.5), stepped=True)))
    assert held == "M600 50H800V5H1000"
    (old,) = paths(drawn(a_trace((50, 4.0), stepped=True)))
    assert "1000" not in old


def test_a_value_alone_is_a_dot_and_values_that_are_not_known_are_nothing() -> None:
    assert paths(drawn(a_trace((50, None), (60, 1.0), (70, None)))) == ["M600 16.67h0.1"]
    assert paths(drawn(a_trace((50, None)))) == []


def test_the_threshold_is_always_inside() -> None:
    markup = drawn(a_trace((50, 10.0)), rules=(Rule(value=80.0, label="above 80 %", kind="threshold"),))
    (y,) = re.findall(r'y1="([\d.]+)%" y2="[\d.]+%" class="rule threshold"', markup)
    assert float(y) == pytest.approx(20.0)
    assert "above 80 %</text>" in markup


def test_values_below_zero_have_room() -> None:
    markup = drawn(a_trace((40, -30.0), (50, 10.0)))
    assert re.findall(r"<span>([-\d.]+)</span>", markup)[:3] == ["12", "-9", "-30"]


def test_a_person_who_points_gets_numbers_and_absence_for_unknown_values() -> None:
    shown = numbers(drawn(a_trace((10, 71.23456), (20, None))))
    assert shown["at"] == [10.0, 20.0, 45.0]  # nothing is joined over the time after the last row
    assert shown["columns"] == [{"label": "load", "kind": "value", "stepped": False, "values": [71.23, None, None]}]
    assert shown["unit"] == "%"


def test_a_size_goes_on_to_the_end_for_the_script_too() -> None:
    shown = numbers(drawn(a_trace((60, 5.0), (80, 9.5), stepped=True)))
    assert shown["at"] == [60.0, 80.0, 100.0]
    assert shown["columns"][0]["values"] == [5.0, 9.5, 9.5]


def test_a_range_is_the_space_between_its_least_and_greatest_values() -> None:
    ranges = Trace(
        label="range", at=[at(0), at(20), at(30)], values=[9.0, 9.0, None], floor=[1.0, 5.0, None], kind="range"
    )
    markup = drawn(ranges)
    assert re.findall(r'<path d="([^"]*)" class="area range', markup) == ["M0 10L200 10L200 50L0 90Z"]
    columns = [(each["label"], each["values"][:2]) for each in numbers(markup)["columns"]]
    assert columns == [("greatest", [9.0, 9.0]), ("least", [1.0, 5.0])]


def test_a_mark_can_be_reached_and_leads_to_its_full_text() -> None:
    markup = drawn(a_trace((10, 1.0)), marks=[a_mark(when=50)], lane=True)
    link = re.search(r"<a [^>]*>", markup)
    assert link is not None
    assert 'href="#e50"' in link[0]
    assert 'aria-label="scaled out 2 → 3 · busy"' in link[0]
    assert "<title>scaled out 2 → 3 · busy</title>" in markup
    assert '<svg x="50.00%"' in markup


def test_kinds_of_marks_differ_in_shape() -> None:
    shapes = set()
    for kind in ("out", "in", "refused", "note"):
        shapes |= set(re.findall(r'<path d="([^"]*)" class="mark', drawn(marks=[a_mark(kind)], lane=True)))
    assert len(shapes) == 4


def test_what_a_mark_says_is_escaped() -> None:
    hostile = '"><script>alert(1)</script>'
    markup = drawn(a_trace((10, 1.0)), marks=[a_mark(title=hostile, why=(hostile,))], lane=True)
    assert "<script" not in markup
    assert "&lt;script" in markup


def test_a_size_is_drawn_only_where_it_changes() -> None:
    rows = [(second / 10, 5.0) for second in range(1001)]
    (small,) = paths(CHARTS("sparkline", sparkline(a_trace(*rows, stepped=True), a_trace(), at(0), at(100), 1.0)))
    assert small == "M0 13.04H1000"


def test_a_small_chart_of_nothing_is_empty() -> None:
    small = sparkline(a_trace(), a_trace((10, None)), at(0), at(100), 25.0)
    assert "<path" not in CHARTS("sparkline", small)


@given(st.floats(1e-9, 1e12))
def test_the_top_of_an_axis_is_never_below_the_highest_value_nor_far_above(highest: float) -> None:
    assert highest * (1 - 1e-8) <= nice_top(highest) <= 2 * highest
