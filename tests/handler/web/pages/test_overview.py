from __future__ import annotations

import re
from dataclasses import replace

import pytest

from config.model.catalogue import Mode
from handler.planning.status import GroupCondition, MemberState
from handler.runtime.series import KEPT, begin_of
from handler.web.pages.choosing import FleetFilter
from handler.web.pages.figures import ABSENT
from handler.web.pages.overview import first_page, row, summary_of
from tests.support.pages import NOW, a_glance, a_member, a_series, a_status, an_outline
from tests.support.store import at
from trigger.reasons import Reason


def figures(markup: str) -> list[str]:
    return re.findall(r"<b>([^<]*)</b>", markup)


def test_before_the_first_pass_the_numbers_are_dashes() -> None:
    assert figures(row(a_glance(a_status(desired=None, listed=None)))) == [ABSENT, ABSENT, "2–10"]


def test_a_group_without_members_has_none_in_service() -> None:
    assert figures(row(a_glance(a_status(desired=0)))) == ["0", "0", "2–10"]


def test_those_that_come_and_go_are_counted_beside_those_in_service() -> None:
    states = (MemberState.IN_SERVICE, MemberState.BUILDING, MemberState.JOINING, MemberState.DRAINING)
    markup = row(a_glance(a_status(*(a_member(f"m-{state.value}", state) for state in states))))
    assert figures(markup)[0] == "1"
    assert "+2 −1" in markup


def test_a_message_says_why_and_else_the_reason_does() -> None:
    assert "the cloud is down" in row(a_glance(a_status(messages=("the cloud is down",))))
    assert "a quiet time runs" in row(a_glance(a_status(reason=Reason.QUIET)))


def test_nothing_recorded_is_a_dash_and_no_line() -> None:
    assert f'class="lately">{ABSENT}<' in row(a_glance())
    assert "<path" in row(a_glance(series=a_series([(90, 3, 3)])))


@pytest.mark.parametrize("condition", list(GroupCondition), ids=lambda condition: condition.value)
def test_a_condition_is_a_word_and_a_shape_before_it_is_a_colour(condition: GroupCondition) -> None:
    markup = row(a_glance(a_status(condition=condition)))
    assert re.search(rf'<span aria-hidden="true">[^<]+</span> {condition.value}<', markup)


def test_names_and_messages_cannot_inject() -> None:
    hostile = '"><img src=x onerror=alert(1)>'
    glance = a_glance(a_status(group=hostile, condition=GroupCondition.ERROR, messages=(hostile,)))
    page = first_page([glance.outline], [(row(glance), True)], FleetFilter(words=hostile))
    assert "<img" not in page
    assert "/groups/%22%3E%3Cimg" in page


def test_the_summary_counts_groups_by_state_with_the_worst_first() -> None:
    conditions = (GroupCondition.RUNNING, GroupCondition.WARNING, GroupCondition.RUNNING, GroupCondition.ERROR)
    summary = summary_of([an_outline(a_status(condition=condition)) for condition in conditions])
    assert summary.count == "4 groups, 2 in trouble"
    assert [(each.badge.word, each.count) for each in summary.tallies] == [
        ("error", "1"),
        ("warning", "1"),
        ("running", "2"),
    ]


def test_a_line_that_the_choice_leaves_out_is_in_the_page_and_not_shown() -> None:
    glances = [a_glance(a_status(group=group)) for group in ("db", "web")]
    page = first_page(
        [each.outline for each in glances],
        [(row(each), each.outline.group == "web") for each in glances],
        FleetFilter(),
    )
    assert re.findall(r'<li( hidden)? class="row" data-name="(\w+)"', page) == [(" hidden", "db"), ("", "web")]
    assert "1 of 2 shown" in page


def test_a_group_whose_size_is_not_changed_says_so() -> None:
    rows = {mode: row(a_glance(replace(a_status(), mode=mode))) for mode in Mode}
    assert "advises only" in rows[Mode.ADVISE]
    assert "mode off" in rows[Mode.OFF]
    assert 'class="mode"' not in rows[Mode.ACT]


def test_a_fleet_without_groups_says_so() -> None:
    assert "No groups are declared" in first_page([], [], FleetFilter())
    assert "No group fits" in first_page([an_outline()], [(row(a_glance()), False)], FleetFilter(words="x"))


def test_a_chart_begins_half_an_hour_ago_or_a_little_before_the_first_row() -> None:
    assert begin_of(None, NOW) == NOW - 120
    assert begin_of(at(-600), NOW) == NOW - 700
    assert begin_of(at(-9000), NOW) == NOW - KEPT
