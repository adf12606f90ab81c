from __future__ import annotations

from handler.planning.status import GroupCondition, GroupOutline
from handler.web.pages.messages import shared
from tests.support.pages import a_status, an_outline

ERROR, WARNING = GroupCondition.ERROR, GroupCondition.WARNING


def trouble(group: str, message: str, condition: GroupCondition = WARNING) -> GroupOutline:
    return an_outline(a_status(group=group, condition=condition, messages=(message,)))


def test_what_many_groups_say_is_reported_once_whatever_their_names_and_numbers() -> None:
    (messages,) = shared([trouble(f"web{n}", f"web{n}: 0 of {n} members at 10:0{n}:00") for n in range(3)]).shown
    assert messages.text == "web0: 0 of 0 members at 10:00:00"
    assert messages.count == "3 groups"
    assert [each.name for each in messages.groups] == ["web0", "web1", "web2"]


def test_a_name_within_another_word_is_not_taken_for_the_group() -> None:
    assert len(shared([trouble("a", "a cat"), trouble("b", "b cbt")]).shown) == 2


def test_the_worst_message_comes_first_and_then_the_one_of_the_most_groups() -> None:
    messages = shared(
        [
            trouble("a", "no quota"),
            trouble("b", "the cloud is slow"),
            trouble("c", "the cloud is slow"),
            trouble("d", "the cloud is down", ERROR),
        ]
    )
    assert [(each.text, each.count) for each in messages.shown] == [
        ("the cloud is down", ""),
        ("the cloud is slow", "2 groups"),
        ("no quota", ""),
    ]


def test_groups_that_need_no_person_have_no_message() -> None:
    assert shared([an_outline(a_status(condition=GroupCondition.RUNNING, messages=("never mind",)))]).shown == ()


def test_a_thousand_groups_are_counted_and_only_some_of_them_named() -> None:
    (messages,) = shared([trouble(f"g{n:03}", "the cloud is down") for n in range(1000)]).shown
    assert (messages.count, len(messages.groups), messages.more) == ("1,000 groups", 40, 960)


def test_of_very_different_messages_only_the_worst_are_shown() -> None:
    messages = shared([trouble(f"g{n}", f"no {'x' * n}") for n in range(20)])
    assert (len(messages.shown), messages.more) == (12, 8)
