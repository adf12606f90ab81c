from __future__ import annotations

from dataclasses import replace

import pytest

from handler.planning.status import GroupCondition, GroupOutline, MemberState
from handler.web.pages.choosing import FleetFilter, Sort, order
from tests.support.pages import a_status, an_outline


def outline(
    group: str, condition: GroupCondition = GroupCondition.RUNNING, desired: int | None = 3, in_service: int = 3
) -> GroupOutline:
    counts = {MemberState.IN_SERVICE: in_service}
    return replace(an_outline(a_status(group=group, condition=condition, desired=desired)), counts=counts)


@pytest.mark.parametrize(
    ("words", "fits"),
    [("", True), ("web", True), ("WEB shop", True), ("web quota", True), ("web db", False)],
)
def test_every_word_is_in_the_name_or_the_message(words: str, fits: bool) -> None:
    assert FleetFilter(words=words).shows(outline("shop-web"), "the quota is used up") is fits


@pytest.mark.parametrize("condition", list(GroupCondition), ids=lambda condition: condition.value)
def test_a_state_chooses_its_groups_and_trouble_those_that_need_a_person(condition: GroupCondition) -> None:
    one = outline("web", condition)
    assert FleetFilter(state=condition.value).shows(one, "")
    assert FleetFilter(state="trouble").shows(one, "") is (condition.value in {"error", "warning", "orphaned"})
    other = GroupCondition.PAUSED if condition is GroupCondition.RUNNING else GroupCondition.RUNNING
    assert not FleetFilter(state=other.value).shows(one, "")


def test_groups_in_trouble_stand_first_and_the_others_stay_where_they_are_while_they_scale() -> None:
    conditions = {
        "a": GroupCondition.RUNNING,
        "b": GroupCondition.PAUSED,
        "c": GroupCondition.SCALING,
        "d": GroupCondition.WARNING,
        "e": GroupCondition.ERROR,
    }
    groups = [outline(group, condition) for group, condition in conditions.items()]
    assert order(groups, Sort.WORST) == ("e", "d", "b", "a", "c")
    assert order(groups, Sort.NAME) == ("a", "b", "c", "d", "e")


def test_the_largest_groups_or_those_that_miss_the_most_members_stand_first() -> None:
    groups = [outline("a", in_service=2), outline("b", desired=9, in_service=9), outline("c", desired=None)]
    unlisted = replace(outline("d"), counts=None)
    assert order([*groups, unlisted], Sort.SIZE) == ("b", "c", "a", "d")
    assert order([*groups, unlisted], Sort.MISSING) == ("a", "b", "c", "d")
