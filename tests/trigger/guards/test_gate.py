from __future__ import annotations

from dataclasses import replace

import pytest

from config.model.adjustments import AdjustmentVerb
from config.model.catalogue import QuietScope
from config.units import Instant
from tests.support.trigger import (
    NOON,
    a_fleet,
    a_group,
    a_person,
    a_quiet,
    a_request,
    add,
    an_alarm,
    decided,
    remove,
    set_to,
)
from trigger.reasons import Reason
from trigger.requests import Clamp, Decision, Fleet, GroupState, Pause, Quiet, Request
from trigger.verdicts import Aim, Direction

OUT, IN = Direction.OUT, Direction.IN


def an_aim(load: float) -> Aim:
    return Aim(verb=AdjustmentVerb.ADD, load=load, level=1.0)


def result(decision: Decision) -> tuple[int | None, Reason]:
    return decision.desired_to, decision.answers[0].reason


@pytest.mark.parametrize(
    ("desired", "request_", "expected", "clamps"),
    [
        pytest.param(4, a_request(add(2)), (6, Reason.SCALED_OUT), (), id="inside"),
        pytest.param(
            39, a_request(add(5)), (40, Reason.SCALED_OUT), ((Reason.AT_MAX, 44, 40),), id="DESIGN-partial-out"
        ),
        pytest.param(3, a_request(remove(5)), (2, Reason.SCALED_IN), ((Reason.AT_MIN, 0, 2),), id="DESIGN-partial-in"),
        pytest.param(40, a_request(add(1)), (40, Reason.AT_MAX), (), id="already-at-max"),
        pytest.param(2, a_request(remove(1)), (2, Reason.AT_MIN), (), id="already-at-min"),
        pytest.param(
            4, a_request(set_to(99)), (40, Reason.SCALED_OUT), ((Reason.AT_MAX, 99, 40),), id="a-set-is-clamped-too"
        ),
        pytest.param(4, a_request(add(0, percent=True)), (4, Reason.NO_CHANGE), (), id="0%"),
        pytest.param(4, a_request(set_to(4)), (4, Reason.NO_CHANGE), (), id="set-to-what-it-is"),
        pytest.param(4, a_request(set_to(50), force=True), (40, Reason.SCALED_OUT), None, id="force-is-for-people"),
        pytest.param(4, a_person(10), (10, Reason.SCALED_OUT), (), id="person-inside"),
        pytest.param(4, a_person(41), (4, Reason.ABOVE_MAX), (), id="DESIGN-person-above-max"),
        pytest.param(4, a_person(41, force=True), (41, Reason.FORCED), (), id="DESIGN-person-above-max-with-force"),
        pytest.param(4, a_person(1), (4, Reason.BELOW_MIN), (), id="DESIGN-person-below-min"),
        pytest.param(4, a_person(1, force=True), (4, Reason.BELOW_MIN), (), id="DESIGN-below-min-needs-a-pause-too"),
    ],
)
def test_bounds(
    desired: int,
    request_: Request,
    expected: tuple[int, Reason],
    clamps: tuple[tuple[Reason, int, int], ...] | None,
) -> None:
    decision = decided(request_, desired=desired)
    assert result(decision) == expected
    if clamps is not None:
        assert decision.answers[0].clamps == tuple(Clamp(guard=g, before=b, after=a) for g, b, a in clamps)


@pytest.mark.parametrize(
    ("quiet", "request_", "blocked"),
    [
        pytest.param(a_quiet(OUT), a_request(remove(1)), True, id="DESIGN-in-by-a-quiet-that-an-out-began"),
        pytest.param(a_quiet(IN), a_request(remove(1)), True, id="DESIGN-in-by-a-quiet-that-an-in-began"),
        pytest.param(a_quiet(OUT), a_request(add(1)), True, id="DESIGN-out-by-a-quiet-that-an-out-began"),
        pytest.param(a_quiet(IN), a_request(add(1)), False, id="DESIGN-out-not-by-a-quiet-that-an-in-began"),
        pytest.param(a_quiet(OUT, policy="other"), a_request(add(1)), True, id="the-whole-group-is-quiet"),
        pytest.param(a_quiet(OUT, policy=None), an_alarm(add(1)), True, id="an-alarm-too"),
        pytest.param(a_quiet(OUT), a_person(5), False, id="a-person-never"),
        pytest.param(
            a_quiet(OUT, policy="other", scope=QuietScope.POLICY),
            a_request(remove(1)),
            False,
            id="CloudStack-another-policy's-own",
        ),
        pytest.param(a_quiet(OUT, scope=QuietScope.POLICY), a_request(remove(1)), True, id="CloudStack-one's-own"),
        pytest.param(a_quiet(OUT, until=0), a_request(remove(1)), False, id="Otter-over-at-its-very-end"),
        pytest.param(a_quiet(OUT, until=0.001), a_request(remove(1)), True, id="not-a-moment-before"),
    ],
)
def test_quiet_time(quiet: Quiet, request_: Request, blocked: bool) -> None:
    decision = decided(request_, state=GroupState(quiets=(quiet,)))
    assert (decision.answers[0].reason is Reason.QUIET) is blocked
    assert (decision.desired_to == 4) is blocked
    assert decision.answers[0].until == (quiet.until if blocked else None)


