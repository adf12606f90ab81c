"""Source of the rules: Kubernetes' HorizontalPodAutoscaler behavior, and docs/guards.md."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.pacing import FlapDamping, Pace, Select
from config.units import Instant
from tests.support.trigger import NOON, a_fleet, a_group, a_request, add, at, remove
from trigger.decide import decide
from trigger.guards.pacing import allowance, held_high_until, remembered
from trigger.reasons import Reason
from trigger.requests import GroupState, RequestCause, SizeChange
from trigger.verdicts import Direction

OUT, IN = Direction.OUT, Direction.IN


def moved(*steps: tuple[float, int, int]) -> tuple[SizeChange, ...]:
    return tuple(SizeChange(at=Instant(NOON + seconds), before=before, after=after) for seconds, before, after in steps)


@pytest.mark.parametrize(
    ("pace", "moves", "base", "direction", "left"),
    [
        pytest.param(Pace(count=4, per=60), moved(), 10, OUT, 4, id="all-of-it"),
        pytest.param(Pace(count=4, per=60), moved((-30, 7, 10)), 10, OUT, 1, id="what-is-left"),
        pytest.param(Pace(count=4, per=60), moved((-30, 2, 10)), 10, OUT, 0, id="never-less-than-nothing"),
        pytest.param(Pace(count=4, per=60), moved((-60, 2, 10)), 10, OUT, 4, id="a-span-ago-is-forgotten"),
        pytest.param(Pace(count=4, per=60), moved((-30, 12, 10)), 10, OUT, 4, id="the-other-direction-does-not-count"),
        pytest.param(Pace(count=2, per=60), moved((-30, 12, 11)), 11, IN, 1, id="scale-ins-likewise"),
        pytest.param(Pace(percent=10, per=60), moved(), 25, OUT, 3, id="a-percentage-is-rounded-up"),
        pytest.param(Pace(percent=10, per=60), moved(), 0, OUT, 1, id="and-is-never-zero"),
        pytest.param(Pace(percent=50, per=60), moved((-30, 10, 14)), 14, OUT, 1, id="of-the-size-before"),
        pytest.param(Pace(percent=50, per=60), moved((-30, 10, 6)), 6, IN, 1, id="of-the-size-before-a-scale-in"),
        pytest.param(Pace(count=4, percent=100, per=60), moved(), 10, OUT, 10, id="Kubernetes-the-larger"),
        pytest.param(Pace(count=4, percent=100, per=60, select=Select.MIN), moved(), 10, OUT, 4, id="or-the-smaller"),
    ],
)
def test_how_many_may_still_come_or_leave(
    pace: Pace, moves: tuple[SizeChange, ...], base: int, direction: Direction, left: int
) -> None:
    assert allowance(pace, moves, base, direction, Instant(NOON)) == left


DAMPING = FlapDamping(reversals=2, within=600, hold=1800)


@pytest.mark.parametrize(
    ("moves", "until"),
    [
        pytest.param(moved((0, 2, 3), (60, 3, 4), (120, 4, 5)), None, id="one-direction-is-no-reversal"),
        pytest.param(moved((0, 2, 3), (60, 3, 2)), None, id="one-reversal-is-not-two"),
        pytest.param(moved((0, 2, 3), (60, 3, 2), (120, 2, 3)), 1920, id="two-hold-from-the-last"),
        pytest.param(moved((0, 2, 3), (60, 3, 2), (700, 2, 3)), None, id="too-far-apart"),
        pytest.param(moved((0, 2, 3), (60, 3, 2), (120, 2, 3), (180, 3, 2)), 1980, id="a-third-prolongs"),
    ],
)
def test_a_size_that_changes_direction_often_is_held_high(moves: tuple[SizeChange, ...], until: float | None) -> None:
    assert held_high_until(DAMPING, moves) == (None if until is None else NOON + until)


def test_only_what_a_guard_of_the_group_counts_is_remembered() -> None:
    moves = moved((-90, 2, 3), (-30, 3, 4))
    group = a_group()

    assert remembered(moves, group, Instant(NOON)) == ()
    assert remembered(moves, replace(group, max_growth=Pace(count=1, per=60)), Instant(NOON)) == moves[1:]
    assert remembered(moves, replace(group, flap_damping=DAMPING), Instant(NOON)) == moves


def test_a_hold_lasts_though_the_move_before_its_first_reversal_is_old() -> None:
    damping = FlapDamping(reversals=4, within=3600, hold=1800)
    group = replace(a_group(maximum=40), flap_damping=damping)
    moves = moved((0, 6, 5), (1200, 5, 6), (2400, 6, 5), (3600, 5, 6), (4800, 6, 5))
    until = NOON + 4800 + 1800

    for now in (4800, 5399, 5400, 6000, 6599):
        assert held_high_until(damping, remembered(moves, group, Instant(NOON + now))) == until, now
    assert remembered(moves, group, Instant(NOON + 4800 + 5400)) == (), "nothing counts any more"


def test_a_policy_is_cut_to_the_pace_and_then_refused_until_there_is_room() -> None:
    group = replace(a_group(maximum=40), max_growth=Pace(count=3, per=300))

    first = decide(group, [a_request(add(5))], a_fleet(in_service=10), GroupState(desired=10), at(), evaluation=None)
    assert first.desired_to == 13
    assert first.winner is not None
    assert [(clamp.guard, clamp.before, clamp.after) for clamp in first.winner.clamps] == [(Reason.MAX_CHANGE, 15, 13)]

    state = replace(first.state, quiets=())
    second = decide(group, [a_request(add(5))], a_fleet(in_service=13), state, at(60), evaluation=None)
    (answer,) = second.answers
    assert (answer.reason, answer.until) == (Reason.MAX_CHANGE, NOON + 300)

    third = decide(group, [a_request(add(1))], a_fleet(in_service=13), state, at(300), evaluation=None)
    assert third.desired_to == 14


def test_a_person_is_neither_counted_nor_stopped() -> None:
    group = replace(a_group(maximum=40), max_growth=Pace(count=1, per=300))
    state = replace(GroupState(desired=10), moves=moved((-10, 9, 10)))

    decision = decide(
        group, [a_request(add(5), cause=RequestCause.PERSON)], a_fleet(in_service=10), state, at(), evaluation=None
    )

    assert decision.desired_to == 15
    assert decision.state.moves == state.moves


def test_no_member_leaves_while_the_size_is_held_high_and_growth_goes_on() -> None:
    group = replace(a_group(maximum=40), flap_damping=DAMPING)
    state = replace(GroupState(desired=3), moves=moved((-120, 2, 3), (-60, 3, 2), (-1, 2, 3)))

    shrinking = decide(group, [a_request(remove(1))], a_fleet(in_service=3), state, at(), evaluation=None)
    growing = decide(group, [a_request(add(1))], a_fleet(in_service=3), state, at(), evaluation=None)

    assert (shrinking.answers[0].reason, shrinking.answers[0].until) == (Reason.FLAPPING, NOON - 1 + 1800)
    assert growing.desired_to == 4


@given(st.lists(st.tuples(st.sampled_from([1.0, 30.0, 100.0]), st.integers(1, 9), st.booleans()), max_size=20))
def test_no_span_ever_sees_more_than_the_pace(requests: list[tuple[float, int, bool]]) -> None:
    pace = Pace(count=3, per=120)
    group = replace(a_group(minimum=0, maximum=200), max_growth=pace, max_shrinkage=pace)
    state, now, sizes = GroupState(desired=100), 0.0, []
    for wait, amount, growing in requests:
        now += wait
        before = state.desired or 0
        change = a_request(add(amount) if growing else remove(amount), quiet_time=0)
        fleet = a_fleet(in_service=before, creates_left=99)
        state = decide(group, [change], fleet, state, at(now), evaluation=None).state
        sizes.append((now, (state.desired or 0) - before))
    for end, _ in sizes:
        recent = [change for when, change in sizes if 0 <= end - when < 120]
        assert sum(change for change in recent if change > 0) <= 3
        assert sum(-change for change in recent if change < 0) <= 3
