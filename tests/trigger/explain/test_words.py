from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.frames import Lack
from config.model.adjustments import Adjustment
from config.model.catalogue import Compare, Mode, QuietScope
from config.units import ConditionId, CounterId, GroupId, Instant, PolicyId
from tests.support.trigger import NOON, a_floor, a_quiet, a_signal, add, remove
from trigger.explain.explanation import AnswerExplanation, ConditionExplanation, Explanation, PolicyExplanation
from trigger.explain.measure_words import say_range
from trigger.explain.words import brief, say, sentence_of
from trigger.reasons import Reason
from trigger.requests import Clamp, Pause, Quiet, RequestCause, Signal, SignalKind
from trigger.verdicts import Direction, StreakCount, TakenStep, Truth


def a_condition(
    value: float | None = 63.2,
    truth: Truth = Truth.FALSE,
    *,
    compare: Compare = Compare.ABOVE,
    threshold: float = 80.0,
    across: str = "avg",
    aggregate: str = "avg",
    unit: str = "percent",
    low: float | None = None,
    high: float | None = None,
    unbounded: bool = False,
    heard: int = 10,
    expected: int = 10,
    lack: Lack | None = None,
    left_out: int = 0,
) -> ConditionExplanation:
    return ConditionExplanation(
        condition=ConditionId("busy"),
        counter=CounterId("cpu"),
        unit=unit,
        across=across,
        aggregate=aggregate,
        window=60.0,
        compare=compare,
        threshold=threshold,
        truth=truth,
        value=value,
        low=value if low is None and not unbounded else low,
        high=value if high is None and not unbounded else high,
        heard=heard,
        expected=expected,
        age=None if value is None else 4.0,
        lack=lack,
        left_out=left_out,
    )


def a_policy(
    *conditions: ConditionExplanation,
    reason: Reason = Reason.NOT_MET,
    held: float = 0.0,
    needed: float = 120.0,
    id: str = "out",
) -> PolicyExplanation:
    return PolicyExplanation(
        policy=PolicyId(id), truth=Truth.FALSE, reason=reason, held=held, needed=needed, conditions=conditions
    )


def an_answer(
    reason: Reason,
    *,
    cause: RequestCause = RequestCause.POLICY,
    by: str = "out",
    wanted: int | None = 6,
    clamps: tuple[Clamp, ...] = (),
    until: float | None = None,
) -> AnswerExplanation:
    return AnswerExplanation(
        request="r1",
        cause=cause,
        by=by,
        reason=reason,
        wanted=wanted,
        clamps=clamps,
        until=None if until is None else Instant(NOON + until),
    )


def an_explanation(
    *policies: PolicyExplanation,
    reason: Reason = Reason.STEADY,
    sizes: tuple[int | None, int | None] = (4, 4),
    advised_to: int | None = None,
    mode: Mode = Mode.ACT,
    pause: Pause = Pause.NO,
    answers: tuple[AnswerExplanation, ...] = (),
    quiets: tuple[Quiet, ...] = (),
    signals: tuple[Signal, ...] = (),
    leaving: int = 0,
) -> Explanation:
    return Explanation(
        group=GroupId("web"),
        at=Instant(NOON),
        digest="0" * 64,
        mode=mode,
        pause=pause,
        reason=reason,
        desired_from=sizes[0],
        desired_to=sizes[1],
        advised_to=advised_to,
        minimum=2,
        maximum=40,
        in_service=4,
        policies=policies,
        answers=answers,
        quiets=quiets,
        signals=signals,
        leaving=leaving,
    )


def lines_of(explanation: Explanation, *, later: float = 0.0) -> tuple[str, ...]:
    return say(explanation, Instant(NOON + later))


def test_a_steady_group_on_one_screen() -> None:
    explanation = an_explanation(a_policy(a_condition()), quiets=(a_quiet(Direction.IN, policy="in"),))
    assert lines_of(explanation, later=7) == (
        "web at 12:00:00.000 (7 s ago): steady: no policy asks for a change",
        "size 4 in 2..40; 4 in service",
        "out: does not fire; cpu avg 1m = 63.2 % (10 of 10 members, 4 s old), not above 80 %; fires after 120 s above",
        "no scale-in until 12:03:20 (3m13s left): quiet time after policy `in` scaled in",
    )


