from __future__ import annotations

import re

import pytest

from collector.sources.prometheus.questions import Query, for_group, form_of, with_stamps
from config.document.scalars import GroupName
from config.model.access import PrometheusServer
from config.units import GroupId, SourceId

SERVER = PrometheusServer(id=SourceId("prom"), url="http://127.0.0.1:9090")


def a_question(text: str = "up", *, lag: float = 0.0, over: float | None = None) -> Query:
    return Query(server=SERVER, text=text, lag=lag, over=over)


@pytest.mark.parametrize(
    "query",
    ["up", " up\n", "a:b_c1", 'up{}', 'up{job="a}b"}', "up{job='it\\'s'}", "up { job=~`a\"{`, x!=\"\\\"\" }"],
)  # fmt: skip
def test_a_query_that_is_just_a_series_asks_for_the_time_of_its_samples(query: str) -> None:
    assert f"timestamp(({query}))" in with_stamps(query)


@pytest.mark.parametrize(
    "query",
    ["sum(up)", "up + 1", "up[5m]", "up offset 5m", "inf", "NaN", "42", '"up"', "{job=\"a\"}", "up # or down",
     'up{job="a"} or up', 'up{job="a"', "-up", "up{job=\"a\"}[5m:1m]", ""],
)  # fmt: skip
def test_any_other_query_is_asked_as_it_is(query: str) -> None:
    assert with_stamps(query) == query


def test_a_groups_name_stands_where_it_is_asked_for() -> None:
    query = 'x{a="$group", b=~"$group-.*", c="$groups"}'

    assert for_group(query, GroupId("web-1")) == 'x{a="web-1", b=~"web-1-.*", c="$groups"}'


def test_a_groups_name_means_itself_in_strings_expressions_and_addresses() -> None:
    pattern = next(str(part.json_schema["pattern"]) for part in GroupName.__metadata__ if hasattr(part, "json_schema"))

    allowed = [chr(code) for code in range(0x3000) if re.fullmatch(pattern, "a" + chr(code))]
    assert set(allowed) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_an_instant_query_leaves_the_time_to_the_server() -> None:
    assert form_of(a_question("sum(up)"), None) == ("query", {"query": "sum(up)"})


def test_a_query_with_lag_is_of_the_servers_past() -> None:
    kind, form = form_of(a_question("sum(up)", lag=60.0), 1000.0)

    assert (kind, form["time"]) == ("query", "940.000")


@pytest.mark.parametrize(
    ("over", "start", "step"),
    [(60.0, "941.000", "1"), (3600.0, "-2540.000", "60"), (0.5, "1000.000", "1"), (90.0, "911.500", "1.5")],
)
def test_a_query_over_time_has_at_most_sixty_points(over: float, start: str, step: str) -> None:
    kind, form = form_of(a_question("sum(up)", over=over), 1000.0)

    assert (kind, form["start"], form["end"], form["step"]) == ("query_range", start, "1000.000", step)


@pytest.mark.parametrize(
    ("question", "needed"),
    [
        (a_question("up"), False),
        (a_question("up", lag=1.0), True),
        (a_question("up", over=60.0), True),
        (a_question("up[5m] "), True),
    ],
)
def test_the_servers_time_is_asked_where_it_matters(question: Query, needed: bool) -> None:
    assert question.needs_time is needed
