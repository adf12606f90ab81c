"""Schedules in decisions: limits in force, times that are due, and their explanations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.adjustments import Adjustment
from config.model.calendars import Calendar
from config.model.catalogue import Group, Mode
from config.model.schedules import End, LastsFor, Once, Schedule, ScheduledBound, ScheduledChange, ScheduledLimit, Times
from config.units import GroupId, Instant, PolicyId
from tests.support.trigger import (
    NOON,
    a_catalogue,
    a_fleet,
    a_floor,
    a_group,
    a_person,
    a_quiet,
    a_request,
    add,
    an_advice,
    an_alarm,
    an_evaluation,
    at,
    remove,
    set_to,
)
from trigger.decide import decide
from trigger.explain.explanation import explain
from trigger.explain.shapes import shape
from trigger.explain.words import say
from trigger.guards.turns import KEPT
from trigger.policies.schedules import due
from trigger.reasons import Reason
from trigger.requests import Decision, Fleet, GroupState, Pause, Request
from trigger.verdicts import Direction, Evaluation

ELEVEN, NOON_DAILY, ONE = (Calendar(cron=f"0 {hour} * * *") for hour in (11, 12, 13))


def a_limit(
    limit: ScheduledBound, size: int, *, times: Times = ELEVEN, until: End = ONE, id: str = "days"
) -> ScheduledLimit:
    """From 11:00 to 13:00; it is noon."""
    return ScheduledLimit(id=PolicyId(id), times=times, until=until, limit=limit, size=size)


def floor(size: int, id: str = "days") -> ScheduledLimit:
    return a_limit(ScheduledBound.FLOOR, size, id=id)


def ceiling(size: int, id: str = "nights") -> ScheduledLimit:
    return a_limit(ScheduledBound.CEILING, size, id=id)


def a_change(
    does: Adjustment, *, times: Times = NOON_DAILY, grace: float = 3600.0, quiet_time: float = 300.0, id: str = "launch"
) -> ScheduledChange:
    return ScheduledChange(id=PolicyId(id), times=times, adjustment=does, grace=grace, quiet_time=quiet_time)


def with_schedules(*schedules: Schedule, minimum: int = 2, maximum: int = 40, mode: Mode = Mode.ACT) -> Group:
    return replace(a_group(minimum=minimum, maximum=maximum, mode=mode), schedules=schedules)


def asked(group: Group, *requests: Request, desired: int = 10, state: GroupState | None = None) -> Decision:
    before = replace(GroupState() if state is None else state, desired=desired)
    return decide(group, requests, a_fleet(), before, at(), evaluation=None)


class Decider:
    """A group whose ticks follow each other, as `handler.runtime.decision_queue` lets them."""

    def __init__(self, group: Group, desired: int = 4) -> None:
        self.group = group
        self.state = GroupState(desired=desired)

    def tick(self, seconds: float, *, fleet: Fleet | None = None, evaluation: Evaluation | None = None) -> Decision:
        now = at(seconds)
        timely = due(self.group, self.state, now.wall)
        decision = decide(
            self.group, timely, fleet or a_fleet(), self.state, now, evaluation=evaluation or an_evaluation()
        )
        self.state = decision.state
        return decision

    def ticks(self, seconds: Sequence[float]) -> list[tuple[float, Reason]]:
        """When something was answered, and how."""
        decisions = [(each, self.tick(each)) for each in seconds]
        return [(each, answer.reason) for each, decision in decisions for answer in decision.answers]


# Limits


@pytest.mark.parametrize(
    ("schedules", "desired", "to", "reason"),
    [
        pytest.param((floor(6),), 4, 6, Reason.SCHEDULE, id="a floor raises"),
        pytest.param((floor(6),), 8, 8, Reason.STEADY, id="a floor leaves more"),
        pytest.param((floor(60),), 4, 40, Reason.SCHEDULE, id="at most to max"),
        pytest.param((floor(6, "a"), floor(8, "b")), 4, 8, Reason.SCHEDULE, id="the greatest floor counts"),
        pytest.param((ceiling(6),), 8, 6, Reason.SCHEDULE, id="a ceiling brings down"),
        pytest.param((ceiling(6),), 4, 4, Reason.STEADY, id="a ceiling leaves fewer"),
        pytest.param((ceiling(1),), 8, 2, Reason.SCHEDULE, id="at least to min"),
        pytest.param((ceiling(6, "a"), ceiling(5, "b")), 8, 5, Reason.SCHEDULE, id="the lowest ceiling counts"),
        pytest.param((ceiling(4), floor(6)), 8, 6, Reason.SCHEDULE, id="a floor wins over a ceiling"),
        pytest.param((floor(6),), 1, 6, Reason.BOUNDS, id="below the declared min, that is the reason"),
    ],
)
def test_limits_move_the_bounds_and_the_size_follows(
    schedules: tuple[Schedule, ...], desired: int, to: int, reason: Reason
) -> None:
    decision = asked(with_schedules(*schedules), desired=desired)
    assert (decision.desired_to, decision.reason) == (to, reason)


def test_a_limit_that_does_not_stand_does_nothing() -> None:
    later = a_limit(ScheduledBound.FLOOR, 6, times=ONE, until=LastsFor(span=60.0))
    assert asked(with_schedules(later), desired=4).reason is Reason.STEADY


def test_when_a_limit_ends_the_size_stays() -> None:
    decider = Decider(with_schedules(a_limit(ScheduledBound.FLOOR, 6, times=NOON_DAILY, until=LastsFor(span=60.0))))
    assert [decider.tick(seconds).desired_to for seconds in (-30, 0, 30, 60, 90)] == [4, 6, 6, 6, 6]


def test_a_limit_begins_no_quiet_time_and_waits_for_none() -> None:
    quiet = GroupState(quiets=(a_quiet(Direction.OUT),))
    decision = asked(with_schedules(floor(6)), desired=4, state=quiet)
    assert (decision.desired_to, decision.state.quiets) == (6, quiet.quiets)


@pytest.mark.parametrize(
    ("schedule", "request_", "reason", "to"),
    [
        pytest.param(floor(6), a_request(remove(9)), Reason.SCALED_IN, 6, id="a policy shrinks to the floor"),
        pytest.param(floor(10), an_alarm(remove(1)), Reason.AT_MIN, 10, id="an alarm at the floor"),
        pytest.param(ceiling(12), a_request(add(9)), Reason.SCALED_OUT, 12, id="a policy grows to the ceiling"),
        pytest.param(ceiling(10), an_alarm(add(1)), Reason.AT_MAX, 10, id="an alarm at the ceiling"),
        pytest.param(floor(6), a_person(5), Reason.SCHEDULE, 10, id="a person below the floor"),
        pytest.param(ceiling(12), a_person(13), Reason.SCHEDULE, 10, id="a person above the ceiling"),
        pytest.param(ceiling(12), a_person(13, force=True), Reason.FORCED, 13, id="a person with force"),
        pytest.param(floor(6), a_person(1), Reason.BELOW_MIN, 10, id="a person below the declared min"),
        pytest.param(ceiling(12), a_person(41), Reason.ABOVE_MAX, 10, id="a person above the declared max"),
    ],
)
def test_requests_meet_the_bounds_in_force(
    schedule: ScheduledLimit, request_: Request, reason: Reason, to: int
) -> None:
    decision = asked(with_schedules(schedule), request_)
    (answer,) = decision.answers
    assert (answer.reason, decision.desired_to) == (reason, to)
    assert answer.until == (NOON + 3600 if reason is Reason.SCHEDULE else None)


def test_a_size_that_a_person_forced_above_a_ceiling_stays_until_the_ceiling_ends() -> None:
    group = with_schedules(ceiling(12))
    forced = asked(group, a_person(20, force=True)).state
    assert decide(group, (), a_fleet(), forced, at(60), evaluation=None).desired_to == 20
    after = decide(group, (), a_fleet(), forced, at(3600), evaluation=None)
    assert (after.desired_to, after.state.forced) == (20, False)


def test_an_alerts_floor_wins_over_a_ceiling_and_max_over_both() -> None:
    state = GroupState(signals=(a_floor(20),))
    assert asked(with_schedules(ceiling(12)), desired=10, state=state).desired_to == 20
    assert asked(with_schedules(ceiling(12), maximum=15), desired=10, state=state).desired_to == 15


def test_a_paused_group_keeps_its_size_and_follows_when_it_goes_on() -> None:
    group, state = with_schedules(floor(6)), GroupState(pause=Pause.DECISIONS)
    assert asked(group, desired=4, state=state).desired_to == 4
    assert asked(group, desired=4).desired_to == 6


def test_advice_says_where_a_limit_would_bring_the_size_and_leaves_it() -> None:
    decision = asked(with_schedules(floor(6), mode=Mode.ADVISE), desired=4)
    assert (decision.desired_to, decision.advised_to, decision.reason) == (4, 6, Reason.ADVISED)


@given(
    schedules=st.lists(st.builds(a_limit, st.sampled_from(ScheduledBound), st.integers(0, 60)), max_size=4),
    desired=st.integers(2, 40),
)
def test_no_schedule_leaves_the_declared_bounds(schedules: list[ScheduledLimit], desired: int) -> None:
    found = asked(with_schedules(*schedules), desired=desired).desired_to
    assert found is not None
    assert 2 <= found <= 40


# Changes


def test_a_time_is_carried_out_once_at_the_first_tick_after_it() -> None:
    decider = Decider(with_schedules(a_change(add(2))))
    assert decider.ticks([-60, -30, 0, 30, 60, 86400 - 30, 86400 + 10, 86400 + 40]) == [
        (0, Reason.SCALED_OUT),
        (86400 + 10, Reason.SCALED_OUT),
    ]
    assert decider.state.desired == 8


def test_a_scheduled_change_begins_its_quiet_time_and_meets_that_of_others() -> None:
    decider = Decider(
        with_schedules(a_change(add(2)), a_change(add(3), times=Once(at=Instant(NOON + 60)), id="second"))
    )
    assert decider.ticks([-30, 0, 60]) == [(0, Reason.SCALED_OUT), (60, Reason.QUIET)]
    (quiet,) = decider.state.quiets
    assert (quiet.policy, quiet.until) == ("launch", NOON + 300)
    assert decider.ticks([290, 310, 340]) == [(290, Reason.QUIET), (310, Reason.SCALED_OUT)]  # late, and once


def test_a_time_that_can_do_nothing_is_over() -> None:
    decider = Decider(with_schedules(a_change(add(2))), desired=40)
    assert decider.ticks([-30, 0, 30, 60]) == [(0, Reason.AT_MAX)]


def test_a_refusal_that_ends_by_itself_makes_it_late_and_in_the_end_missed() -> None:
    decider = Decider(with_schedules(a_change(add(2), grace=60.0)))
    decider.tick(-30)
    assert [decider.tick(each, fleet=a_fleet(creates_left=0)).reason for each in (0, 30, 60)] == [Reason.BUDGET] * 3
    assert decider.ticks([61, 90]) == [(61, Reason.MISSED)]


def test_a_time_waits_for_the_first_listing() -> None:
    decider = Decider(with_schedules(a_change(add(2))))
    decider.state = GroupState()
    unlisted = a_fleet(listed=False)
    assert [decider.tick(each, fleet=unlisted).reason for each in (-30, 0)] == [Reason.NOT_LISTED] * 2
    assert decider.tick(30, fleet=a_fleet(marked=4)).desired_to == 6


def test_a_persons_request_leaves_the_times_of_a_schedule_alone() -> None:
    decider = Decider(with_schedules(a_change(add(2), quiet_time=0.0)))
    decider.tick(-30)
    executed = replace(an_alarm(add(2), policy="launch"), quiet_time=0.0)
    decider.state = decide(decider.group, (executed,), a_fleet(), decider.state, at(-10), evaluation=None).state
    assert decider.ticks([0, 30]) == [(0, Reason.SCALED_OUT)]


def test_a_scheduled_scale_in_asks_no_policy_for_consent() -> None:
    decider = Decider(with_schedules(a_change(set_to(3))), desired=8)
    decider.tick(-30)
    decision = decider.tick(0, evaluation=an_evaluation(an_advice("in", remove(1), Reason.NOT_MET)))
    assert (decision.reason, decision.desired_to) == (Reason.SCALED_IN, 3)


def test_what_passed_before_a_schedule_was_first_seen_is_never_carried_out() -> None:
    decider = Decider(with_schedules(a_change(add(2), grace=math.inf)))
    assert decider.ticks([10, 40, 86400 - 10]) == []


def test_a_moment_in_the_past_never_comes() -> None:
    decider = Decider(with_schedules(a_change(add(2), times=Once(at=Instant(NOON - 10)), grace=math.inf)))
    assert decider.ticks([0, 30, 86400]) == []


@pytest.mark.parametrize(
    ("grace", "late", "reason"),
    [
        pytest.param(0.0, 45.0, Reason.SCALED_OUT, id="a tick may jitter"),
        pytest.param(0.0, 46.0, Reason.MISSED, id="skip"),
        pytest.param(600.0, 600.0, Reason.SCALED_OUT, id="within the grace"),
        pytest.param(600.0, 601.0, Reason.MISSED, id="after the grace"),
        pytest.param(math.inf, 80000.0, Reason.SCALED_OUT, id="once, however late"),
    ],
)
def test_a_time_that_passed_while_the_daemon_was_down_is_carried_out_late_or_missed(
    grace: float, late: float, reason: Reason
) -> None:
    decider = Decider(with_schedules(a_change(add(2), grace=grace)))
    assert decider.ticks([-30, late, late + 30]) == [(late, reason)]


@pytest.mark.parametrize("first", [True, False])
def test_a_time_is_handled_even_if_a_person_asks_for_the_same_size_at_that_moment(*, first: bool) -> None:
    decider = Decider(with_schedules(a_change(add(2))), desired=40)
    decider.tick(-30)
    (timely,), executed = due(decider.group, decider.state, at().wall), an_alarm(add(2), policy="launch")
    both = (timely, executed) if first else (executed, timely)
    decision = decide(decider.group, both, a_fleet(), decider.state, at(), evaluation=None)
    assert [answer.reason for answer in decision.answers] == [Reason.AT_MAX] * 2
    decider.state = decision.state
    assert decider.ticks([30, 60]) == []


def test_of_several_times_that_passed_the_last_is_carried_out() -> None:
    decider = Decider(with_schedules(a_change(add(2), times=Calendar(cron="*/10 * * * *"), grace=math.inf)))
    assert decider.ticks([-30, 3 * 3600 + 5, 3 * 3600 + 35]) == [(3 * 3600 + 5, Reason.SCALED_OUT)]
    assert decider.state.desired == 6


def test_of_schedules_at_the_same_moment_the_larger_wins_and_the_other_follows() -> None:
    decider = Decider(with_schedules(a_change(add(2), id="a"), a_change(add(5), id="b")))
    assert decider.ticks([-30, 0, 310]) == [(0, Reason.OUTBID), (0, Reason.SCALED_OUT), (310, Reason.SCALED_OUT)]
    assert decider.state.desired == 11


def test_another_calendar_begins_anew() -> None:
    decider = Decider(with_schedules(a_change(add(2), times=ELEVEN, grace=math.inf)))
    decider.tick(-7200)
    decider.group = with_schedules(a_change(add(2), times=NOON_DAILY, grace=math.inf))
    assert (
        decider.ticks([10, 40]) == []
    )  # 11:00 has gone with the old one, and 12:00 passed before the new one was seen


def test_another_adjustment_goes_on() -> None:
    decider = Decider(with_schedules(a_change(add(2))))
    decider.tick(-30)
    decider.group = with_schedules(a_change(add(3)))
    assert decider.tick(10).desired_to == 7


def test_a_schedule_that_was_away_begins_anew() -> None:
    decider = Decider(with_schedules(a_change(add(2))))
    decider.tick(-30)
    decider.group = a_group()
    assert decider.tick(-20).state.watched == ()
    decider.group = with_schedules(a_change(add(2)))
    assert decider.ticks([10, 40]) == []


@pytest.mark.parametrize("pause", [Pause.ALL, Pause.DECISIONS, Pause.OUT])
def test_a_time_that_comes_while_paused_is_answered_so_and_over(pause: Pause) -> None:
    decider = Decider(with_schedules(a_change(add(2))))
    decider.tick(-30)
    decider.state = replace(decider.state, pause=pause)
    assert decider.ticks([0]) == [(0, Reason.PAUSED)]
    decider.state = replace(decider.state, pause=Pause.NO)
    assert decider.ticks([30, 60]) == []


def test_mode_off_answers_so_and_forgets() -> None:
    decider = Decider(with_schedules(a_change(add(2))))
    decider.tick(-30)
    decider.group = replace(decider.group, mode=Mode.OFF)
    assert decider.ticks([0]) == [(0, Reason.MODE_OFF)]
    decider.tick(30)
    decider.group = replace(decider.group, mode=Mode.ACT)
    assert decider.ticks([40, 70]) == []


def test_advice_is_given_once() -> None:
    decider = Decider(with_schedules(a_change(add(2)), mode=Mode.ADVISE))
    decider.tick(-30)
    decision = decider.tick(0)
    assert (decision.reason, decision.desired_to, decision.advised_to) == (Reason.ADVISED, 4, 6)
    assert decider.ticks([30, 60]) == []


def test_a_clock_that_is_set_back_repeats_nothing() -> None:
    decider = Decider(with_schedules(a_change(add(2))))
    assert decider.ticks([-30, 5, -20, 10]) == [(5, Reason.SCALED_OUT)]


def test_a_clock_that_was_far_ahead_does_not_stop_a_schedule_for_ever() -> None:
    decider = Decider(with_schedules(a_change(add(2))))
    assert [when for when, _ in decider.ticks([-30, 365 * 86400, 10, 86400 + 10])] == [365 * 86400, 86400 + 10]


@given(
    gaps=st.lists(st.floats(1, 4000), min_size=5, max_size=60),
    minutes=st.sampled_from(["*/7", "0", "5,50"]),
    pauses=st.lists(st.booleans(), min_size=60, max_size=60),
)
def test_every_time_is_answered_at_most_once_and_none_is_lost(
    gaps: list[float], minutes: str, pauses: list[bool]
) -> None:
    decider = Decider(
        with_schedules(a_change(add(1), times=Calendar(cron=f"{minutes} * * * *"), grace=math.inf, quiet_time=0.0))
    )
    now, answered, previous = 0.0, [], 0.0
    decider.tick(now)
    for gap, paused in zip(gaps, pauses, strict=False):
        previous, now = now, now + gap
        decider.state = replace(decider.state, pause=Pause.DECISIONS if paused else Pause.NO)
        found = [answer.request.due for answer in decider.tick(now).answers]
        step = {"*/7": 420.0, "0": 3600.0, "5,50": 3600.0}[minutes]
        if gap > step:
            assert found  # at least one time lies in between
        assert all(each is not None and NOON + previous < each <= NOON + now for each in found)
        answered += found
    assert len(answered) == len(set(answered))


def test_a_time_that_waits_for_the_turn_of_another_group_is_not_lost_to_a_policys_request() -> None:
    decider = Decider(replace(with_schedules(a_change(set_to(20))), service="shop"))
    behind = replace(a_fleet(), ahead=GroupId("db"))
    decider.tick(-30)
    assert decider.tick(0, fleet=behind).reason is Reason.WAITING_TURN

    timely = due(decider.group, decider.state, at(30).wall)
    asked_ = (*timely, a_request(add(1)))
    decider.state = decide(decider.group, asked_, behind, decider.state, at(30), evaluation=an_evaluation()).state

    assert decider.tick(60).desired_to == 20
    assert decider.ticks([90, 120]) == []


def test_a_time_whose_turn_came_too_late_is_carried_out_as_late_as_it_may_be() -> None:
    decider = Decider(replace(with_schedules(a_change(set_to(20))), service="shop"))
    decider.tick(-30)
    decider.tick(0, fleet=replace(a_fleet(), ahead=GroupId("db")))

    assert decider.tick(KEPT + 30).desired_to == 20, "the daemon was down for more than ten minutes"
    assert decider.ticks([KEPT + 60]) == []


# In words


def result(group: Group, decision: Decision, seconds: float = 0.0) -> tuple[str, ...]:
    explanation = explain(a_catalogue(group=group), group, None, decision, a_fleet())
    return say(explanation, Instant(NOON + seconds))


def test_why_shows_a_limit_with_its_start_and_end() -> None:
    group = with_schedules(
        floor(6), ceiling(20), a_limit(ScheduledBound.FLOOR, 9, times=ONE, until=LastsFor(span=60.0), id="x")
    )
    lines = result(group, asked(group))
    assert lines[1].startswith("size 10 in 6..20")
    assert lines[-3:] == (
        "schedule days keeps web at 6 or more until 2026-01-01 13:00 UTC (1h left), since 2026-01-01 11:00 UTC",
        "schedule nights keeps web at 20 or fewer until 2026-01-01 13:00 UTC (1h left), since 2026-01-01 11:00 UTC",
        "schedule x: next at 2026-01-01 13:00 UTC, floor 9",
    )


def test_why_shows_the_next_time_of_a_change_and_its_answer() -> None:
    over = a_change(add(1), times=Once(at=Instant(NOON - 60)), id="over")
    decider = Decider(with_schedules(a_change(remove(10)), over))
    decider.tick(-30)
    lines = result(decider.group, decider.tick(0))
    assert lines[-2:] == (
        "schedule launch: next at 2026-01-02 12:00 UTC, remove 10",
        "schedule over: never again, add 1",
    )
    assert any(line.startswith("schedule launch: ") and "wants " in line for line in lines)


def test_the_story_changes_when_a_limit_begins_or_ends() -> None:
    group = with_schedules(floor(2))
    shapes = [
        shape(
            explain(
                a_catalogue(group=group),
                group,
                None,
                decide(group, (), a_fleet(), GroupState(desired=4), now, evaluation=None),
                a_fleet(),
            )
        )
        for now in (at(-3660), at(0), at(60), at(3660))
    ]
    assert shapes[0] != shapes[1] == shapes[2] != shapes[3]
