from __future__ import annotations

import pytest

from config.errors import DeclarationError
from tests.support.config import declared

_SMALL = ("groups:\n", "groups:\n  small: {profile: web, min: 1, max: 2, policies: [out]}\n")
"""A second group that asks for the same, of which there are fewer members."""


def messages_of(*changes: tuple[str, str]) -> list[str]:
    """What a change of the small declaration brings up."""
    try:
        declared(*changes)
    except DeclarationError as error:
        return [problem.message for problem in error.problems]
    return []


@pytest.mark.parametrize(
    "changes",
    [
        [("above: 80", "across: highest 8, above: 80")],
        [("above: 80", "window: 90s, aggregate: lowest 3, above: 80")],
        [("above: 80", "aggregate: highest 1, above: 80")],
        [("above: 80", "across: highest 3, above: 80"), _SMALL],
        [("above: 80", "window: 60s, aggregate: highest 6, above: 80"), ("max: 8", "max: 8, interval: 10s")],
        [
            ("above: 80", "window: 60s, aggregate: highest 3, above: 80"),
            ("add: 2", "add: 2, holds: average, duration: 2m"),
        ],
        [("above: 80", "across: highest 9, above: 80"), ("[out, in]", "[in]")],
    ],
    ids=[
        "as-many-as-max",
        "as-many-as-ticks",
        "the-first-of-one-tick",
        "enough-in-one-of-two-groups",
        "enough-in-short-intervals",
        "the-average-over-the-duration-is-asked-instead",
        "no-group-uses-it",
    ],
)
def test_ranks_that_can_be_reached(changes: list[tuple[str, str]]) -> None:
    assert messages_of(*changes) == []


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ([("above: 80", "across: highest 9, above: 80")], "highest 8"),
        ([("above: 80", "across: lowest 9, above: 80"), _SMALL], "lowest 8"),
        ([("above: 80", "window: 60s, aggregate: highest 3, above: 80")], "highest 2"),
        ([("above: 80", "aggregate: lowest 2, above: 80")], "lowest 1"),
    ],
    ids=["members", "members-of-the-largest-group", "ticks", "the-tick-of-a-condition-without-a-window"],
)
def test_a_rank_out_of_reach_is_refused_with_one_that_works(changes: list[tuple[str, str]], remedy: str) -> None:
    (message,) = messages_of(*changes)
    (written, _), *others = changes
    working = changes[0][1].replace(message.split(": ")[1].split(" needs")[0], remedy)
    assert remedy in message
    assert messages_of((written, working), *others) == []


@pytest.mark.parametrize(
    ("condition", "remedy"),
    [
        ("expression: 'cpu > 80', across: highest 9", "highest 8"),
        ("expression: 'cpu > 80', window: 60s, aggregate: lowest 3", "lowest 2"),
        ("expression: 'cpu > 80 && sessions.avg > 1', window: 60s, aggregate: highest 3", "highest 2"),
    ],
    ids=["members", "ticks", "ticks-of-one-term"],
)
def test_ranks_of_expressions_are_looked_at(condition: str, remedy: str) -> None:
    pushed = ("sessions: {haproxy: scur}", "sessions: {push: sessions}")
    (message,) = messages_of(pushed, ("counter: cpu, above: 80", condition))
    written = message.split(": ")[1].split(" needs")[0]
    assert remedy in message
    assert messages_of(pushed, ("counter: cpu, above: 80", condition.replace(written, remedy))) == []


def test_a_rank_of_an_expression_needs_a_counter_of_members() -> None:
    group = (
        ("counters:\n", "sources: {prom: {prometheus: {url: 'http://p:9090'}}}\ncounters:\n"),
        ("sessions: {haproxy: scur}", "sessions: {prometheus: 'depth', per: group}"),
    )
    (message,) = messages_of(*group, ("counter: cpu, above: 80", "expression: 'sessions > 80', across: highest 3"))
    assert "sessions has one value for the whole group, and no highest 3" in message
    mixed = "expression: 'sessions > 80 || cpu > 80', across: highest 3"
    assert messages_of(*group, ("counter: cpu, above: 80", mixed)) == []


def test_the_message_of_a_window_too_short_for_its_rank_names_the_least_window() -> None:
    (message,) = messages_of(("above: 80", "window: 60s, aggregate: highest 3, above: 80"))
    assert message.endswith("needs a window of 1m30s")
    assert messages_of(("above: 80", "window: 1m30s, aggregate: highest 3, above: 80")) == []


def test_a_rank_is_no_problem_while_a_group_that_might_have_enough_is_refused() -> None:
    assert [
        message.split(": ")[0]
        for message in messages_of(("above: 80", "across: highest 9, above: 80"), ("max: 8", "max: x"))
    ] == ["groups.web.max"]