@pytest.mark.parametrize(
    ("does", "over", "text"),
    [
        (add(25, percent=True), 17.0, "cpu is 17 % over: add 25%"),
        (remove(10, percent=True, at_least=2), 0.5, "cpu is 0.5 % over: remove 10%, at least 2"),
    ],
)
def test_a_policy_line_shows_the_step_that_the_policy_takes(does: Adjustment, over: float, text: str) -> None:
    judged = a_condition(97.0, Truth.TRUE)
    step = TakenStep(condition=judged.condition, over=over, adjustment=does)
    alone = replace(a_policy(judged, reason=Reason.HOLDING, held=30), taken=step)
    beside = replace(a_policy(judged, a_condition(97.0, Truth.TRUE), reason=Reason.HOLDING), taken=step)
    lines = lines_of(an_explanation(alone, beside))
    assert f"above 80 %; {text}; held 30 s of 120 s" in lines[2]
    assert text in lines[3]


def test_the_size_line_says_that_leaving_members_are_not_measured() -> None:
    size = lines_of(an_explanation(leaving=2))[1]
    assert size == "size 4 in 2..40; 4 in service; 2 leaving, not measured"


def test_a_scale_out_shows_its_clamp() -> None:
    clamp = Clamp(guard=Reason.AT_MAX, before=44, after=40)
    explanation = an_explanation(
        a_policy(a_condition(91.4, Truth.TRUE), reason=Reason.SCALED_OUT, held=120),
        reason=Reason.SCALED_OUT,
        sizes=(38, 40),
        answers=(an_answer(Reason.SCALED_OUT, wanted=44, clamps=(clamp,)),),
    )
    assert lines_of(explanation) == (
        "web at 12:00:00.000: scaled out, size 38 → 40",
        "size 40 in 2..40; 4 in service",
        (
            "out: scaled out; wants 44 members; clamped 44 → 40 (at max); "
            "cpu avg 1m = 91.4 % (10 of 10 members, 4 s old), above 80 %; held 120 s"
        ),
    )


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        pytest.param(
            a_policy(a_condition(90, Truth.TRUE), reason=Reason.HOLDING, held=60),
            "out: fires in 60 s if the condition keeps holding; "
            "cpu avg 1m = 90 % (10 of 10 members, 4 s old), above 80 %; held 60 s of 120 s",
            id="holding",
        ),
        pytest.param(a_policy(a_condition(), needed=0), "not above 80 %; fires once above", id="at-once"),
        pytest.param(
            a_policy(a_condition(None, Truth.UNKNOWN, lack=Lack.NO_SAMPLES), reason=Reason.BLIND),
            "out: no data, so the policy cannot fire; cpu avg 1m is unknown: 0 of 10 members answered",
            id="no-data",
        ),
        pytest.param(
            a_policy(a_condition(78, Truth.UNKNOWN, low=75, high=88), reason=Reason.BLIND),
            "78 % (10 of 10 members, 4 s old; 75 to 88 % with the missing answers), perhaps above 80 %",
            id="not-enough-data",
        ),
        pytest.param(
            a_policy(id="odd", needed=0), "odd: does not fire; fires once all of these hold", id="without-conditions"
        ),
    ],
)
def test_a_policy_line_says_what_the_policy_waits_for(policy: PolicyExplanation, line: str) -> None:
    assert lines_of(an_explanation(policy))[2].endswith(line)


def test_a_policy_that_has_some_data_says_that_it_has_not_enough() -> None:
    policy = a_policy(a_condition(78, Truth.UNKNOWN, low=75, high=88), reason=Reason.BLIND)
    assert lines_of(an_explanation(policy))[2].startswith("out: not enough data, so the policy cannot fire; ")


def test_a_policy_that_counts_evaluations_shows_times_instead_of_seconds() -> None:
    counted = replace(a_policy(a_condition(), held=60, needed=180), in_a_row=StreakCount(true=1, times=3, every=60.0))

    waiting, holding = (
        say(an_explanation(replace(counted, reason=reason)), Instant(NOON))
        for reason in (Reason.NOT_MET, Reason.HOLDING)
    )

    assert any("; fires after 3 times in a row, 60 s apart" in line for line in waiting)
    assert any("out: true 1 of 3 times in a row; " in line for line in holding)


