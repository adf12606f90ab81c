from __future__ import annotations

import pytest

from config.document.policies import PolicyDocument
from config.model.adjustments import Adjustment, AdjustmentVerb, Rounding, Step, Steps, choices, outright
from config.units import ConditionId

STEPS = [{"over": 0, "add": 1}, {"over": 15, "add": "25%", "at_least": 2}]
ONE = Adjustment(verb=AdjustmentVerb.ADD, amount=1.0)
QUARTER = Adjustment(verb=AdjustmentVerb.ADD, amount=25.0, percent=True, at_least=2)


def action(**written: object) -> object:
    return PolicyDocument.model_validate({"when": ["busy", "slow"], **written}).action


def test_steps_go_by_the_first_condition_unless_another_is_named() -> None:
    steps = (Step(over=0.0, adjustment=ONE), Step(over=15.0, adjustment=QUARTER))
    assert action(steps=STEPS) == Steps(by=ConditionId("busy"), steps=steps)
    assert action(steps=STEPS, by="slow") == Steps(by=ConditionId("slow"), steps=steps)


@pytest.mark.parametrize("rounding", Rounding)
def test_rounding_is_of_the_policy_and_so_of_all_of_its_steps(rounding: Rounding) -> None:
    stepped, plain = action(steps=STEPS, rounding=rounding.value), action(remove="10%", rounding=rounding.value)
    assert isinstance(stepped, Steps)
    assert isinstance(plain, Adjustment)
    assert {choice.rounding for choice in (*choices(stepped), plain)} == {rounding}


def test_steps_shrink_as_their_adjustments_do_and_outright_means_the_first() -> None:
    out, into = action(steps=STEPS), action(steps=[{"over": 0, "remove": 1}])
    assert isinstance(out, Steps)
    assert isinstance(into, Steps)
    assert (out.may_shrink, into.may_shrink) == (False, True)
    assert (outright(out), outright(ONE)) == (ONE, ONE)
    assert (choices(out), choices(ONE)) == ((ONE, QUARTER), (ONE,))
