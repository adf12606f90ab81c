from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest

from aggregator.frames import Cell, Lack
from config.model.adjustments import Step, Steps
from config.model.catalogue import Catalogue, Compare, Mode, Projection
from config.model.counters import Per
from config.units import ConditionId, CounterId, GroupId, PolicyId
from tests.support.trigger import (
    WEB,
    a_catalogue,
    a_condition,
    a_fleet,
    a_frame,
    a_group,
    a_person,
    a_policy,
    a_quiet,
    a_signal,
    add,
    at,
    decided,
    measured,
    missing,
    remove,
)
from trigger.decide import decide
from trigger.explain.explanation import Explanation, explain
from trigger.explain.shapes import shape
from trigger.policies.evaluate import evaluate, requests_from
from trigger.reasons import Reason
from trigger.requests import Clamp, GroupState, Pause, Request, SignalKind
from trigger.verdicts import Direction, Hold, TakenStep, Truth

BUSY = ConditionId("busy")
CATALOGUE = a_catalogue(
    policies=[a_policy("out", duration=60), a_policy("in", when=["idle"], does=remove(1))],
    conditions=[a_condition(), a_condition("idle", Compare.BELOW, 30, counter="load")],
)


def explained(
    cells: Mapping[str, Cell],
    *requests: Request,
    seconds: float = 0.0,
    holds: Mapping[PolicyId, Hold] | None = None,
    state: GroupState | None = None,
    catalogue: Catalogue = CATALOGUE,
    leaving: int = 0,
) -> Explanation:
    """One tick of the chain from frame to explanation."""
    now, group = at(seconds), catalogue.groups[WEB]
    evaluation = evaluate(catalogue, WEB, a_frame(catalogue, cells, now=now), holds or {}, now)
    asked = (*requests, *requests_from(catalogue, evaluation))
    before = GroupState(desired=4) if state is None else state
    decision = decide(group, asked, a_fleet(in_service=4), before, now, evaluation=evaluation)
    return explain(catalogue, group, evaluation, decision, a_fleet(in_service=4, leaving=leaving))


def test_it_tells_each_condition_as_each_policy_judged_it() -> None:
    seen = explained({"busy": measured(63.2, low=60, high=math.inf, heard=9), "idle": missing(Lack.STALE, heard=7)})
    (busy,), (idle,) = (policy.conditions for policy in seen.policies)
    assert (busy.value, busy.low, busy.high, busy.lack) == (63.2, 60, None, None)
    assert (busy.heard, busy.expected, busy.age, busy.truth) == (9, 10, 4.0, Truth.FALSE)
    assert (busy.counter, busy.unit, busy.compare, busy.threshold) == ("cpu", "percent", Compare.ABOVE, 80)
    assert (idle.value, idle.low, idle.high, idle.age) == (None, None, None, None)
    assert (idle.lack, idle.heard, idle.truth) == (Lack.STALE, 7, Truth.UNKNOWN)


def test_it_tells_which_condition_has_one_value_for_the_whole_group() -> None:
    counters = {**CATALOGUE.counters, CounterId("load"): replace(CATALOGUE.counters[CounterId("load")], per=Per.GROUP)}
    found = explained({"busy": measured(90.0), "idle": measured(50.0)}, catalogue=replace(CATALOGUE, counters=counters))
    judged = {each.condition: each.per_group for policy in found.policies for each in policy.conditions}
    assert judged == {"busy": False, "idle": True}


def test_it_tells_how_many_members_are_on_their_way_out_without_being_another_story() -> None:
    cells = {"busy": measured(60), "idle": measured(60)}
    assert explained(cells, leaving=2).leaving == 2
    assert shape(explained(cells, leaving=2)) == shape(explained(cells))


def test_every_policy_has_one_reason_its_own_or_the_decisions() -> None:
    bold = replace(CATALOGUE, groups={WEB: replace(CATALOGUE.groups[WEB], projection=Projection.OFF)})
    seen = explained({"busy": measured(90), "idle": measured(10)}, catalogue=bold)
    assert [policy.reason for policy in seen.policies] == [Reason.HOLDING, Reason.SCALED_IN]
    assert (seen.policies[0].held, seen.policies[0].needed) == (0, 60)
    assert (seen.desired_from, seen.desired_to, seen.reason) == (4, 3, Reason.SCALED_IN)
    assert [answer.by for answer in seen.answers] == ["in"]


def test_another_step_is_another_story_but_another_distance_is_not() -> None:
    steps = Steps(by=BUSY, steps=(Step(over=0, adjustment=add(1)), Step(over=10, adjustment=add(3))))
    catalogue = a_catalogue(policies=[a_policy(does=steps, duration=60)])
    near, nearer, far = (explained({"busy": measured(value)}, catalogue=catalogue) for value in (85, 81, 92))
    assert near.policies[0].taken == TakenStep(condition=BUSY, over=5, adjustment=add(1))
    assert far.policies[0].taken == TakenStep(condition=BUSY, over=12, adjustment=add(3))
    assert shape(near) == shape(nearer) != shape(far)


