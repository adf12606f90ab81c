from __future__ import annotations

import pytest

from config.model.catalogue import Group, Mode
from config.units import Instant
from tests.support.trigger import (
    NOON,
    a_fleet,
    a_group,
    a_quiet,
    a_request,
    add,
    an_advice,
    an_alarm,
    an_evaluation,
    decided,
    remove,
)
from trigger.reasons import Reason
from trigger.requests import Clamp, Fleet, GroupState, Pause
from trigger.verdicts import Direction, Evaluation

BLIND = an_evaluation(an_advice("out", add(1), Reason.BLIND), an_advice("in", remove(1), Reason.BLIND))
HALF_BLIND = an_evaluation(an_advice("out", add(1), Reason.BLIND), an_advice("in", remove(1), Reason.NOT_MET))


@pytest.mark.parametrize(
    ("fleet", "desired", "kept", "grew"),
    [
        pytest.param(a_fleet(marked=0), 2, False, True, id="DESIGN-nothing-found-is-min"),
        pytest.param(a_fleet(marked=7), 7, False, False, id="DESIGN-lost-store-takes-what-is-found"),
        pytest.param(a_fleet(marked=50), 50, True, False, id="DESIGN-more-than-max-is-kept"),
        pytest.param(a_fleet(marked=40), 40, False, False, id="exactly-max"),
    ],
)
def test_the_first_complete_listing_gives_the_size(fleet: Fleet, desired: int, kept: bool, grew: bool) -> None:
    decision = decided(desired=None, fleet=fleet)
    assert (decision.desired_from, decision.desired_to) == (None, desired)
    assert decision.reason is Reason.FIRST_LISTING
    assert decision.state.revision == 1
    assert decision.state.kept is kept
    assert decision.state.grown_at == (NOON if grew else None)


def test_before_a_complete_listing_there_is_no_size_and_every_request_is_refused() -> None:
    decision = decided(a_request(add(2)), desired=None, fleet=a_fleet(listed=False, marked=9))
    assert decision.desired_to is None
    assert decision.state == GroupState()
    assert decision.reason is decision.answers[0].reason is Reason.NOT_LISTED
    assert decision.answers[0].wanted is None


@pytest.mark.parametrize(
    ("desired", "state", "expected"),
    [
        pytest.param(1, GroupState(), 2, id="DESIGN-below-min"),
        pytest.param(50, GroupState(), 40, id="DESIGN-above-max"),
        pytest.param(50, GroupState(forced=True), 50, id="DESIGN-forced-stays"),
        pytest.param(50, GroupState(kept=True), 50, id="DESIGN-kept-stays"),
        pytest.param(1, GroupState(forced=True), 2, id="forced-below-min-ends-with-the-pause"),
        pytest.param(1, GroupState(forced=True, pause=Pause.ALL), 1, id="paused-nothing-moves"),
        pytest.param(50, GroupState(pause=Pause.DECISIONS), 50, id="paused-above-max-neither"),
        pytest.param(50, GroupState(orphaned=True), 50, id="orphaned-neither"),
    ],
)
def test_changed_bounds(desired: int, state: GroupState, expected: int) -> None:
    decision = decided(desired=desired, state=state)
    assert decision.desired_to == expected
    assert (decision.reason is Reason.BOUNDS) is (desired != expected)
    assert decision.state.revision == (desired != expected)


def test_bounds_hold_while_blind_and_during_a_quiet_time() -> None:
    state = GroupState(quiets=(a_quiet(Direction.OUT),))
    decision = decided(desired=50, state=state, evaluation=BLIND)
    assert (decision.desired_to, decision.state.quiets) == (40, state.quiets)


def test_with_wider_bounds_an_excess_needs_no_excuse_any_more() -> None:
    decision = decided(desired=50, group=a_group(maximum=60), state=GroupState(kept=True, forced=True))
    assert (decision.state.kept, decision.state.forced, decision.state.revision) == (False, False, 0)


@pytest.mark.parametrize(
    ("group", "evaluation", "expected"),
    [
        pytest.param(a_group(blind_floor=6), BLIND, 6, id="DESIGN-floor"),
        pytest.param(a_group(blind_floor=99), BLIND, 40, id="never-above-max"),
        pytest.param(a_group(blind_floor=3), BLIND, 4, id="DESIGN-never-a-scale-in"),
        pytest.param(a_group(), BLIND, 4, id="DESIGN-hold"),
        pytest.param(a_group(blind_floor=6), HALF_BLIND, 4, id="one-policy-still-sees"),
        pytest.param(a_group(blind_floor=6), an_evaluation(), 4, id="no-policies-is-not-blind"),
        pytest.param(a_group(blind_floor=6), None, 4, id="not-evaluated"),
    ],
)
def test_a_blind_group_is_raised_to_its_floor(group: Group, evaluation: Evaluation | None, expected: int) -> None:
    decision = decided(group=group, evaluation=evaluation)
    assert decision.desired_to == expected
    if expected != 4:
        assert decision.reason is Reason.BLIND_FLOOR
        assert decision.state.grown_at == NOON
        assert decision.state.quiets == ()


def test_while_blind_no_alarm_goes_below_the_floor() -> None:
    decision = decided(an_alarm(remove(9)), desired=10, group=a_group(blind_floor=6), evaluation=BLIND)
    assert decision.desired_to == 6


def test_a_scale_in_never_raises_a_size_that_is_below_the_floor_already() -> None:
    fleet = a_fleet(marked=4)
    decision = decided(an_alarm(remove(1)), desired=None, group=a_group(blind_floor=6), fleet=fleet, evaluation=BLIND)
    assert (decision.desired_to, decision.answers[0].reason) == (4, Reason.AT_MIN)


def test_an_enforced_change_is_a_clamp_of_the_winner_of_the_same_moment() -> None:
    decision = decided(a_request(add(2)), desired=1, group=a_group(minimum=4), fleet=a_fleet())
    assert (decision.desired_from, decision.desired_to, decision.state.revision) == (1, 6, 1)
    assert decision.winner is not None
    assert decision.winner.clamps == (Clamp(guard=Reason.BOUNDS, before=1, after=4),)


def test_quiet_times_that_are_over_are_forgotten() -> None:
    running, over = a_quiet(Direction.OUT, until=1), a_quiet(Direction.IN, until=0)
    assert decided(state=GroupState(quiets=(over, running))).state.quiets == (running,)


@pytest.mark.parametrize(
    ("desired", "advised"), [pytest.param(50, 40, id="bounds"), pytest.param(None, 7, id="first-listing")]
)
def test_mode_advise_enforces_no_change(desired: int | None, advised: int) -> None:
    state = GroupState(grown_at=Instant(5.0), quiets=(a_quiet(Direction.IN, until=-1),))
    decision = decided(desired=desired, group=a_group(mode=Mode.ADVISE), fleet=a_fleet(marked=7), state=state)
    assert (decision.desired_to, decision.advised_to) == (desired, advised)
    assert decision.state == GroupState(desired=desired, grown_at=Instant(5.0), quiets=state.quiets)
    assert decision.reason is (Reason.STEADY if desired is None else Reason.ADVISED)