def test_the_last_of_several_quiet_times_is_the_one_to_wait_for() -> None:
    decision = decided(a_request(add(1)), state=GroupState(quiets=(a_quiet(OUT, until=90), a_quiet(OUT, until=30))))
    assert decision.answers[0].until == NOON + 90


@pytest.mark.parametrize(
    ("request_", "fleet", "grown_ago", "expected"),
    [
        pytest.param(a_request(add(2)), a_fleet(in_service=3), 60, (4, Reason.CATCHING_UP), id="DESIGN-catching-up"),
        pytest.param(a_request(add(2)), a_fleet(in_service=4), 60, (6, Reason.SCALED_OUT), id="all-in-service"),
        pytest.param(a_request(add(2)), a_fleet(in_service=3), 899, (4, Reason.CATCHING_UP), id="just-in-time"),
        pytest.param(a_request(add(2)), a_fleet(in_service=3), 900, (6, Reason.SCALED_OUT), id="DESIGN-build-timeout"),
        pytest.param(a_request(add(2)), a_fleet(in_service=3), None, (6, Reason.SCALED_OUT), id="a-loss-is-no-growth"),
        pytest.param(a_request(remove(1)), a_fleet(in_service=3), 60, (3, Reason.SCALED_IN), id="an-in-need-not-wait"),
        pytest.param(an_alarm(add(2)), a_fleet(in_service=3), 60, (4, Reason.CATCHING_UP), id="an-alarm-waits-too"),
        pytest.param(a_person(6), a_fleet(in_service=3), 60, (6, Reason.SCALED_OUT), id="a-person-does-not"),
        pytest.param(a_request(set_to(6)), a_fleet(in_service=3), 60, (6, Reason.SCALED_OUT), id="a-size-by-itself"),
        pytest.param(a_request(set_to(4)), a_fleet(in_service=3), 60, (4, Reason.NO_CHANGE), id="a-size-that-boots"),
        pytest.param(
            a_request(set_to(150, percent=True)), a_fleet(in_service=3), 60, (4, Reason.CATCHING_UP), id="a-share"
        ),
        pytest.param(a_request(an_aim(6)), a_fleet(in_service=3), 60, (4, Reason.CATCHING_UP), id="a-target-waits"),
    ],
)
def test_growth_waits_for_earlier_growth(
    request_: Request, fleet: Fleet, grown_ago: float | None, expected: tuple[int, Reason]
) -> None:
    grown_at = None if grown_ago is None else Instant(NOON - grown_ago)
    assert result(decided(request_, fleet=fleet, state=GroupState(grown_at=grown_at))) == expected


@pytest.mark.parametrize(
    ("request_", "grown_ago", "expected"),
    [
        pytest.param(a_request(remove(1)), 899, (4, Reason.QUIET), id="a-policy-keeps-what-was-added"),
        pytest.param(an_alarm(remove(1)), 899, (4, Reason.QUIET), id="an-alarm-too"),
        pytest.param(a_request(remove(1)), 900, (3, Reason.SCALED_IN), id="until-its-very-end"),
        pytest.param(a_request(remove(1)), None, (3, Reason.SCALED_IN), id="a-group-that-never-grew-may-shrink"),
        pytest.param(a_person(3), 60, (3, Reason.SCALED_IN), id="a-person-need-not-wait"),
        pytest.param(a_request(add(1)), 60, (5, Reason.SCALED_OUT), id="growth-never-waits"),
    ],
)
def test_a_group_keeps_for_a_while_what_it_grew_by(
    request_: Request, grown_ago: float | None, expected: tuple[int, Reason]
) -> None:
    grown_at = None if grown_ago is None else Instant(NOON - grown_ago)
    decision = decided(request_, group=replace(a_group(), keep_growth=900.0), state=GroupState(grown_at=grown_at))
    assert result(decision) == expected
    waits = expected[1] is Reason.QUIET and grown_at is not None
    assert decision.answers[0].until == (grown_at + 900 if waits and grown_at is not None else None)