def test_several_conditions_are_listed_below_their_policy() -> None:
    policy = a_policy(a_condition(), a_condition(90, Truth.TRUE))
    assert lines_of(an_explanation(policy))[2:] == (
        "out: does not fire; fires once all of these hold for 120 s",
        "  cpu avg 1m = 63.2 % (10 of 10 members, 4 s old), not above 80 %",
        "  cpu avg 1m = 90 % (10 of 10 members, 4 s old), above 80 %",
    )


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        pytest.param(
            a_condition(78, Truth.UNKNOWN, low=75, high=88, heard=9),
            "cpu avg 1m = 78 % (9 of 10 members, 4 s old; 75 to 88 % with the missing answers), perhaps above 80 %",
            id="missing-answers-could-change-it",
        ),
        pytest.param(
            a_condition(78, Truth.UNKNOWN, unbounded=True, heard=9),
            "(9 of 10 members, 4 s old; no range limits the missing answers), perhaps above 80 %",
            id="no-range",
        ),
        pytest.param(
            a_condition(90, Truth.TRUE, unbounded=True, heard=9),
            "(9 of 10 members, 4 s old; missing answers left out), above 80 %",
            id="left-out",
        ),
        pytest.param(a_condition(heard=1, expected=1), "= 63.2 % (4 s old), not above 80 %", id="one-to-ask"),
        pytest.param(
            a_condition(across="max", compare=Compare.AT_MOST),
            "cpu max across members, avg 1m = ",
            id="two-reduces",
        ),
        pytest.param(
            replace(a_condition(across="max", heard=1, expected=1), per_group=True),
            "out: does not fire; cpu avg 1m = 63.2 % (4 s old), not above 80 %",
            id="one-value-for-the-group",
        ),
        pytest.param(
            replace(a_condition(None, Truth.UNKNOWN, lack=Lack.NO_SAMPLES, expected=1), per_group=True),
            "out: does not fire; cpu avg 1m is unknown: its source gave no value",
            id="no-value-for-the-group",
        ),
        pytest.param(a_condition(compare=Compare.AT_MOST), "not at most 80 %", id="two-words"),
        pytest.param(a_condition(compare=Compare.EQUALS), "not equal to 80 %", id="equals"),
        pytest.param(a_condition(9, aggregate="count"), "= 9 (", id="a-count-has-no-unit"),
        pytest.param(a_condition(1234.56, unit="ms"), "= 1235 ms (", id="no-needless-digits"),
        pytest.param(a_condition(80.0004, Truth.TRUE), "= 80.0004 % (", id="enough-digits-to-see-that-it-is-above"),
        pytest.param(a_condition(0.00421, unit=""), "= 0.00421 (", id="small"),
        pytest.param(a_condition(-63.25), "= -63.2 % (", id="negative"),
        pytest.param(
            a_condition(None, Truth.UNKNOWN, lack=Lack.TOO_FEW), "less than 1m has been measured so far", id="too-few"
        ),
        pytest.param(a_condition(None, Truth.UNKNOWN, lack=Lack.STALE), "the last answer is too old", id="stale"),
        pytest.param(
            a_condition(None, Truth.UNKNOWN, lack=Lack.NO_MEMBERS), "the group has no member to ask", id="no-members"
        ),
        pytest.param(
            a_condition(None, Truth.UNKNOWN, lack=Lack.NO_MEMBERS, left_out=2),
            "the group has no member to ask (2 warming up, not counted)",
            id="only-new-members",
        ),
        pytest.param(
            a_condition(left_out=2), "(10 of 10 members, 2 warming up, not counted, 4 s old)", id="new-members-left-out"
        ),
        pytest.param(
            a_condition(None, Truth.UNKNOWN, across="highest 3", heard=2, expected=5, lack=Lack.TOO_FEW_HEARD),
            "is unknown: 2 of 5 members answered, too few to rank",
            id="too-few-to-rank",
        ),
        pytest.param(
            a_condition(None, across="highest 3", low=0.0, high=30.0, heard=2, expected=3, lack=Lack.TOO_FEW_HEARD),
            "cpu highest 3 across members, avg 1m is between 0 and 30 % (2 of 3 members answered, too few to rank), "
            "not above 80 %",
            id="too-few-to-rank-and-yet-decided",
        ),
    ],
)
def test_a_condition_in_words(condition: ConditionExplanation, text: str) -> None:
    assert text in lines_of(an_explanation(a_policy(condition)))[2]


@pytest.mark.parametrize(
    ("explanation", "line"),
    [
        pytest.param(an_explanation(sizes=(50, 50)), "size 50 outside 2..40; 4 in service", id="outside"),
        pytest.param(an_explanation(sizes=(None, None)), "no size yet; 2..40 is allowed; 4 in service", id="none-yet"),
        pytest.param(
            an_explanation(mode=Mode.ADVISE, advised_to=6),
            "size 4 in 2..40; advised 6; 4 in service; mode advise",
            id="advised",
        ),
        pytest.param(an_explanation(pause=Pause.ALL), "size 4 in 2..40; 4 in service; paused", id="paused"),
        pytest.param(
            an_explanation(pause=Pause.DECISIONS), "size 4 in 2..40; 4 in service; decisions paused", id="decisions"
        ),
        pytest.param(an_explanation(pause=Pause.OUT), "size 4 in 2..40; 4 in service; scale-out paused", id="out"),
        pytest.param(an_explanation(pause=Pause.IN), "size 4 in 2..40; 4 in service; scale-in paused", id="in"),
    ],
)
def test_the_size_line(explanation: Explanation, line: str) -> None:
    assert lines_of(explanation)[1] == line


