"""Which settings are worth choosing."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.tuning.outcomes import Goal, Outcome, as_today, frontier, proposals
from handler.tuning.parameters import Candidate

DAY = 86400.0
TODAY: Candidate = (80.0,)


def outcome(hours: float, over: float, changes: int) -> Outcome:
    return Outcome(hours=hours, over=over, changes=changes, reversals=0)


def chosen(outcomes: dict[Candidate, Outcome], goal: Goal | None = None) -> dict[str, float]:
    goal = goal or as_today(outcomes[TODAY], DAY)
    return {each.word: each.candidate[0] for each in proposals(outcomes, TODAY, goal, DAY)}


def test_a_setting_that_another_beats_is_not_on_the_frontier() -> None:
    outcomes = {
        (50.0,): outcome(11.0, 3.0, 8),
        (80.0,): outcome(8.25, 3.5, 6),
        (85.0,): outcome(8.5, 3.5, 6),
        (90.0,): outcome(7.9, 6.5, 4),
        (95.0,): outcome(7.9, 6.5, 4),
    }

    assert frontier(outcomes) == ((90.0,), (80.0,), (50.0,))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=20))
def test_whatever_is_not_on_the_frontier_is_beaten_by_something_that_is(costs: list[tuple[int, int, int]]) -> None:
    outcomes = {(float(number),): outcome(*each) for number, each in enumerate(costs)}
    best = [outcomes[each].costs for each in frontier(outcomes)]

    assert len(set(best)) == len(best)
    for each in outcomes.values():
        assert any(all(one <= other for one, other in zip(one_of, each.costs, strict=True)) for one_of in best)
    for one, other in itertools.permutations(best, 2):
        assert any(left < right for left, right in zip(one, other, strict=True))


CASES = {
    "each word is another setting": (
        {(80.0,): (10, 5, 10), (85.0,): (8, 5, 9), (75.0,): (9, 4, 2), (70.0,): (10, 1, 12)},
        None,
        {"lean": 85.0, "calm": 75.0, "safe": 70.0},
    ),
    "one setting may be all of them": (
        {(80.0,): (10, 5, 10), (85.0,): (8, 1, 2)},
        None,
        {"lean, calm, safe": 85.0},
    ),
    "a goal lets lean miss more than today": (
        {(80.0,): (10, 5, 10), (90.0,): (6, 20, 12)},
        Goal(over=20.0),
        {"lean": 90.0, "calm, safe": 80.0},
    ),
    "a goal may ask for fewer changes": (
        {(80.0,): (10, 5, 10), (85.0,): (9, 5, 8), (75.0,): (11, 5, 4)},
        Goal(over=5.0, changes=4.0),
        {"lean": 75.0, "safe": 85.0},
    ),
    "a goal that nothing keeps leaves the safe one": (
        {(80.0,): (10, 5, 10), (85.0,): (8, 6, 8)},
        Goal(over=1.0),
        {"safe": 80.0},
    ),
    "among equals the nearest to today's": (
        {(80.0,): (10, 5, 10), (60.0,): (8, 5, 8), (70.0,): (8, 5, 8), (95.0,): (8, 5, 8)},
        None,
        {"lean, calm, safe": 70.0},
    ),
}


@pytest.mark.parametrize(("figures", "goal", "expected"), CASES.values(), ids=CASES)
def test_three_settings_are_chosen(
    figures: dict[Candidate, tuple[int, int, int]], goal: Goal | None, expected: dict[str, float]
) -> None:
    assert chosen({candidate: outcome(*each) for candidate, each in figures.items()}, goal) == expected


def test_a_goal_counts_for_the_time_that_was_replayed() -> None:
    goal = Goal(over=5.0, changes=4.0)

    assert goal.kept(outcome(1, 10.0, 8), 2 * DAY)
    assert not goal.kept(outcome(1, 10.1, 8), 2 * DAY)
    assert not goal.kept(outcome(1, 10.0, 9), 2 * DAY)
