from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from grafana.build.queries import STATES
from handler.planning.status import BY_SEVERITY
from handler.web.pages import routes
from tests.support.grafana import DASHBOARDS, panels

_SHOWN = [
    pytest.param(panel, id=f"{name}: {panel['title']}")
    for name, dashboard in DASHBOARDS.items()
    for panel in panels(dashboard)
]
_every_dashboard = pytest.mark.parametrize("dashboard", DASHBOARDS.values(), ids=DASHBOARDS)
_every_panel = pytest.mark.parametrize("panel", _SHOWN)


def _inside(part: Any) -> list[Any]:
    """A JSON value and all that it holds."""
    held = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return [part, *(deep for one in held for deep in _inside(one))]


@_every_dashboard
def test_grafanas_own_model_reads_it_and_loses_nothing(dashboard: dict[str, Any]) -> None:
    marks = dashboard["annotations"].get("list", ())
    known = {**dashboard, "annotations": {"list": [_plain(mark) for mark in marks]} if marks else {}}

    read = json.loads(json.dumps(Dashboard.from_json(known), cls=JSONEncoder))

    assert read == known


def _plain(mark: dict[str, Any]) -> dict[str, Any]:
    """An annotation without the keys that Prometheus's plug-in adds and the model does not know."""
    return {key: value for key, value in mark.items() if key not in {"step", "textFormat", "titleFormat"}}


@_every_dashboard
def test_it_uses_the_datasource_that_the_reader_chose(dashboard: dict[str, Any]) -> None:
    sources = [part["datasource"] for part in _inside(dashboard) if isinstance(part, dict) and "datasource" in part]

    assert sources
    assert all(source == {"type": "prometheus", "uid": "${datasource}"} for source in sources)
    assert [variable["name"] for variable in dashboard["templating"]["list"]][:2] == ["datasource", "instance"]


@_every_dashboard
def test_no_two_panels_share_a_place_or_a_number(dashboard: dict[str, Any]) -> None:
    shown = dashboard["panels"]

    assert [panel["id"] for panel in shown] == list(range(1, len(shown) + 1))
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in shown)
    for one, other in combinations(shown, 2):
        assert not _overlap(one["gridPos"], other["gridPos"]), (one["title"], other["title"])


def _overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    across = one["x"] < other["x"] + other["w"] and other["x"] < one["x"] + one["w"]
    return across and one["y"] < other["y"] + other["h"] and other["y"] < one["y"] + one["h"]


@_every_dashboard
def test_it_leads_to_the_others_and_takes_the_choices_along(dashboard: dict[str, Any]) -> None:
    link, _ = dashboard["links"]

    assert link["type"] == "dashboards"
    assert set(link["tags"]) <= set(dashboard["tags"])
    assert link["includeVars"]
    assert link["keepTime"]


@_every_dashboard
def test_it_leads_to_the_console_where_the_reader_says_that_it_is(dashboard: dict[str, Any]) -> None:
    variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
    _, link = dashboard["links"]
    path = "/groups/${group}" if "group" in variables and not variables["group"].get("multi") else "/"

    assert (variables["console"]["type"], variables["console"]["query"]) == ("textbox", "http://127.0.0.1:8460")
    assert (link["type"], link["url"]) == ("link", "${console:raw}" + path)


def test_every_link_to_the_console_leads_to_a_page_that_is_there() -> None:
    pages = set(re.findall(r'@routes\.get\(\s*"([^"]+)"', Path(routes.__file__).read_text()))
    paths = set(re.findall(r'"\$\{console:raw\}([^"]*)"', json.dumps(list(DASHBOARDS.values()))))

    assert {re.sub(r"\$\{[^}]+\}", "{group}", path) for path in paths} == {"/", "/groups/{group}"}
    assert {"/", "/groups/{group}"} <= pages
    assert len(paths) == 4, "all groups; the group of a dashboard, of a row and of a series"


def test_a_series_and_a_row_of_a_group_lead_to_the_dashboard_and_to_the_console() -> None:
    linked = [part["links"] for part in _inside(DASHBOARDS["fleet"]["panels"]) if _is_linked(part)]
    rows = [part["value"] for part in _inside(DASHBOARDS["fleet"]["panels"]) if _has(part, "id", "links")]

    assert [[link["title"] for link in links] for links in (*linked, *rows)] == [
        ["Open the group", "Open the group in the console"]
    ] * 2


def _is_linked(part: Any) -> bool:
    return isinstance(part, dict) and bool(part.get("links"))


def _has(part: Any, key: str, value: str) -> bool:
    return isinstance(part, dict) and part.get(key) == value


@_every_panel
def test_words_that_do_not_apply_are_not_drawn(panel: dict[str, Any]) -> None:
    words = r"\{\{(reason|wait|reply|result|ground)\}\}"
    for target in panel["targets"]:
        if re.search(words, target.get("legendFormat", "")):
            assert re.search(r"(> 0|== 1)$", target["expr"]), target["expr"]


@_every_panel
def test_a_size_of_zero_is_drawn(panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        if re.search(r"trimtab_(group_(desired|min|max|recommended|creates_left)|drift_members)\b", target["expr"]):
            assert not target["expr"].endswith("> 0")


@_every_panel
def test_a_panel_that_leaves_out_zeros_says_so_when_it_is_empty(panel: dict[str, Any]) -> None:
    hides = any(target["expr"].endswith("> 0") for target in panel["targets"])

    assert not hides or panel["fieldConfig"]["defaults"]["noValue"] == "None in the time shown"


def test_links_to_a_dashboard_lead_to_one_that_is_there() -> None:
    known = {dashboard["uid"] for dashboard in DASHBOARDS.values()}
    targets = set(re.findall(r'"/d/([a-z-]+)', json.dumps(list(DASHBOARDS.values()))))

    assert targets == {"trimtab-group"}
    assert targets <= known
    assert len(known) == len(DASHBOARDS)


@_every_panel
def test_a_panel_says_what_it_answers(panel: dict[str, Any]) -> None:
    assert panel["description"].endswith(".")
    assert panel["title"]


@_every_panel
def test_a_number_has_a_unit(panel: dict[str, Any]) -> None:
    if panel["type"] in {"timeseries", "stat"}:
        assert panel["fieldConfig"]["defaults"]["unit"] in {
            "short", "s", "percentunit", "ops", "bytes", "dateTimeFromNow",
        }  # fmt: skip


@_every_panel
def test_seconds_are_shown_as_seconds_and_bytes_as_bytes(panel: dict[str, Any]) -> None:
    unit = panel["fieldConfig"]["defaults"].get("unit")
    for target in panel["targets"]:
        names = re.findall(r"\b(?:trimtab|process|scrape)_\w+", target["expr"])
        plain = not re.search(r"count\(|/ on|_count|timestamp|start_time|cpu_seconds|1 -", target["expr"])
        if plain and names and all(name.endswith(("_seconds", "_seconds_bucket", "_remaining")) for name in names):
            assert unit == "s", target["expr"]
        if any(name.endswith("_bytes") for name in names):
            assert unit == "bytes"


@_every_panel
def test_every_query_looks_at_the_chosen_daemons(panel: dict[str, Any]) -> None:
    assert all('instance=~"$instance"' in target["expr"] for target in panel["targets"])
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


def test_every_condition_of_a_group_has_a_word_and_a_colour_worst_highest() -> None:
    assert [word for _, (word, _) in sorted(STATES.items(), reverse=True)] == [c.value for c in BY_SEVERITY]
    assert all(colour for _, colour in STATES.values())
