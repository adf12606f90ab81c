from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.frames import Cell
from config.model.adjustments import Action, Adjustment, AdjustmentVerb, TargetLoad, Tracking
from config.model.catalogue import Catalogue, Compare, Condition, Group, Projection
from config.units import ConditionId
from tests.support.trigger import (
    WEB,
    a_catalogue,
    a_condition,
    a_fleet,
    a_frame,
    a_group,
    a_policy,
    at,
    measured,
    missing,
    remove,
)
from trigger.decide import decide
from trigger.explain.explanation import explain
from trigger.explain.words import say
from trigger.policies.evaluate import evaluate, requests_from
from trigger.policies.tracking import could_shrink, requested_size
from trigger.reasons import Reason
from trigger.requests import Decision, GroupState
from trigger.verdicts import Aim

TOLERANCE = 0.1


def a_target(
    level: float = 60.0,
    load: TargetLoad = TargetLoad.EACH,
    *,
    at_most: tuple[Adjustment | None, Adjustment | None] = (None, None),
) -> Catalogue:
    """`keep`, both ways, as `config.build.targets` makes it."""
    total = load is TargetLoad.TOTAL
    sides = (
        ("keep.out", AdjustmentVerb.ADD, Compare.ABOVE, 1 + TOLERANCE),
        ("keep.in", AdjustmentVerb.REMOVE, Compare.BELOW, 1 - TOLERANCE),
    )
    conditions: list[Condition] = []
    actions: dict[str, Action] = {}
    for (name, verb, compare, factor), most in zip(sides, at_most, strict=True):
        conditions.append(replace(a_condition(name, compare, level * factor), per_member=total))
        actions[name] = Tracking(by=ConditionId(name), verb=verb, level=level, load=load, at_most=most)
    policies = [a_policy(name, when=[name], does=does) for name, does in actions.items()]
    return a_catalogue(policies=policies, conditions=conditions)


def decided(
    catalogue: Catalogue, cell: Cell, desired: int = 10, *, in_service: int | None = None, group: Group | None = None
) -> Decision:
    frame = a_frame(catalogue, {"keep.out": cell, "keep.in": cell, "idle": cell})
    evaluation = evaluate(catalogue, WEB, frame, {}, at(), size=desired)
    declared = catalogue.groups[WEB] if group is None else group
    fleet = a_fleet(in_service=desired if in_service is None else in_service)
    requests = requests_from(catalogue, evaluation)
    return decide(declared, requests, fleet, GroupState(desired=desired, revision=1), at(), evaluation=evaluation)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        pytest.param(60, 10, id="on-target"),
        pytest.param(66, 10, id="a-tenth-above-is-tolerated"),
        pytest.param(54, 10, id="a-tenth-below-is-tolerated"),
        pytest.param(66.1, 12, id="a-trifle-more-is-not:ten-at-66.1-are-11.02-at-60"),
        pytest.param(90, 15, id="half-as-much-again"),
        pytest.param(120, 20, id="twice"),
        pytest.param(53.9, 9, id="ten-at-53.9-are-8.98-at-60"),
        pytest.param(30, 5, id="half"),
        pytest.param(0, 2, id="none-at-all-leaves-min"),
        pytest.param(1000, 40, id="never-above-max"),
    ],
)
def test_the_size_can_carry_the_load_at_the_target(value: float, size: int) -> None:
    assert decided(a_target(), measured(value)).desired_to == size