def test_the_first_size_has_no_size_before_it() -> None:
    assert lines_of(an_explanation(reason=Reason.FIRST_LISTING, sizes=(None, 3)))[0] == (
        "web at 12:00:00.000: the first complete listing sets the size, size 3"
    )


def test_requests_from_outside_have_a_line_of_their_own() -> None:
    answer = an_answer(Reason.CATCHING_UP, cause=RequestCause.ALARM, by="grafana", until=90)
    assert lines_of(an_explanation(answers=(answer,)))[2:] == (
        "alarm grafana: waiting for the members of the last scale-out until 12:01:30 (90 s left); wants 6 members",
    )
    assert "until 12:01:30 (over)" in lines_of(an_explanation(answers=(answer,)), later=90)[2]


def test_a_request_for_the_present_size_names_it() -> None:
    answer = an_answer(Reason.NO_CHANGE, cause=RequestCause.PERSON, by="ada", wanted=1)
    assert lines_of(an_explanation(answers=(answer,)))[2] == "person ada: wants 1 member; the group already has 1"


@pytest.mark.parametrize(
    ("quiet", "text"),
    [
        (a_quiet(Direction.OUT), "no scaling {}: quiet time after policy `out` scaled out"),
        (a_quiet(Direction.IN, policy=None), "no scale-in {}: quiet time after a person or an alarm scaled in"),
        (
            a_quiet(Direction.OUT, scope=QuietScope.POLICY),
            "policy `out` waits {}: quiet time after policy `out` scaled out",
        ),
    ],
    ids=["group-out", "person-in", "policy"],
)
def test_a_quiet_time_says_what_it_stops(quiet: Quiet, text: str) -> None:
    assert lines_of(an_explanation(quiets=(quiet,)))[2] == text.format("until 12:03:20 (3m20s left)")


def test_a_quiet_time_that_is_over_says_when_it_ended() -> None:
    line = lines_of(an_explanation(quiets=(a_quiet(Direction.OUT),)), later=200)[2]
    assert line == "quiet time after policy `out` ended at 12:03:20"


@pytest.mark.parametrize(
    ("signal", "text"),
    [
        (a_floor(8), "web keeps 8 or more {} by alert `campaign`"),
        (a_signal(SignalKind.SHIELD), "scale-in of web is blocked {} by alert `deploy`"),
        (a_signal(SignalKind.FREEZE_OUT), "scale-out of web is blocked {} by alert `deploy`"),
        (a_signal(SignalKind.FREEZE_IN), "scale-in of web is blocked {} by alert `deploy`"),
        (
            replace(a_signal(SignalKind.FREEZE_IN, alert=""), by="ada", because="the fair"),
            "scale-in of web is blocked {} by ada: the fair",
        ),
        (a_signal(SignalKind.BLIND), "scale-in of web is blocked {} by alert `deploy`, which has no data"),
    ],
    ids=lambda value: value.kind.value if isinstance(value, Signal) else "",
)
def test_an_alert_says_what_it_does_while_it_lasts(signal: Signal, text: str) -> None:
    assert lines_of(an_explanation(signals=(signal,)))[2:] == (text.format("until 12:10:00 (10m left)"),)


def test_an_alert_that_is_over_says_what_it_did() -> None:
    signals = (a_floor(8), a_signal(SignalKind.SHIELD))
    assert lines_of(an_explanation(signals=signals), later=600)[2:] == (
        "web kept 8 or more until 12:10:00 (over) by alert `campaign`",
        "scale-in of web was blocked until 12:10:00 (over) by alert `deploy`",
    )


def test_alerts_of_one_rule_that_do_the_same_are_one_line_with_the_last_end() -> None:
    signals = (a_signal(key="f1", until=700), a_signal(key="f2", until=60), a_floor(8), a_floor(6, key="f2"))
    assert lines_of(an_explanation(signals=signals))[2:] == (
        "web keeps 6 or more until 12:10:00 (10m left) by alert `campaign`",
        "web keeps 8 or more until 12:10:00 (10m left) by alert `campaign`",
        "scale-in of web is blocked until 12:11:40 (11m40s left) by alert `deploy`",
    )


