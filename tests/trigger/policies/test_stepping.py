"""Note [The sure distance] of `trigger.policies.stepping`, and steps on their way through evaluation and combining."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.frames import Cell
from config.model.adjustments import Adjustment, Step, Steps
from config.model.catalogue import Compare
from config.units import ConditionId
from tests.support.trigger import (
    WEB,
    a_catalogue,
    a_condition,
    a_frame,
    a_policy,
    a_request,
    add,
    an_advice,
    an_evaluation,
    at,
    decided,
    measured,
    missing,
    remove,
    unranked,
)
from trigger.conditions.judging import judge
from trigger.policies.evaluate import evaluate, requests_from
from trigger.policies.stepping import taken
from trigger.reasons import Reason
from trigger.verdicts import Advice, TakenStep

BUSY = ConditionId("busy")


def steps(*pairs: tuple[float, Adjustment]) -> Steps:
    return Steps(by=BUSY, steps=tuple(Step(over=over, adjustment=does) for over, does in pairs))


OUT = steps((0, add(1)), (15, add(25, percent=True)), (30, add(50, percent=True)))
IN = steps((0, remove(1)), (10, remove(2)), (20, remove(4)))


def distance_and_step(
    action: Steps, cell: Cell, compare: Compare, threshold: float, quorum: float | None = None
) -> tuple[float, Adjustment] | None:
    condition = a_condition(compare=compare, threshold=threshold, quorum=quorum)
    verdict = judge(condition, cell, shrinking=action.may_shrink)
    step = taken(action, condition, [verdict])
    return None if step is None else (step.over, step.adjustment)


UNHEARD = measured(10, low=8, high=22, heard=9)


@pytest.mark.parametrize(
    ("action", "cell", "compare", "threshold", "expected"),
    [
        pytest.param(OUT, measured(81), Compare.ABOVE, 80, (1, add(1)), id="just-over"),
        pytest.param(OUT, measured(80), Compare.AT_LEAST, 80, (0, add(1)), id="at-the-threshold"),
        pytest.param(OUT, measured(95), Compare.ABOVE, 80, (15, add(25, percent=True)), id="AWS-inclusive"),
        pytest.param(OUT, measured(94.9), Compare.ABOVE, 80, (pytest.approx(14.9), add(1)), id="not-quite"),
        pytest.param(OUT, measured(500), Compare.ABOVE, 80, (420, add(50, percent=True)), id="the-last-has-no-end"),
        pytest.param(OUT, measured(10), Compare.BELOW, 30, (20, add(25, percent=True)), id="below-counts-downward"),
        pytest.param(OUT, measured(-10), Compare.AT_MOST, 30, (40, add(50, percent=True)), id="past-zero"),
        pytest.param(OUT, measured(80), Compare.ABOVE, 80, None, id="not-met"),
        pytest.param(OUT, missing(), Compare.ABOVE, 80, None, id="blind"),
        pytest.param(IN, measured(10), Compare.BELOW, 30, (20, remove(4)), id="in-all-answered"),
        pytest.param(IN, UNHEARD, Compare.BELOW, 30, (8, remove(1)), id="missing-answers-against-shrinking"),
        pytest.param(OUT, UNHEARD, Compare.BELOW, 30, (20, add(25, percent=True)), id="growth-by-the-value"),
        pytest.param(OUT, unranked(90, 96), Compare.ABOVE, 80, (10, add(1)), id="no-value-the-nearer-bound"),
        pytest.param(IN, unranked(5, 12), Compare.BELOW, 30, (18, remove(2)), id="no-value-the-nearer-bound-in"),
    ],
)
def test_which_step_is_taken(
    action: Steps, cell: Cell, compare: Compare, threshold: float, expected: tuple[float, Adjustment] | None
) -> None:
    assert distance_and_step(action, cell, compare, threshold) == expected


def test_a_quorum_leaves_missing_answers_out_of_the_distance() -> None:
    assert distance_and_step(IN, UNHEARD, Compare.BELOW, 30, quorum=0.9) == (20, remove(4))


def test_a_binary_trifle_short_of_a_step_reaches_it() -> None:
    fine = steps((0, add(1)), (0.3, add(2)))
    result = distance_and_step(fine, measured(80.3), Compare.ABOVE, 80)
    assert result is not None
    assert result[0] < 0.3
    assert result[1] == add(2)


@given(low=st.floats(0, 100), rise=st.floats(0, 100), value=st.floats(0, 1))
def test_missing_answers_never_make_a_step_in_larger(low: float, rise: float, value: float) -> None:
    high = low + rise
    middle = min(high, low + rise * value)
    surely = distance_and_step(IN, measured(middle, low=low, high=high, heard=9), Compare.BELOW, 60)
    as_heard = distance_and_step(IN, measured(middle), Compare.BELOW, 60)
    if surely is not None:
        assert as_heard is not None
        assert surely[0] <= as_heard[0]
        assert surely[1].amount <= as_heard[1].amount


def test_the_step_is_what_is_asked_for_and_what_the_policy_could_do_is_all_of_them() -> None:
    catalogue = a_catalogue(policies=[a_policy(does=OUT)])
    now = at(0)
    seen = evaluate(catalogue, WEB, a_frame(catalogue, {"busy": measured(97)}, now=now), {}, now)
    advice = seen.advices[0]
    assert advice.taken == TakenStep(condition=BUSY, over=17.0, adjustment=add(25, percent=True))
    assert advice.action == OUT
    (request,) = requests_from(catalogue, seen)
    assert decided(request, desired=10).desired_to == 13


def test_steps_in_treat_missing_answers_as_any_scale_in_does() -> None:
    catalogue = a_catalogue(policies=[a_policy(does=IN)], conditions=[a_condition(compare=Compare.BELOW)])
    now = at(0)
    unheard = measured(10, low=-math.inf, high=math.inf, heard=9)
    seen = evaluate(catalogue, WEB, a_frame(catalogue, {"busy": unheard}, now=now), {}, now)
    assert (seen.advices[0].reason, seen.advices[0].taken) == (Reason.BLIND, None)


def test_a_policy_that_could_step_in_disagrees_even_where_its_first_step_would_not() -> None:
    idle = an_advice("steps", remove(0), Reason.NOT_MET)
    stepping = Advice(
        policy=idle.policy, action=steps((0, remove(0)), (9, remove(2))), adjustment=None, truth=idle.truth,
        verdicts=(), reason=idle.reason, held=0.0, needed=0.0,
    )  # fmt: skip
    ready = an_advice("in", remove(1), None)
    asked = a_request(remove(1), policy="in")
    refused = decided(asked, desired=10, evaluation=an_evaluation(ready, stepping))
    assert refused.answers[0].reason is Reason.DISAGREED
    assert decided(asked, desired=10, evaluation=an_evaluation(ready, idle)).desired_to == 9