@pytest.mark.parametrize(
    ("request_", "fleet", "expected"),
    [
        pytest.param(a_request(add(2)), a_fleet(back_off_until=60), (4, Reason.BUILD_BACK_OFF), id="DESIGN-back-off"),
        pytest.param(a_request(add(2)), a_fleet(back_off_until=0), (6, Reason.SCALED_OUT), id="back-off-is-over"),
        pytest.param(a_request(remove(1)), a_fleet(back_off_until=60), (3, Reason.SCALED_IN), id="an-in-goes-on"),
        pytest.param(a_person(6), a_fleet(back_off_until=60), (6, Reason.SCALED_OUT), id="a-person-goes-on"),
        pytest.param(a_request(add(5)), a_fleet(creates_left=2), (6, Reason.SCALED_OUT), id="DESIGN-budget-clamps"),
        pytest.param(a_request(add(5)), a_fleet(creates_left=0), (4, Reason.BUDGET), id="DESIGN-budget-spent"),
        pytest.param(a_request(remove(1)), a_fleet(creates_left=0), (3, Reason.SCALED_IN), id="an-in-costs-nothing"),
        pytest.param(a_person(9), a_fleet(creates_left=0), (9, Reason.SCALED_OUT), id="a-person-has-no-budget"),
    ],
)
def test_failing_builds_and_budgets_brake_growth(request_: Request, fleet: Fleet, expected: tuple[int, Reason]) -> None:
    assert result(decided(request_, fleet=fleet)) == expected


def test_bounds_come_before_the_budget_and_both_are_clamps() -> None:
    decision = decided(a_request(add(10)), group=a_group(maximum=12), fleet=a_fleet(creates_left=3))
    assert decision.desired_to == 7
    assert decision.answers[0].clamps == (
        Clamp(guard=Reason.AT_MAX, before=14, after=12),
        Clamp(guard=Reason.BUDGET, before=12, after=7),
    )


def test_a_forced_excess_ends_with_the_next_accepted_scale_in() -> None:
    decision = decided(a_request(remove(1)), desired=50, state=GroupState(forced=True))
    assert (decision.desired_to, decision.state.forced) == (40, False)


def test_surplus_members_leave_request_by_request() -> None:
    decision = decided(a_request(remove(1)), desired=50, state=GroupState(kept=True))
    assert (decision.desired_to, decision.state.kept) == (49, True)


@pytest.mark.parametrize("state", [GroupState(kept=True), GroupState(forced=True)], ids=["kept", "forced"])
def test_no_growth_above_max_and_none_of_it_is_taken_away_by_asking(state: GroupState) -> None:
    assert result(decided(a_request(add(5)), desired=50, state=state)) == (50, Reason.AT_MAX)


@pytest.mark.parametrize(
    ("pause", "request_", "expected"),
    [
        pytest.param(Pause.OUT, a_request(add(2)), (4, Reason.PAUSED), id="growth"),
        pytest.param(Pause.OUT, a_request(remove(1)), (3, Reason.SCALED_IN), id="the-other-way"),
        pytest.param(Pause.IN, a_request(remove(1)), (4, Reason.PAUSED), id="scale-in"),
        pytest.param(Pause.IN, a_request(add(2)), (6, Reason.SCALED_OUT), id="the-other-way-round"),
        pytest.param(Pause.OUT, a_request(set_to(9), force=True), (4, Reason.PAUSED), id="force-is-for-people"),
        pytest.param(Pause.OUT, a_request(add(0)), (4, Reason.NO_CHANGE), id="nothing-to-do-is-no-direction"),
        pytest.param(Pause.OUT, a_person(6), (4, Reason.PAUSED), id="a-person"),
        pytest.param(Pause.OUT, a_person(3), (3, Reason.SCALED_IN), id="a-person-the-other-way"),
        pytest.param(Pause.OUT, a_person(6, force=True), (6, Reason.SCALED_OUT), id="a-person-with-force"),
        pytest.param(Pause.OUT, a_person(50, force=True), (50, Reason.FORCED), id="a-person-with-force-above-max"),
        pytest.param(Pause.IN, a_person(1, force=True), (4, Reason.BELOW_MIN), id="below-min-needs-a-whole-pause"),
    ],
)
def test_a_pause_of_one_direction_stops_only_that(
    pause: Pause, request_: Request, expected: tuple[int, Reason]
) -> None:
    assert result(decided(request_, state=GroupState(pause=pause))) == expected


@pytest.mark.parametrize("size", [0, 1, 30, 60])
def test_while_paused_a_person_may_force_any_size(size: int) -> None:
    decision = decided(a_person(size, force=True), state=GroupState(pause=Pause.ALL))
    inside = 2 <= size <= 40
    assert decision.desired_to == size
    assert decision.state.forced is not inside
    assert decision.reason is (Reason.SCALED_OUT if inside else Reason.FORCED)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        pytest.param(a_request(remove(1)), (4, Reason.BALANCER_NOT_FOUND), id="policy-in"),
        pytest.param(an_alarm(remove(1)), (4, Reason.BALANCER_NOT_FOUND), id="alarm-in"),
        pytest.param(a_person(3), (3, Reason.SCALED_IN), id="person-in"),
        pytest.param(a_request(add(1)), (5, Reason.SCALED_OUT), id="policy-out"),
        pytest.param(an_alarm(add(1)), (5, Reason.SCALED_OUT), id="alarm-out"),
    ],
)
def test_while_a_balancer_is_not_found_only_a_person_scales_in(request_: Request, expected: tuple[int, Reason]) -> None:
    decision = decided(request_, fleet=a_fleet(in_service=4, balancer_not_found=True))
    assert result(decision) == expected
    assert decision.answers[0].until is None