@pytest.mark.parametrize(
    ("load", "value", "in_service", "size"),
    [
        pytest.param(TargetLoad.WHOLE, 90, 10, 15, id="a-level-of-all-in-service"),
        pytest.param(TargetLoad.WHOLE, 90, 6, 10, id="growth-never-shrinks-the-group"),
        pytest.param(TargetLoad.WHOLE, 30, 12, 6, id="to-shrink-those-that-leave-count"),
        pytest.param(TargetLoad.WHOLE, 30, 8, 5, id="and-those-that-are-not-seen-in-service"),
        pytest.param(TargetLoad.WHOLE, 30, 0, 5, id="as-before-the-first-listing"),
        pytest.param(TargetLoad.TOTAL, 900, 10, 15, id="a-total-of-60-each"),
        pytest.param(TargetLoad.TOTAL, 900, 3, 15, id="at-any-number-in-service"),
        pytest.param(TargetLoad.TOTAL, 660, 10, 10, id="tolerance-is-of-the-total"),
        pytest.param(TargetLoad.TOTAL, 300, 10, 5, id="half-the-total"),
    ],
)
def test_a_level_and_a_total_become_sizes_each_in_its_way(
    load: TargetLoad, value: float, in_service: int, size: int
) -> None:
    grown = replace(a_group(policies=("keep.out", "keep.in")), build_timeout=1.0)
    decision = decided(a_target(load=load), measured(value, expected=1, heard=1), in_service=in_service, group=grown)
    assert decision.desired_to == size


def test_from_no_members_a_total_brings_as_many_as_it_takes() -> None:
    scaled_to_zero = a_group(minimum=0, policies=("keep.out", "keep.in"))
    backlog = measured(70, expected=1, heard=1)
    assert decided(a_target(30, TargetLoad.TOTAL), backlog, 0, group=scaled_to_zero).desired_to == 3
    nothing = measured(0, expected=1, heard=1)
    assert decided(a_target(30, TargetLoad.TOTAL), nothing, 0, group=scaled_to_zero).reason is Reason.STEADY


def test_members_that_warm_up_are_there_when_it_grows_and_busy_when_it_shrinks() -> None:
    hot = replace(measured(90, expected=6, heard=6), left_out=4)
    assert decided(a_target(), hot).desired_to == 10, "six at 90 are nine at 60, and ten are there"
    cool = replace(measured(30, expected=6, heard=6), left_out=4)
    assert decided(a_target(), cool).desired_to == 5, "ten at 30 are five at 60"


def test_missing_answers_count_against_shrinking_and_a_loss_of_data_never_shrinks() -> None:
    range_of_unheard = measured(30, low=27, high=37, heard=9)
    assert decided(a_target(), range_of_unheard).desired_to == 7, "ten at 37 are 6.2 at 60"
    assert decided(a_target(), missing()).reason is Reason.BLIND
    assert decided(a_target(), measured(0, low=float("-inf"), high=float("inf"), heard=9)).desired_to == 10


def test_the_largest_change_at_once_bounds_both_ways() -> None:
    paced = a_target(at_most=(Adjustment(verb=AdjustmentVerb.ADD, amount=50, percent=True), remove(1)))
    assert decided(paced, measured(200)).desired_to == 15
    assert decided(paced, measured(6)).desired_to == 9


def test_a_target_that_its_size_fits_objects_to_a_scale_in_by_another_policy() -> None:
    keep = a_target()
    idle, away = a_condition("idle", Compare.BELOW, 58), a_policy("away", when=["idle"], does=remove(1))
    both = a_catalogue(policies=[*keep.policies.values(), away], conditions=[*keep.conditions.values(), idle])
    two_at_50 = measured(50, heard=2, expected=2)
    unprojected = replace(both.groups[WEB], minimum=1, projection=Projection.OFF)
    refused = decided(both, two_at_50, 2, group=unprojected)
    assert {answer.request.by: answer.reason for answer in refused.answers} == {
        "keep.in": Reason.NO_CHANGE,
        "away": Reason.DISAGREED,
    }
    agreed = decided(both, measured(30), 10)
    assert agreed.desired_to == 9, "the larger of 5 and 9"


def test_before_there_is_a_size_a_condition_per_member_is_unknown() -> None:
    catalogue = a_target(load=TargetLoad.TOTAL)
    frame = a_frame(catalogue, {"keep.out": measured(900), "keep.in": measured(900)})
    evaluation = evaluate(catalogue, WEB, frame, {}, at(), size=None)
    assert [advice.reason for advice in evaluation.advices] == [Reason.BLIND, Reason.BLIND]
    assert requests_from(catalogue, evaluation) == ()


