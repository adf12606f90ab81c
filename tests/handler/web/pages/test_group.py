from __future__ import annotations

import json
import re
from dataclasses import replace

from config.units import PolicyId
from handler.planning.status import GroupCondition, MemberState
from handler.runtime.series import SeriesRecorder
from handler.web.pages.curves import cards_of
from handler.web.pages.figures import ABSENT
from handler.web.pages.group import group_page, parts_of
from tests.support.pages import NOW, a_mark, a_member, a_picture, a_series, a_status, some_facts
from tests.support.store import a_quiet, an_explanation, at
from tests.trigger.explain.test_forecast_words import FORESEEN

ROWS = [(70.0, 3, 3), (80.0, 5, 3), (90.0, 5, 5)]
VALUES = [(70.0, 50.0), (80.0, None), (90.0, 90.0)]


def text(markup: str) -> str:
    """Without tags, drawings and what is for scripts."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", re.sub(r"<svg.*?</svg>", " ", markup)))


def test_an_event_has_the_parts_of_the_page() -> None:
    facts = some_facts(picture=a_picture(ROWS, VALUES), explanation=an_explanation(NOW))
    page = group_page(facts)
    assert set(re.findall(r'data-part="([^"]+)"', page)) == parts_of(facts).keys()
    assert all(part in page for part in parts_of(facts).values())


def test_before_the_first_tick_no_figure_is_a_number() -> None:
    page = group_page(some_facts(a_status(desired=None, listed=None)))
    assert re.findall(r"<dd><b>([^<]*)</b>", page) == [ABSENT, ABSENT]
    for words in (
        "Nothing was recorded in this time",
        "No condition was judged in this time",
        "Nothing has been evaluated yet",
        "Nothing has been decided yet",
        "The members have not been listed yet",
    ):
        assert words in page
    assert "<path" not in page


def test_after_a_start_the_chart_says_since_when_it_is_recorded() -> None:
    assert "Nothing is known of before 2023-11-14 22:14 UTC" in parts_of(some_facts(picture=a_picture(ROWS)))["sizes"]
    old = a_picture([(-9000.0, 3, 3), *ROWS])
    assert "Nothing is known of" not in parts_of(some_facts(picture=old))["sizes"]


def test_a_condition_is_shown_against_its_threshold_with_its_verdict() -> None:
    facts = some_facts(picture=a_picture(values=VALUES), explanation=an_explanation(NOW, values=(90.0,)))
    card = parts_of(facts)["conditions"]
    assert "cpu, avg across members, avg of 1m, above 80 %" in text(card)
    assert "90 %" in text(card)
    assert "for out: does not hold" in text(card)
    assert ">above 80 %</text>" in card


def test_a_condition_on_one_value_for_the_whole_group_goes_across_no_members() -> None:
    policy = an_explanation(NOW, values=(90.0,)).policies[0]
    judged = tuple(replace(condition, per_group=True) for condition in policy.conditions)
    whole = replace(an_explanation(NOW), policies=(replace(policy, conditions=judged),))
    series = SeriesRecorder(10.0)
    series.judged(whole)
    card = parts_of(some_facts(picture=series.picture(NOW), explanation=whole))["conditions"]
    assert "cpu, avg of 1m, above 80 %" in text(card)


def test_a_condition_that_cannot_be_judged_has_no_value_and_is_unknown() -> None:
    facts = some_facts(picture=a_picture(values=[(90.0, None)]), explanation=an_explanation(NOW, values=(None,)))
    card = parts_of(facts)["conditions"]
    assert f"<b>{ABSENT}</b>" in card
    assert "for out: unknown" in text(card)


def test_a_quiet_time_says_what_waits_and_counts_down() -> None:
    head = parts_of(some_facts(a_status(quiets=(a_quiet(at(160)),))))["head"]
    assert "1 min" in text(head)
    assert f'data-until="{at(160):.3f}"' in head
    assert "no policy scales, since out scaled out" in text(head)


def test_decisions_show_their_reasons_and_each_kind_has_a_shape() -> None:
    marks = (a_mark("refused", "a quiet time runs", when=60), a_mark("in", "scaled in 3 → 2", ("idle = 3 %",), when=50))
    listed = parts_of(some_facts(marks=marks))["decisions"]
    assert "✕ a quiet time runs" in text(listed)
    assert "▼ scaled in 3 → 2 idle = 3 %" in text(listed)
    assert 'id="e50"' in listed


def test_marks_of_before_the_chart_are_in_the_list_only() -> None:
    parts = parts_of(some_facts(picture=a_picture(ROWS), marks=(a_mark(when=-500), a_mark(when=80))))
    assert "#e80" in parts["sizes"]
    assert "#e-500" not in parts["sizes"]
    assert 'id="e-500"' in parts["decisions"]


def test_members_show_state_age_and_notes() -> None:
    members = (
        a_member(protected=True, warming=True),
        a_member("web-k3f9ab-2", MemberState.UNKNOWN, address=None, unheard_since=at(0)),
    )
    listed = text(parts_of(some_facts(a_status(*members)))["members"])
    assert "web-k3f9ab-1 ● in service 1 min 30 s 1 min 40 s 127.1.0.1 running protected, warming up" in listed
    assert f"web-k3f9ab-2 ? unknown 1 min 30 s 1 min 40 s {ABSENT} running no answer since 22:13:20" in listed


def test_messages_are_at_the_top() -> None:
    status = a_status(condition=GroupCondition.ERROR, messages=("quota is used up", "one host is silent"))
    assert "quota is used up one host is silent" in text(parts_of(some_facts(status))["head"])


def test_nothing_on_the_page_can_inject() -> None:
    hostile = '"><img src=x onerror=alert(1)><script>alert(1)</script>'
    status = a_status(a_member(hostile, address=hostile), group=hostile, messages=(hostile,))
    facts = some_facts(
        status,
        picture=a_picture(ROWS, VALUES),
        marks=(a_mark(title=hostile, why=(hostile,), when=80),),
        explanation=an_explanation(NOW, group=hostile),
    )
    page = group_page(facts)
    assert "<img" not in page
    assert "<script" not in page
    assert "style=" not in page  # the content policy would refuse it
    assert not re.search(r'<\w[^>"]*("[^"]*"[^>"]*)* on\w+=', page)


def test_a_maximum_that_is_far_away_does_not_press_the_sizes_flat() -> None:
    near = parts_of(some_facts(picture=a_picture([(90.0, 6, 6)])))["sizes"]
    far = parts_of(some_facts(picture=a_picture([(90.0, 3, 3)])))["sizes"]
    assert ">max 10</text>" in near
    assert ">max 10</text>" not in far
    assert "2–10" in parts_of(some_facts())["head"]


def test_a_forecast_is_drawn_at_the_time_that_it_was_for() -> None:
    series = a_series([(0, 3, 3)])
    for second, load, coming in ((0, 10.0, 12.0), (10, 10.5, 13.0), (20, 11.0, 14.0), (30, 12.2, 15.0)):
        said = replace(FORESEEN, within=20.0, load=load, coming=coming, at_most=coming + 1.0)
        series.foresaw(at(second), {PolicyId("ahead"): said})

    card = next(cards_of(some_facts(picture=series.picture(NOW))))

    assert (card.condition, card.value) == ("ahead", "12.2 members")
    assert card.chart is not None
    columns = {column["label"]: column["values"] for column in json.loads(card.chart.numbers)["columns"]}
    known = {label: [value for value in values if value is not None] for label, values in columns.items()}
    assert known == {"greatest": [13.0, 14.0], "least": [12.0, 13.0], "load": [10.0, 10.5, 11.0, 12.2]}
    assert columns["least"][-2:] != [14.0, 15.0]  # those are for later
