from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.checks.overlaps import true_for
from config.model.catalogue import Compare, Condition
from config.units import ConditionId, CounterId


def condition(compare: Compare, threshold: float) -> Condition:
    return Condition(id=ConditionId("c"), counter=CounterId("cpu"), compare=compare, threshold=threshold)


def holds(condition: Condition, value: float) -> bool:
    match condition.compare:
        case Compare.ABOVE:
            return value > condition.threshold
        case Compare.AT_LEAST:
            return value >= condition.threshold
        case Compare.BELOW:
            return value < condition.threshold
        case Compare.AT_MOST:
            return value <= condition.threshold
        case Compare.EQUALS:
            return value == condition.threshold


@pytest.mark.parametrize(
    ("first", "second", "meet"),
    [
        ((Compare.ABOVE, 80), (Compare.BELOW, 30), False),
        ((Compare.ABOVE, 30), (Compare.BELOW, 80), True),
        ((Compare.ABOVE, 50), (Compare.BELOW, 50), False),
        ((Compare.AT_LEAST, 50), (Compare.BELOW, 50), False),
        ((Compare.AT_LEAST, 50), (Compare.AT_MOST, 50), True),
        ((Compare.EQUALS, 0), (Compare.BELOW, 1), True),
        ((Compare.EQUALS, 0), (Compare.EQUALS, 1), False),
        ((Compare.ABOVE, 1), (Compare.ABOVE, 9), True),
    ],
)
def test_thresholds_tell_whether_two_comparisons_can_both_hold(
    first: tuple[Compare, float], second: tuple[Compare, float], meet: bool
) -> None:
    assert true_for(condition(*first)).meets(true_for(condition(*second))) is meet
    assert true_for(condition(*second)).meets(true_for(condition(*first))) is meet


any_condition = st.builds(condition, st.sampled_from(Compare), st.integers(-3, 3).map(float))


@given(any_condition, any_condition)
def test_comparisons_meet_exactly_where_some_value_satisfies_both(first: Condition, second: Condition) -> None:
    some = any(holds(first, value / 2) and holds(second, value / 2) for value in range(-8, 9))
    assert true_for(first).meets(true_for(second)) is some
