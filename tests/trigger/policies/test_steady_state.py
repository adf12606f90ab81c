"""Check that skipped ticks have the result that judging them would give."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from aggregator.frames import Cell
from config.model.catalogue import Compare, Holds, Mode
from config.units import Instant, PolicyId
from tests.support.conditions import an_expression
from tests.support.trigger import (
    NOON,
    WEB,
    a_catalogue,
    a_condition,
    a_fleet,
    a_frame,
    a_group,
    a_policy,
    a_quiet,
    a_signal,
    add,
    an_advice,
    an_evaluation,
    at,
    measured,
    missing,
    remove,
    unranked,
)
from trigger.decide import decide
from trigger.policies.evaluate import evaluate, requests_from
from trigger.policies.steady_state import at_rest, resting
from trigger.reasons import Reason
from trigger.requests import Decision, GroupState, Pause, SignalKind, SizeChange
from trigger.verdicts import Direction, Evaluation, PolicyStreak

VALUES = st.sampled_from([0.0, 29.9, 30.0, 79.9, 80.0, 80.1, 100.0])
ENDS = VALUES | st.sampled_from([-math.inf, math.inf])


@st.composite
def cells(draw: st.DrawFn) -> Cell:
    low, value, high = sorted(draw(st.tuples(ENDS, VALUES, ENDS)))
    heard = draw(st.integers(0, 10))
    match draw(st.integers(0, 3)):
        case 0:
            return missing()
        case 1:
            return unranked(low, high)
        case 2:
            return measured(value)
        case _:
            within = next(each for each in (value, low, high) if math.isfinite(each))
            return measured(within, low=low, high=high, heard=heard)


@st.composite
def judged(draw: st.DrawFn) -> tuple[list[bool], Evaluation]:
    """Tell whether a group rests, by columns and by judging."""
    conditions = [
        a_condition(
            name,
            draw(st.sampled_from(Compare)),
            draw(VALUES),
            quorum=draw(st.none() | st.just(0.5)),
            counter=f"counter-{name}",
        )
        for name in "abc"
    ]
    expression = an_expression("backlog > 30")
    policies = [
        a_policy(
            name,
            when=draw(st.lists(st.sampled_from([*"abc", expression.id]), min_size=1, max_size=3, unique=True)),
            enough=draw(st.none() | st.just(1)),
            does=draw(st.sampled_from([add(1), remove(1)])),
            holds=draw(st.sampled_from(Holds)),
        )
        for name in draw(st.sampled_from([["out"], ["out", "in"]]))
    ]
    catalogue = a_catalogue(conditions=[*conditions, expression], policies=policies)
    frame = a_frame(catalogue, {name: draw(cells()) for name in [*"abc", "backlog"]})

    def bounds(key: object) -> tuple[np.ndarray, np.ndarray]:
        cell = frame.cells[key]  # type: ignore[index]  # a key of the frame
        return np.array([cell.low]), np.array([cell.high])

    rests = resting(catalogue, WEB, bounds, 1).tolist()
    return rests, evaluate(catalogue, WEB, frame, {}, at())


@given(judged())
def test_a_group_that_rests_is_judged_not_met_in_everything(result: tuple[list[bool], Evaluation]) -> None:
    (rests,), evaluation = result
    event(f"rests: {rests}")
    if rests:
        assert {advice.reason for advice in evaluation.advices} == {Reason.NOT_MET}
        assert not evaluation.holds
        assert requests_from(a_catalogue(), evaluation) == ()


STATES = st.builds(
    GroupState,
    desired=st.none() | st.integers(0, 45),
    forced=st.booleans(),
    kept=st.booleans(),
    pause=st.sampled_from(Pause),
    orphaned=st.booleans(),
    grown_at=st.none() | st.just(Instant(NOON - 60)),
    quiets=st.sampled_from([(), (a_quiet(Direction.OUT),)]),
    signals=st.sampled_from([(), (a_signal(SignalKind.FLOOR, 6),)]),
    moves=st.sampled_from([(), (SizeChange(at=Instant(NOON), before=2, after=3),)]),
)
NOT_MET = an_evaluation(an_advice("out", add(1), Reason.NOT_MET), an_advice("in", remove(1), Reason.NOT_MET))


def decided(group: object, state: GroupState, seconds: float, *, marked: int = 3, listed: bool = True) -> Decision:
    fleet = a_fleet(listed=listed, marked=marked, in_service=marked)
    return decide(group, (), fleet, state, at(seconds), evaluation=NOT_MET)  # type: ignore[arg-type]  # a group


@given(
    STATES,
    st.sampled_from(Mode),
    st.booleans(),
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(0, 50)), min_size=1, max_size=4),
)
def test_a_group_at_rest_stays_at_rest_whatever_the_time_and_the_fleet(
    state: GroupState, mode: Mode, listed: bool, later: list[tuple[float, int]]
) -> None:
    group = a_group(mode=mode)
    first = decided(group, state, 0.0, listed=listed)
    rests = at_rest(NOT_MET, state, first)
    event(f"at rest: {rests}")
    for seconds, marked in later if rests else ():
        next_one = decided(group, first.state, seconds, marked=marked)
        assert next_one.state is state
        assert (next_one.answers, next_one.changed, next_one.advised_to) == ((), False, None)


BUSY: dict[str, tuple[GroupState, Mode, bool]] = {
    "a quiet time": (GroupState(desired=4, quiets=(a_quiet(Direction.OUT),)), Mode.ACT, True),
    "an alert": (GroupState(desired=4, signals=(a_signal(),)), Mode.ACT, True),
    "no size yet": (GroupState(), Mode.ACT, False),
    "a size outside the bounds": (GroupState(desired=1), Mode.ACT, True),
    "another size to advise": (GroupState(desired=1), Mode.ADVISE, True),
}


@pytest.mark.parametrize(("state", "mode", "listed"), BUSY.values(), ids=BUSY)
def test_a_group_with_something_that_may_change_by_itself_is_not_at_rest(
    state: GroupState, mode: Mode, listed: bool
) -> None:
    assert not at_rest(NOT_MET, state, decided(a_group(mode=mode), state, 0.0, listed=listed))


def test_a_group_that_holds_or_is_blind_is_not_at_rest() -> None:
    state = GroupState(desired=4)
    decision = decided(a_group(), state, 0.0)

    assert at_rest(NOT_MET, state, decision)
    for reason in (Reason.HOLDING, Reason.BLIND, None):
        result = replace(NOT_MET, advices=(an_advice("out", add(1), reason),))
        assert not at_rest(result, state, decision)
    streak = PolicyStreak(true=0, judged_at=at().steady)
    assert not at_rest(replace(NOT_MET, holds={PolicyId("out"): streak}), state, decision)


def test_a_tick_without_data_never_rests() -> None:
    catalogue = a_catalogue()
    unheard = np.array([-math.inf]), np.array([math.inf])

    assert resting(catalogue, WEB, lambda key: unheard, 1).tolist() == [False]