def test_a_refusal_by_an_alert_names_the_alert_and_says_until_when() -> None:
    answer = an_answer(Reason.SHIELDED, wanted=3, until=600)
    policy = a_policy(a_condition(), reason=Reason.SHIELDED, needed=0)
    explanation = an_explanation(policy, answers=(answer,), signals=(a_signal(SignalKind.SHIELD),))
    assert lines_of(explanation)[2].startswith(
        "out: scale-in is blocked until 12:10:00 (10m left) by alert `deploy`; wants 3 members; cpu avg 1m = "
    )


@pytest.mark.parametrize("reason", list(Reason), ids=lambda reason: reason.value)
def test_every_reason_has_a_sentence_of_its_own(reason: Reason) -> None:
    sentence = sentence_of(reason)
    assert sentence[0].islower()
    assert not sentence.endswith(".")
    assert [other for other in Reason if sentence_of(other) == sentence] == [reason]


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SPANS = st.floats(0, 1e7)
INSTANTS = st.floats(0, 4e9).map(Instant)
CONDITIONS = st.builds(
    ConditionExplanation,
    condition=st.just(ConditionId("busy")),
    counter=st.just(CounterId("cpu")),
    unit=st.sampled_from(["", "percent", "ms"]),
    across=st.sampled_from(["avg", "highest 3"]),
    aggregate=st.sampled_from(["avg", "p95"]),
    window=SPANS,
    threshold=NUMBERS,
    value=st.none() | NUMBERS,
    low=st.none() | NUMBERS,
    high=st.none() | NUMBERS,
    heard=st.integers(0, 9),
    expected=st.integers(0, 9),
    age=st.none() | SPANS,
)
POLICIES = st.builds(
    PolicyExplanation,
    policy=st.text("abc-", min_size=1).map(PolicyId),
    held=SPANS,
    needed=SPANS,
    conditions=st.lists(CONDITIONS, max_size=2).map(tuple),
)
EXPLANATIONS = st.builds(
    Explanation,
    group=st.just(GroupId("web")),
    at=INSTANTS,
    policies=st.lists(POLICIES, max_size=3).map(tuple),
    answers=st.lists(st.builds(AnswerExplanation, until=st.none() | INSTANTS, clamps=st.just(())), max_size=2).map(
        tuple
    ),
    quiets=st.lists(st.builds(Quiet, until=INSTANTS), max_size=2).map(tuple),
    signals=st.lists(st.builds(Signal, until=INSTANTS), max_size=3).map(tuple),
)


@given(EXPLANATIONS, INSTANTS)
def test_any_explanation_has_a_line_for_every_policy(explanation: Explanation, now: Instant) -> None:
    lines = say(explanation, now)
    assert lines[0].startswith("web at ")
    for policy in explanation.policies:
        assert any(line.startswith(f"{policy.policy}: ") for line in lines)
    assert not any("\n" in line for line in lines[: 2 + len(explanation.policies)])


# In one line


def test_one_line_shows_the_condition_that_holds_before_one_that_is_nearer() -> None:
    holding = a_policy(a_condition(99.0, Truth.TRUE), reason=Reason.HOLDING)
    near = a_policy(a_condition(79.9), id="also")

    assert brief(an_explanation(near, holding, reason=Reason.HOLDING)) == (
        "conditions hold, but not for long enough yet; cpu avg 1m = 99 % (10 of 10 members, 4 s old), above 80 %"
    )


def test_one_line_shows_the_condition_nearest_to_its_threshold_when_nothing_holds() -> None:
    far, near = a_policy(a_condition(10.0)), a_policy(a_condition(35.0, compare=Compare.BELOW, threshold=30.0), id="in")

    assert "cpu avg 1m = 35 %" in brief(an_explanation(far, near))


def test_one_line_shows_the_missing_data_of_a_policy_without_data() -> None:
    unknown = a_condition(None, Truth.UNKNOWN, lack=Lack.NO_SAMPLES)
    policies = (a_policy(a_condition(10.0), id="in"), a_policy(a_condition(), unknown, reason=Reason.BLIND))

    assert "0 of 10 members answered" in brief(an_explanation(*policies, reason=Reason.BLIND))


def test_one_line_without_policies_is_the_sentence() -> None:
    assert brief(an_explanation(reason=Reason.STEADY)) == sentence_of(Reason.STEADY)


def test_a_range_shows_the_name_of_its_aggregate() -> None:
    assert say_range(a_condition(), 20.0, 63.2) == "cpu avg 1m from 20 to 63.2 %"
