"""Source of the rule: Azure Monitor autoscale's estimate before a scale-in; docs/guards.md, "Projection"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.frames import Cell
from config.model.adjustments import Adjustment
from config.model.catalogue import Catalogue, Compare, Condition, Projection
from config.model.counters import Per
from config.model.reductions import Reduce, Reduction, Statistic
from config.units import CounterId, PolicyId
from tests.support.trigger import (
    WEB,
    a_catalogue,
    a_condition,
    a_fleet,
    a_frame,
    a_person,
    a_policy,
    an_alarm,
    at,
    measured,
    missing,
    remove,
    set_to,
)
from trigger.decide import decide
from trigger.policies.evaluate import evaluate, requests_from
from trigger.policies.projection import least_safe
from trigger.reasons import Reason
from trigger.requests import Clamp, Decision, GroupState, Request
from trigger.verdicts import NO_PROJECTION, ProjectedLoad

IDLE = a_condition("idle", Compare.BELOW, 30, counter="load")
BUSY = a_condition("busy", Compare.ABOVE, 75)


def a_pair(*conditions: Condition, enough: int | None = None, away: float = 3) -> Catalogue:
    """A policy that grows on these conditions, and one that takes members away on idle."""
    growing = a_policy("out", when=[condition.id for condition in conditions], enough=enough, duration=600)
    shrinking = a_policy("in", when=["idle"], does=remove(away))
    return a_catalogue(policies=[growing, shrinking], conditions=[*conditions, IDLE])


def decision(
    catalogue: Catalogue,
    cells: Mapping[str, Cell],
    *requests: Request,
    desired: int = 6,
    in_service: int | None = None,
    listed: bool = True,
    state: GroupState | None = None,
) -> Decision:
    evaluation = evaluate(catalogue, WEB, a_frame(catalogue, {"idle": measured(10), **cells}), {}, at())
    asked = requests or requests_from(catalogue, evaluation)
    fleet = a_fleet(in_service=desired if in_service is None else in_service, listed=listed)
    before = replace(GroupState() if state is None else state, desired=desired)
    return decide(catalogue.groups[WEB], asked, fleet, before, at(), evaluation=evaluation)


@pytest.mark.parametrize(("listed", "size"), [pytest.param(True, 3, id="whole"), pytest.param(False, 5, id="partial")])
def test_members_that_a_listing_leaves_out_may_carry_load(listed: bool, size: int) -> None:
    assert decision(a_pair(BUSY), {"busy": measured(50)}, in_service=3, listed=listed).desired_to == size


def busy_with(**changed: object) -> Condition:
    return replace(BUSY, **changed)  # type: ignore[arg-type]  # of whatever field it is


@pytest.mark.parametrize(
    ("busy", "size", "reason"),
    [
        pytest.param(20, 3, Reason.SCALED_IN, id="room-for-all-of-it"),
        pytest.param(37, 3, Reason.SCALED_IN, id="just-below-the-threshold"),
        pytest.param(37.5, 4, Reason.SCALED_IN, id="exactly-at-the-threshold-has-reached-it"),
        pytest.param(50, 5, Reason.SCALED_IN, id="Azure-made-smaller"),
        pytest.param(62, 5, Reason.SCALED_IN, id="one-may-leave"),
        pytest.param(62.5, 6, Reason.WOULD_BOUNCE, id="Azure-skipped"),
        pytest.param(90, 6, Reason.WOULD_BOUNCE, id="busy-already"),
        pytest.param(0, 3, Reason.SCALED_IN, id="no-load-at-all"),
    ],
)
def test_a_scale_in_leaves_enough_members_for_the_load(busy: float, size: int, reason: Reason) -> None:
    decided = decision(a_pair(BUSY), {"busy": measured(busy)})
    assert (decided.desired_to, decided.reason) == (size, reason)


def test_members_kept_by_projection_are_a_clamp() -> None:
    winner = decision(a_pair(BUSY), {"busy": measured(50)}).winner
    assert winner is not None
    assert winner.clamps == (Clamp(guard=Reason.WOULD_BOUNCE, before=3, after=5),)


@pytest.mark.parametrize(
    ("condition", "size"),
    [
        pytest.param(BUSY, 6, id="avg-of-avg"),
        pytest.param(busy_with(compare=Compare.AT_LEAST), 6, id="at-least"),
        pytest.param(busy_with(aggregate=Reduce.MAX), 6, id="the-greatest-of-the-window"),
        pytest.param(busy_with(aggregate=Statistic.P95), 6, id="a-percentile-of-the-window"),
        pytest.param(busy_with(aggregate=Reduce.COUNT), 3, id="not-a-count"),
        pytest.param(busy_with(aggregate=Statistic.STDDEV), 3, id="not-a-spread"),
        pytest.param(busy_with(across=Reduce.SUM), 3, id="not-a-sum-which-stays"),
        pytest.param(busy_with(across=Reduce.MAX), 3, id="not-the-busiest-member"),
        pytest.param(busy_with(compare=Compare.EQUALS), 3, id="not-equals"),
    ],
)
def test_only_what_members_share_in_proportion_is_projected(condition: Condition, size: int) -> None:
    assert decision(a_pair(condition), {"busy": measured(70)}).desired_to == size


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"unit": "sessions"}, id="another-unit"),
        pytest.param({"per": Per.GROUP}, id="of-the-whole-group"),
    ],
)
def test_another_kind_of_counter_is_not_projected(changed: Mapping[str, object]) -> None:
    catalogue = a_pair(BUSY)
    cpu = CounterId("cpu")
    counters = {**catalogue.counters, cpu: replace(catalogue.counters[cpu], **changed)}  # type: ignore[arg-type]
    assert decision(replace(catalogue, counters=counters), {"busy": measured(70)}).desired_to == 3


SLOW = a_condition("slow", Compare.ABOVE, 75, counter="wait")


@pytest.mark.parametrize(
    ("enough", "slow", "size"),
    [
        pytest.param(None, measured(20), 3, id="all-the-other-leaves-room"),
        pytest.param(None, measured(60), 5, id="all-the-later-one-counts"),
        pytest.param(1, measured(20), 6, id="any-the-first-one-counts"),
        pytest.param(None, missing(), 3, id="all-one-is-not-known"),
        pytest.param(1, missing(), 6, id="any-one-is-not-known"),
    ],
)
def test_as_many_conditions_count_as_the_policy_needs(enough: int | None, slow: Cell, size: int) -> None:
    assert decision(a_pair(BUSY, SLOW, enough=enough), {"busy": measured(70), "slow": slow}).desired_to == size


@pytest.mark.parametrize(("peak", "size"), [pytest.param(90, 6, id="true-now"), pytest.param(70, 3, id="false-now")])
def test_what_is_not_projected_stays_as_it_is(peak: float, size: int) -> None:
    catalogue = a_pair(BUSY, busy_with(id="peak", across=Reduce.MAX))
    assert decision(catalogue, {"busy": measured(70), "peak": measured(peak)}).desired_to == size


def test_a_policy_without_a_projection_limits_no_scale_in() -> None:
    catalogue = a_pair(busy_with(across=Reduce.MAX))
    assert decision(catalogue, {"busy": measured(90)}).desired_to == 3


def test_the_load_is_that_of_the_members_in_service() -> None:
    assert decision(a_pair(BUSY), {"busy": measured(60)}, in_service=3).desired_to == 3
    assert decision(a_pair(BUSY), {"busy": measured(30)}, in_service=12).desired_to == 5


def test_no_member_leaves_while_the_group_has_to_grow_although_few_are_in_service() -> None:
    assert decision(a_pair(BUSY), {"busy": measured(90)}, in_service=3).reason is Reason.WOULD_BOUNCE


def test_it_can_be_turned_off() -> None:
    catalogue = a_pair(BUSY)
    off = replace(catalogue, groups={WEB: replace(catalogue.groups[WEB], projection=Projection.OFF)})
    assert decision(off, {"busy": measured(70)}).desired_to == 3


@pytest.mark.parametrize(
    "request_", [pytest.param(a_person(3), id="person"), pytest.param(an_alarm(remove(3)), id="alarm")]
)
def test_only_policies_are_held_back(request_: Request) -> None:
    assert decision(a_pair(BUSY), {"busy": measured(70)}, request_).desired_to == 3


def test_a_size_above_max_comes_down_to_max_whatever_is_projected() -> None:
    catalogue = a_pair(BUSY, away=9)
    forced = decision(catalogue, {"busy": measured(70)}, desired=44, state=GroupState(forced=True))
    assert forced.desired_to == 40


REDUCTIONS: st.SearchStrategy[Reduction] = st.sampled_from([Reduce.AVG, Reduce.SUM, Reduce.MAX])


@given(
    st.floats(0, 120),
    st.integers(1, 40),
    st.integers(0, 40),
    st.sampled_from([remove(3), remove(50), set_to(1)]),
    REDUCTIONS,
)
def test_no_scale_in_makes_a_projected_condition_hold(
    busy: float, desired: int, in_service: int, does: Adjustment, across: Reduction
) -> None:
    catalogue = a_pair(busy_with(across=across))
    shrinking = PolicyId("in")
    policies = {**catalogue.policies, shrinking: replace(catalogue.policies[shrinking], adjustment=does)}
    after = decision(
        replace(catalogue, policies=policies), {"busy": measured(busy)}, desired=desired, in_service=in_service
    ).desired_to
    assert after is not None
    if after < desired and across is Reduce.AVG:
        assert busy * max(1.0, in_service / after) < BUSY.threshold


@given(st.floats(1, 50, exclude_min=True), st.integers(1, 1000))
def test_the_least_safe_size_is_safe_and_no_larger_than_it_must_be(factor: float, carrying: int) -> None:
    size = least_safe(ProjectedLoad(of_those_in_service=factor), carrying, carrying + 5)
    assert carrying / size < factor
    assert size == 1 or carrying / (size - 1) >= factor * (1 - 1e-6)


def test_without_a_projection_or_load_every_size_with_a_member_is_safe() -> None:
    assert (least_safe(NO_PROJECTION, 9, 9), least_safe(ProjectedLoad(of_those_in_service=1.5), 0, 9)) == (0, 1)
