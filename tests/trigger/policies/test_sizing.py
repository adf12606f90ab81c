from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.adjustments import Adjustment, AdjustmentVerb, Rounding
from tests.support.trigger import add, remove, set_to
from trigger.policies.sizing import resized


@pytest.mark.parametrize(
    ("desired", "adjustment", "expected"),
    [
        pytest.param(4, add(2), 6, id="add"),
        pytest.param(4, remove(1), 3, id="remove"),
        pytest.param(4, set_to(9), 9, id="set"),
        pytest.param(3, add(10, percent=True), 4, id="Otter-10%-of-3-is-1"),
        pytest.param(11, add(10, percent=True), 13, id="DESIGN-out-away-from-zero"),
        pytest.param(10, add(10, percent=True), 11, id="exactly-one-stays-one"),
        pytest.param(1000, add(1.1, percent=True), 1011, id="no-float-makes-11-a-12"),
        pytest.param(19, remove(10, percent=True), 18, id="DESIGN-in-toward-zero"),
        pytest.param(5, remove(10, percent=True), 4, id="DESIGN-in-at-least-one"),
        pytest.param(10, remove(25, percent=True), 8, id="DESIGN-25%-of-10-in-is-2-where-Otter-takes-3"),
        pytest.param(5, add(10, percent=True, at_least=2), 7, id="DESIGN-at-least-after-rounding-out"),
        pytest.param(5, remove(10, percent=True, at_least=2), 3, id="DESIGN-at-least-after-rounding-in"),
        pytest.param(50, add(10, percent=True, at_least=2), 55, id="at-least-lowers-nothing"),
        pytest.param(5, add(0, percent=True, at_least=2), 5, id="DESIGN-0%-out-is-0-with-at-least"),
        pytest.param(5, remove(0, percent=True, at_least=2), 5, id="Heat-defect-0%-in-is-0-with-at-least"),
        pytest.param(5, remove(0), 5, id="remove-0-is-0"),
        pytest.param(0, add(50, percent=True), 0, id="Otter-percent-of-0-is-0"),
        pytest.param(0, add(50, percent=True, at_least=2), 2, id="at-least-leaves-0"),
        pytest.param(1, remove(5), 0, id="never-below-0"),
        pytest.param(4, set_to(0), 0, id="set-0"),
        pytest.param(4, add(0.5), 5, id="half-a-member-out"),
        pytest.param(4, remove(1.5), 3, id="half-a-member-in"),
    ],
)
def test_arithmetic(desired: int, adjustment: Adjustment, expected: int) -> None:
    assert resized(desired, adjustment) == expected


def rounded(adjustment: Adjustment, rounding: Rounding) -> Adjustment:
    return replace(adjustment, rounding=rounding)


@pytest.mark.parametrize(
    ("desired", "adjustment", "rounding", "expected"),
    [
        pytest.param(3, add(10, percent=True), Rounding.AWAY, 4, id="Otter-10%-of-3"),
        pytest.param(10, remove(25, percent=True), Rounding.AWAY, 7, id="Otter-25%-of-10-in-is-3"),
        pytest.param(0, add(10, percent=True), Rounding.AWAY, 0, id="Otter-percent-of-0"),
        pytest.param(5, add(50, percent=True), Rounding.TRUNCATE, 7, id="OneFlow-50%-of-5-is-2"),
        pytest.param(5, remove(10, percent=True, at_least=2), Rounding.TRUNCATE, 3, id="OneFlow-step-2"),
        pytest.param(4, add(10, percent=True), Rounding.TRUNCATE, 5, id="AWS-0..1-is-1"),
        pytest.param(4, remove(10, percent=True), Rounding.TRUNCATE, 3, id="AWS-minus-1..0-is-minus-1"),
        pytest.param(19, add(10, percent=True), Rounding.TRUNCATE, 20, id="Heat-1.9-is-1"),
        pytest.param(19, remove(10, percent=True), Rounding.TRUNCATE, 18, id="Senlin-minus-1.9-is-minus-1"),
        pytest.param(5, remove(0, percent=True, at_least=2), Rounding.TRUNCATE, 5, id="Heat-defect-0%-is-0"),
        pytest.param(0, add(10, percent=True), Rounding.TRUNCATE, 0, id="OneFlow-defect-percent-of-0-is-0"),
        pytest.param(10, set_to(4.9), Rounding.TRUNCATE, 4, id="truncate-set"),
        pytest.param(9, add(50, percent=True), Rounding.CEIL, 14, id="Kubernetes-13.5-is-14"),
        pytest.param(9, remove(50, percent=True), Rounding.CEIL, 5, id="Kubernetes-4.5-is-5"),
        pytest.param(5, remove(10, percent=True), Rounding.CEIL, 5, id="Kubernetes-4.5-is-5-so-no-member-leaves"),
        pytest.param(9, add(50, percent=True), Rounding.FLOOR, 13, id="floor-13.5-is-13"),
        pytest.param(9, remove(50, percent=True), Rounding.FLOOR, 4, id="floor-4.5-is-4"),
        pytest.param(10, set_to(4.1), Rounding.CEIL, 5, id="ceil-set"),
        pytest.param(10, set_to(4.9), Rounding.FLOOR, 4, id="floor-set"),
        pytest.param(10, add(14, percent=True), Rounding.NEAREST, 11, id="nearest-1.4"),
        pytest.param(10, add(15, percent=True), Rounding.NEAREST, 12, id="nearest-halves-away"),
        pytest.param(10, remove(25, percent=True), Rounding.NEAREST, 7, id="nearest-halves-away-in"),
        pytest.param(10, remove(4, percent=True), Rounding.NEAREST, 10, id="nearest-0.4-is-no-member"),
    ],
)
def test_the_rounding_of_each_system(desired: int, adjustment: Adjustment, rounding: Rounding, expected: int) -> None:
    assert resized(desired, rounded(adjustment, rounding)) == expected


@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize("change", [add(3), remove(3), set_to(3)], ids=["add", "remove", "set"])
def test_whole_members_are_not_rounded(rounding: Rounding, change: Adjustment) -> None:
    assert resized(10, rounded(change, rounding)) == resized(10, change)


@given(
    desired=st.integers(0, 10_000),
    verb=st.sampled_from(AdjustmentVerb),
    amount=st.integers(0, 500),
    percent=st.booleans(),
    at_least=st.integers(0, 20),
    rounding=st.sampled_from(Rounding),
)
def test_add_never_shrinks_and_remove_never_grows(
    desired: int, verb: AdjustmentVerb, amount: int, percent: bool, at_least: int, rounding: Rounding
) -> None:
    change = Adjustment(verb=verb, amount=amount, percent=percent, at_least=at_least, rounding=rounding)
    size = resized(desired, change)
    assert size >= 0
    if verb is AdjustmentVerb.ADD:
        assert size >= desired
    if verb is AdjustmentVerb.REMOVE:
        assert size <= desired