def test_a_paused_group_is_still_evaluated() -> None:
    state = GroupState(desired=4, pause=Pause.ALL)
    seen = explained({"busy": measured(90), "idle": measured(10)}, state=state)
    assert [policy.reason for policy in seen.policies] == [Reason.HOLDING, Reason.PAUSED]
    assert (seen.reason, seen.pause) == (Reason.PAUSED, Pause.ALL)


def test_an_explanation_shows_requests_with_their_clamps() -> None:
    seen = explained({"idle": measured(50)}, a_person(99), state=GroupState(desired=50))
    (answer,) = seen.answers
    assert (answer.by, answer.reason, answer.wanted) == ("person", Reason.ABOVE_MAX, 99)
    assert seen.reason is Reason.BOUNDS
    lower = explained({"idle": measured(10)}, state=GroupState(desired=50, kept=True))
    assert lower.answers[0].clamps == ()
    forced = explained({"idle": measured(10)}, state=GroupState(desired=50, forced=True))
    assert forced.answers[0].clamps == (Clamp(guard=Reason.AT_MAX, before=49, after=40),)


def test_an_explanation_shows_only_quiet_times_that_run() -> None:
    group = a_group(mode=Mode.ADVISE)
    state = GroupState(quiets=(a_quiet(Direction.IN, until=-1), a_quiet(Direction.OUT)))
    decision = decided(group=group, state=state)
    assert explain(CATALOGUE, group, None, decision, a_fleet()).quiets == (a_quiet(Direction.OUT),)


def test_an_explanation_shows_only_alerts_that_last() -> None:
    over, lasting = a_signal(key="f1", until=0), a_signal(key="f2")
    decision = decided(group=a_group(mode=Mode.ADVISE), state=GroupState(signals=(over, lasting)))
    assert explain(CATALOGUE, a_group(), None, decision, a_fleet()).signals == (lasting,)


def test_an_orphaned_group_is_explained_without_its_declaration() -> None:
    group = a_group(id="gone")
    decision = decided(a_person(9), group=group, state=GroupState(orphaned=True))
    seen = explain(CATALOGUE, group, None, decision, a_fleet())
    assert (seen.group, seen.reason, seen.policies) == (GroupId("gone"), Reason.ORPHANED, ())


def test_a_policy_that_left_the_catalogue_after_the_evaluation_is_left_out() -> None:
    group = CATALOGUE.groups[WEB]
    evaluation = evaluate(CATALOGUE, WEB, a_frame(CATALOGUE, {}), {}, at())
    decision = decided(group=group, evaluation=evaluation)
    only_in = replace(CATALOGUE, policies={PolicyId("in"): CATALOGUE.policies[PolicyId("in")]}, conditions={})
    seen = explain(only_in, group, evaluation, decision, a_fleet())
    assert [(policy.policy, policy.conditions) for policy in seen.policies] == [("in", ())]


QUIET = {"busy": measured(50), "idle": measured(50)}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(explained({"busy": measured(51), "idle": measured(70, age=9)}), id="other-values"),
        pytest.param(explained(QUIET, seconds=30), id="another-moment"),
    ],
)
def test_ticks_that_tell_the_same_story_have_one_shape(other: Explanation) -> None:
    assert shape(other) == shape(explained(QUIET))
    assert hash(shape(other)) == hash(shape(explained(QUIET)))


def test_two_ticks_in_one_quiet_time_have_one_shape() -> None:
    cells = {"busy": measured(50), "idle": measured(10)}
    state = GroupState(desired=4, quiets=(a_quiet(Direction.OUT),))
    assert shape(explained(cells, state=state)) == shape(explained(cells, seconds=30, state=state))


def test_an_alert_that_is_renewed_or_joined_by_another_of_its_rule_has_the_same_shape() -> None:
    deploying = explained(QUIET, state=GroupState(desired=4, signals=(a_signal(until=60),)))
    longer = explained(QUIET, state=GroupState(desired=4, signals=(a_signal(until=90), a_signal(key="f2"))))
    assert shape(deploying) == shape(longer)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(explained({**QUIET, "busy": missing()}), id="another-truth"),
        pytest.param(explained(QUIET, state=GroupState(desired=4, signals=(a_signal(),))), id="an-alert"),
        pytest.param(explained({**QUIET, "busy": measured(90)}), id="another-reason-of-a-policy"),
        pytest.param(explained(QUIET, state=GroupState(desired=5)), id="another-size"),
        pytest.param(explained(QUIET, state=GroupState(desired=4, pause=Pause.ALL)), id="paused"),
        pytest.param(explained(QUIET, a_person(4)), id="a-request"),
        pytest.param(explained(QUIET, catalogue=replace(CATALOGUE, digest="1" * 64)), id="another-configuration"),
    ],
)
def test_another_story_has_another_shape(other: Explanation) -> None:
    assert shape(other) != shape(explained(QUIET))


def test_another_kind_of_signal_is_another_story() -> None:
    shield, blind = (GroupState(desired=4, signals=(a_signal(kind),)) for kind in (SignalKind.SHIELD, SignalKind.BLIND))
    assert shape(explained(QUIET, state=shield)) != shape(explained(QUIET, state=blind))


def test_another_lack_is_another_story() -> None:
    assert shape(explained({**QUIET, "busy": missing(Lack.STALE)})) != shape(explained({**QUIET, "busy": missing()}))
