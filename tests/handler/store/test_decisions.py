from __future__ import annotations

from dataclasses import replace

import pytest

from config.model.schedules import BoundInForce, LastsFor, Once, ScheduledBound, ScheduledLimit
from config.units import AlertId, PolicyId
from handler.store.decisions import history_of
from tests.support.store import a_signal, an_answer, an_explanation, at
from trigger.reasons import Reason
from trigger.requests import Clamp, RequestCause, SignalKind


def names(explanation, before=None):
    return [(event.name, event.by) for event in history_of(explanation, before or {}).events]


def test_a_quiet_tick_is_no_history():
    assert history_of(an_explanation(), {}).events == ()


def test_a_change_is_one_line_with_its_cause_and_its_clamps():
    clamp = Clamp(guard=Reason.AT_MAX, before=12, after=10)
    winner = replace(an_answer(Reason.SCALED_OUT), clamps=(clamp,))
    (event,) = history_of(an_explanation(reason=Reason.SCALED_OUT, sizes=(3, 10), answers=(winner,)), {}).events
    assert (event.name, event.by, event.desired_from, event.desired_to, event.clamps) == (
        "scaled_out",
        "policy out",
        3,
        10,
        (clamp,),
    )


def test_a_change_without_a_request_has_no_author():
    assert names(an_explanation(reason=Reason.BOUNDS, sizes=(12, 10))) == [("bounds", "")]


def a_limit(name: str, limit: ScheduledBound, size: int, *, active: bool = True) -> BoundInForce:
    schedule = ScheduledLimit(
        id=PolicyId(name), times=Once(at=at(0)), until=LastsFor(span=3600.0), limit=limit, size=size
    )  # fmt: skip
    return BoundInForce(limit=schedule, since=at(0) if active else None, until=at(3600))


@pytest.mark.parametrize(
    ("sizes", "by"),
    [((2, 6), "schedule days"), ((12, 9), "schedule lunch, nights")],
    ids=["a floor", "two ceilings of one size"],
)
def test_a_change_that_a_schedule_makes_names_the_schedule(sizes, by):
    limits = (
        a_limit("days", ScheduledBound.FLOOR, 6),
        a_limit("mornings", ScheduledBound.FLOOR, 4),
        a_limit("nights", ScheduledBound.CEILING, 9),
        a_limit("lunch", ScheduledBound.CEILING, 9),
        a_limit("weekends", ScheduledBound.CEILING, 3, active=False),
    )
    assert names(replace(an_explanation(reason=Reason.SCHEDULE, sizes=sizes), limits=limits)) == [("schedule", by)]


def test_a_change_that_the_floor_of_an_alert_makes_names_the_alert():
    low, high = a_signal(SignalKind.FLOOR, 4, key="f1"), a_signal(SignalKind.FLOOR, 6, key="f2")
    lasting = (low, replace(high, alert=AlertId("rush")), a_signal(SignalKind.SHIELD, key="f3"))
    explanation = replace(an_explanation(reason=Reason.ALERT_FLOOR, sizes=(3, 6)), signals=lasting)
    assert names(explanation) == [("alert_floor", "alert rush")]


@pytest.mark.parametrize("cause", [RequestCause.ALARM, RequestCause.PERSON])
def test_every_request_from_outside_is_reported_and_its_answer_kept(cause):
    refused = an_answer(Reason.QUIET, cause=cause, by="ada", request="r9")
    history = history_of(an_explanation(reason=Reason.QUIET, answers=(refused,)), {"ada": Reason.QUIET})
    assert [(event.name, event.by) for event in history.events] == [("quiet", f"{cause.value} ada")]
    assert [(answer.request, answer.reason, answer.desired_to) for answer in history.answers] == [
        ("r9", Reason.QUIET, 3)
    ]


def test_an_answer_to_a_policy_is_not_kept_by_request():
    assert history_of(an_explanation(answers=(an_answer(Reason.QUIET),)), {}).answers == ()


def test_the_same_refusal_of_a_policy_is_reported_once():
    refused = an_explanation(reason=Reason.AT_MAX, answers=(an_answer(Reason.AT_MAX),))
    first = history_of(refused, {})
    again = history_of(refused, first.refusals)
    assert [len(first.events), len(again.events)] == [1, 0]


def test_another_reason_is_reported_again():
    assert names(an_explanation(answers=(an_answer(Reason.QUIET),)), {"out": Reason.AT_MAX}) == [
        ("quiet", "policy out")
    ]


def test_a_policy_that_stopped_asking_is_reported_again_when_it_is_refused_anew():
    silent = history_of(an_explanation(), {"out": Reason.AT_MAX})
    assert names(an_explanation(answers=(an_answer(Reason.AT_MAX),)), silent.refusals) == [("at_max", "policy out")]


def test_a_schedule_that_is_refused_again_and_again_is_reported_once_and_keeps_no_promise():
    refused = an_answer(Reason.QUIET, cause=RequestCause.SCHEDULE, by="night")
    first = history_of(an_explanation(answers=(refused,)), {})
    assert [(event.name, event.by) for event in first.events] == [("quiet", "schedule night")]
    assert (first.refusals, first.answers) == ({"night": Reason.QUIET}, ())
    assert history_of(an_explanation(answers=(refused,)), first.refusals).events == ()


def test_a_request_between_two_ticks_does_not_make_policies_forgotten():
    alone = an_explanation(values=(), answers=(an_answer(Reason.QUIET, cause=RequestCause.ALARM),))
    assert history_of(alone, {"out": Reason.AT_MAX}, evaluated=False).refusals == {"out": Reason.AT_MAX}


def test_a_loser_is_reported_with_the_size_that_it_did_not_change():
    won, lost = (
        an_answer(Reason.SCALED_OUT),
        an_answer(Reason.OUTBID, cause=RequestCause.ALARM, by="nagios", request="r2"),
    )
    change, refusal = history_of(an_explanation(reason=Reason.SCALED_OUT, sizes=(3, 5), answers=(won, lost)), {}).events
    assert (change.desired_from, change.desired_to) == (3, 5)
    assert (refusal.name, refusal.desired_from, refusal.desired_to) == ("outbid", 3, 3)


@pytest.mark.parametrize(
    ("wanted", "until", "message"),
    [
        (7, at(90), "wanted 7, possible in 1m30s"),
        (7, None, "wanted 7"),
        (None, at(1), "possible in 1s"),
        (None, at(-1), ""),
    ],
    ids=["both", "no end", "no size", "over"],
)
def test_a_refusal_says_what_was_wanted_and_when_it_is_possible(wanted, until, message):
    refused = replace(an_answer(Reason.QUIET), wanted=wanted, until=until)
    (event,) = history_of(an_explanation(answers=(refused,)), {}).events
    assert event.message == message
