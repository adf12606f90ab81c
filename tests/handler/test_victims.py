"""Who leaves: the least useful first, by identity, never a protected one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model import Victims
from handler.roles import Role
from handler.victims import choose
from handler.world import Phase
from tests.support.worlds import a_member, name_of

SERVING = [(a_member(number), Role.SERVING) for number in (1, 2, 3)]


@pytest.mark.parametrize(
    ("candidates", "count", "order", "expected"),
    [
        pytest.param(SERVING, 0, Victims.OLDEST, [], id="none asked"),
        pytest.param(SERVING, 2, Victims.OLDEST, [1, 2], id="oldest first (Otter)"),
        pytest.param(SERVING, 2, Victims.NEWEST, [3, 2], id="newest first"),
        pytest.param(
            [*SERVING, (a_member(9, Phase.MADE), Role.ARRIVING)], 1, Victims.OLDEST, [9], id="not in service before any"
        ),
        pytest.param(
            [*SERVING, (a_member(8, Phase.MADE), Role.ARRIVING), (a_member(9, Phase.MADE), Role.BUILDING)],
            1,
            Victims.OLDEST,
            [9],
            id="building before joining",
        ),
        pytest.param(
            [*SERVING, (a_member(8, Phase.MADE), Role.BUILDING), (a_member(9), Role.BROKEN)],
            2,
            Victims.OLDEST,
            [9, 8],
            id="broken before building (DESIGN: who leaves)",
        ),
        pytest.param(
            [(a_member(1, Phase.MADE), Role.BUILDING), (a_member(2, Phase.INTENDED, None), Role.INTENDED)],
            1,
            Victims.OLDEST,
            [2],
            id="an open intent before a machine",
        ),
        pytest.param(
            [*SERVING, (a_member(9, state=None), Role.ABSENT)], 1, Victims.OLDEST, [9], id="absent before any"
        ),
        pytest.param([*SERVING, (a_member(4), Role.UNSURE)], 1, Victims.OLDEST, [1], id="unsure is as good as serving"),
        pytest.param(
            [*SERVING, (a_member(4, Phase.MADE), Role.UNSURE)], 1, Victims.OLDEST, [4], id="unsure and never served"
        ),
        pytest.param(
            [(a_member(1, protected=True), Role.SERVING), *SERVING[1:]], 3, Victims.OLDEST, [2, 3], id="never protected"
        ),
        pytest.param([(a_member(1, None), Role.ARRIVING)], 1, Victims.OLDEST, [], id="never one that is not known"),
    ],
)
def test_the_least_useful_leave_first(candidates, count: int, order: Victims, expected: list[int]) -> None:
    assert [member.name for member in choose(candidates, count, order)] == [name_of(number) for number in expected]


@given(st.permutations(list(range(1, 8))), st.integers(0, 9))
def test_the_choice_does_not_depend_on_the_order_of_the_candidates(numbers: list[int], count: int) -> None:
    shuffled = [(a_member(number), Role.SERVING) for number in numbers]
    assert [member.name for member in choose(shuffled, count, Victims.OLDEST)] == [
        name_of(number) for number in range(1, 8)
    ][:count]
