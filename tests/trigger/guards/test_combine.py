"""Check Note [Combining] of `trigger.guards.combine`, line by line, by whole decisions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.trigger import (
    a_fleet,
    a_person,
    a_request,
    add,
    an_advice,
    an_alarm,
    an_evaluation,
    decided,
    remove,
    set_to,
)
from trigger.reasons import Reason
from trigger.requests import Request
from trigger.verdicts import Advice

OUT_BIG, OUT_SMALL = a_request(add(5), id="b", policy="big"), a_request(add(2), id="c", policy="small")
IN_BIG, IN_SMALL = a_request(remove(5), id="d", policy="fast"), a_request(remove(2), id="e", policy="slow")
ALARM_IN = an_alarm(remove(2), id="f")


@pytest.mark.parametrize(
    ("requests", "size", "reasons"),
    [
        pytest.param([OUT_BIG, OUT_SMALL], 15, [Reason.SCALED_OUT, Reason.OUTBID], id="issue-5-largest-out"),
        pytest.param([OUT_SMALL, IN_BIG], 12, [Reason.SCALED_OUT, Reason.OUTBID], id="issue-5-out-beats-in"),
        pytest.param([IN_BIG, IN_SMALL], 8, [Reason.OUTBID, Reason.SCALED_IN], id="AWS-fewest-leave"),
        pytest.param([OUT_BIG, a_person(3)], 3, [Reason.OUTBID, Reason.SCALED_IN], id="a-person-beats-an-out"),
        pytest.param([ALARM_IN, a_person(12)], 12, [Reason.OUTBID, Reason.SCALED_OUT], id="a-person-beats-an-alarm"),
        pytest.param(
            [a_person(3, id="p1"), a_person(12, id="p2")],
            12,
            [Reason.OUTBID, Reason.SCALED_OUT],
            id="of-people-the-largest",
        ),
        pytest.param(
            [a_person(99), OUT_SMALL], 12, [Reason.ABOVE_MAX, Reason.SCALED_OUT], id="a-refused-person-does-not-win"
        ),
        pytest.param([a_person(10), OUT_SMALL], 12, [Reason.NO_CHANGE, Reason.SCALED_OUT], id="no-change-does-not-win"),
    ],
)
def test_one_request_wins(requests: Sequence[Request], size: int, reasons: Sequence[Reason]) -> None:
    for order in (list(requests), list(reversed(requests))):
        decision = decided(*order, desired=10)
        assert decision.desired_to == size
        assert {answer.request.id: answer.reason for answer in decision.answers} == {
            request.id: reason for request, reason in zip(requests, reasons, strict=True)
        }


@pytest.mark.parametrize("scale_in", [IN_BIG, ALARM_IN], ids=["policy", "alarm"])
def test_an_out_that_a_guard_refuses_still_beats_an_in(scale_in: Request) -> None:
    decision = decided(OUT_SMALL, scale_in, desired=10, fleet=a_fleet(creates_left=0))
    assert decision.desired_to == 10
    assert [answer.reason for answer in decision.answers] == [Reason.BUDGET, Reason.OUTBID]
    assert decision.reason is Reason.BUDGET


@pytest.mark.parametrize(
    ("other", "agrees"),
    [
        pytest.param(an_advice("slow", remove(1), None), True, id="ready"),
        pytest.param(an_advice("slow", remove(1), Reason.NOT_MET), False, id="Azure-all-rules"),
        pytest.param(an_advice("slow", remove(1), Reason.HOLDING), False, id="not-yet-is-no"),
        pytest.param(an_advice("slow", remove(1), Reason.BLIND), False, id="promise-1-missing-data-is-no-agreement"),
        pytest.param(an_advice("slow", set_to(3), Reason.NOT_MET), False, id="a-set-below"),
        pytest.param(an_advice("slow", set_to(12), Reason.NOT_MET), True, id="a-set-above-has-no-opinion"),
        pytest.param(an_advice("slow", remove(0, percent=True), Reason.BLIND), True, id="0%-has-no-opinion"),
        pytest.param(an_advice("out", add(2), Reason.NOT_MET), True, id="an-out-has-no-opinion"),
        pytest.param(an_advice("out", add(2), Reason.BLIND), True, id="nor-has-a-blind-out"),
    ],
)
def test_a_policy_scales_in_only_if_every_other_that_could_agrees(other: Advice, agrees: bool) -> None:
    evaluation = an_evaluation(an_advice("fast", remove(5), None), other)
    decision = decided(IN_BIG, desired=10, evaluation=evaluation)
    assert decision.answers[0].reason is (Reason.SCALED_IN if agrees else Reason.DISAGREED)
    assert decision.desired_to == (5 if agrees else 10)


def test_an_alarm_needs_no_agreement() -> None:
    evaluation = an_evaluation(an_advice("slow", remove(1), Reason.NOT_MET))
    assert decided(ALARM_IN, desired=10, evaluation=evaluation).desired_to == 8


def test_equal_sizes_are_settled_by_request_id() -> None:
    twins = [a_request(add(2), id="y"), a_request(add(2), id="x")]
    for order in (twins, twins[::-1]):
        winner = decided(*order).winner
        assert winner is not None
        assert winner.request.id == "x"