def test_a_scale_in_of_another_policy_heeds_what_a_member_bears_of_a_total() -> None:
    crowded = replace(a_condition("crowded", Compare.ABOVE, 30, counter="backlog"), per_member=True)
    idle = a_condition("idle", Compare.BELOW, 50)
    out, away = a_policy("out", when=["crowded"]), a_policy("away", when=["idle"], does=remove(5))
    catalogue = a_catalogue(policies=[out, away], conditions=[crowded, idle])
    frame = a_frame(catalogue, {"crowded": measured(200, expected=1, heard=1), "idle": measured(20)})
    evaluation = evaluate(catalogue, WEB, frame, {}, at(), size=10)
    decision = decide(
        catalogue.groups[WEB], requests_from(catalogue, evaluation), a_fleet(in_service=10),
        GroupState(desired=10, revision=1), at(), evaluation=evaluation,
    )  # fmt: skip
    assert decision.desired_to == 7, "200 over 7 is below 30 each; over 6 it is not"


@pytest.mark.parametrize(
    ("load", "cell", "lines"),
    [
        pytest.param(TargetLoad.EACH, measured(75), "the load of 12.5 members at 60 %", id="each"),
        pytest.param(TargetLoad.WHOLE, measured(75), "1.25 times the target of 60 %", id="whole"),
        pytest.param(
            TargetLoad.TOTAL, measured(900), "above 660 %, 66 for each member; the load of 15 members", id="total"
        ),
    ],
)
def test_why_shows_the_load_behind_a_size(load: TargetLoad, cell: Cell, lines: str) -> None:
    catalogue = a_target(load=load)
    frame = a_frame(catalogue, {"keep.out": cell, "keep.in": cell})
    evaluation = evaluate(catalogue, WEB, frame, {}, at(), size=10)
    group, fleet = catalogue.groups[WEB], a_fleet(in_service=10)
    requests = requests_from(catalogue, evaluation)
    decision = decide(group, requests, fleet, GroupState(desired=10, revision=1), at(), evaluation=evaluation)
    text = say(explain(catalogue, group, evaluation, decision, fleet), at().wall)
    assert lines in "\n".join(text)


@pytest.mark.parametrize("load", TargetLoad)
@pytest.mark.parametrize("value", [1e300, 1.7e308, float("inf")])
@pytest.mark.parametrize("in_service", [0, 10])
def test_a_value_beyond_all_numbers_is_a_load_beyond_every_group(
    load: TargetLoad, value: float, in_service: int
) -> None:
    decision = decided(a_target(1e-6, load), measured(value), in_service=in_service)
    assert decision.answers[0].wanted in {
        10,
        10**12 - 1000,
        10**12,
    }  # with none in service, a level of all is borne by none


@given(st.floats(0, 1e6), st.integers(0, 200), st.integers(0, 200), st.sampled_from(AdjustmentVerb), st.booleans())
def test_an_aim_never_goes_the_other_way_and_no_further_than_the_load(
    load: float, desired: int, in_service: int, verb: AdjustmentVerb, relative: bool
) -> None:
    size = requested_size(desired, in_service, Aim(verb=verb, load=load, relative=relative, level=1.0))
    bearing = load * (in_service if verb is AdjustmentVerb.ADD else max(in_service, desired)) if relative else load
    if verb is AdjustmentVerb.ADD:
        assert size >= desired
        assert size == desired or size - 1 < bearing
    else:
        assert 0 <= size <= desired
        assert size == desired or size >= bearing * (1 - 1e-6)


@given(st.floats(0, 200), st.integers(1, 30))
def test_a_size_that_a_target_led_to_is_no_breach_of_the_same_target(value: float, desired: int) -> None:
    wide = a_group(minimum=1, maximum=1000, policies=("keep.out", "keep.in"))
    load = value * desired
    cell = measured(value, heard=desired, expected=desired)
    size = decided(a_target(), cell, desired, group=wide).desired_to or 0
    after = measured(load / size, heard=size, expected=size)
    assert decided(a_target(), after, size, group=wide).desired_to == size


def test_only_what_can_leave_fewer_could_shrink() -> None:
    keep = [policy.adjustment for policy in a_target().policies.values()]
    assert [could_shrink(5, action) for action in keep] == [False, True]
    assert not could_shrink(0, keep[1])
