from __future__ import annotations

import re
from dataclasses import replace

import pytest

from config.model.catalogue import Mode
from handler.planning.status import GroupCondition, MemberState
from handler.runtime.series import KEPT
from handler.web.pages.figures import ABSENT
from handler.web.pages.overview import begin_of, overview, parts_of, row, summary
from tests.support.pages import NOW, a_glance, a_member, a_picture, a_status
from trigger.reasons import Reason


def figures(markup: str) -> list[str]:
    return re.findall(r"<b>([^<]*)</b>", markup)


def test_before_anybody_has_looked_the_numbers_are_dashes() -> None:
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
    assert "<path" in row(a_glance(picture=a_picture([(90, 3, 3)])))


@pytest.mark.parametrize("condition", list(GroupCondition), ids=lambda condition: condition.value)
def test_a_condition_is_a_word_and_a_shape_before_it_is_a_colour(condition: GroupCondition) -> None:
    markup = row(a_glance(a_status(condition=condition)))
    assert re.search(rf'<span aria-hidden="true">[^<]+</span> {condition.value}<', markup)


def test_names_and_messages_cannot_inject() -> None:
    hostile = '"><img src=x onerror=alert(1)>'
    markup = overview([a_glance(a_status(group=hostile, messages=(hostile,)))])
    assert "<img" not in markup
    assert "/groups/%22%3E%3Cimg" in markup


def test_an_event_names_the_rows_as_the_page_does() -> None:
    glances = [a_glance(a_status(group=group)) for group in ("db", "web")]
    page = overview(glances)
    for name, markup in parts_of(glances).items():
        assert f'data-part="{name}"' in page
        assert markup in page


def test_those_in_trouble_are_named_worst_first() -> None:
    statuses = [
        a_status(group="fine"),
        a_status(group="unsure", condition=GroupCondition.WARNING),
        a_status(group="broken", condition=GroupCondition.ERROR),
    ]
    markup = summary(statuses)
    assert "3 groups, 2 in trouble" in markup
    assert re.findall(r">(fine|unsure|broken)<", markup) == ["broken", "unsure"]


def test_groups_in_trouble_stand_first_and_the_others_stay_where_they_are_while_they_scale() -> None:
    conditions = {
        "a": GroupCondition.RUNNING,
        "b": GroupCondition.PAUSED,
        "c": GroupCondition.SCALING,
        "d": GroupCondition.WARNING,
        "e": GroupCondition.ERROR,
    }
    page = overview([a_glance(a_status(group=group, condition=told)) for group, told in conditions.items()])
    assert re.findall(r'data-part="row:(\w)"', page) == ["e", "d", "b", "a", "c"]


def test_a_group_whose_size_is_not_changed_says_so() -> None:
    said = {mode: row(a_glance(replace(a_status(), mode=mode))) for mode in Mode}
    assert "advises only" in said[Mode.ADVISE]
    assert "mode off" in said[Mode.OFF]
    assert 'class="mode"' not in said[Mode.ACT]


def test_no_groups_are_said_to_be_none() -> None:
    assert "No groups are declared" in overview([])


def test_a_chart_begins_half_an_hour_ago_or_a_little_before_the_first_row() -> None:
    assert begin_of(a_picture(), NOW) == NOW - 120
    assert begin_of(a_picture([(-600, 3, 3)]), NOW) == NOW - 700
    assert begin_of(a_picture([(-9000, 3, 3), (90, 3, 3)]), NOW) == NOW - KEPT
