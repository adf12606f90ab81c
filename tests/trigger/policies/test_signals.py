from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.catalogue import Group, Mode
from config.model.effects import Alert, BringValue, Effect, FirePolicy, Freeze, FrozenDirection, RaiseFloor, Shield
from config.units import AlertId, GroupId, Instant, PolicyId
from tests.support.trigger import (
    NOON,
    a_fleet,
    a_floor,
    a_group,
    a_person,
    a_quiet,
    a_request,
    a_signal,
    add,
    an_advice,
    an_alarm,
    an_evaluation,
    at,
    decided,
    remove,
)
from tests.trigger.test_decide import EVALUATIONS, FLEETS, GROUPS, REQUESTS, SIGNALS, STATES
from trigger.decide import decide
from trigger.policies.signals import blinded, ended, floor_of, lasting, outlasting, signalled, signals_of
from trigger.reasons import Reason
from trigger.requests import Clamp, Fleet, GroupState, Pause, Request, RequestCause, Signal, SignalKind
from trigger.verdicts import Direction, Evaluation

NOW = Instant(NOON)
DEPLOY = AlertId("deploy")
SHIELD, BLIND, FLOOR = SignalKind.SHIELD, SignalKind.BLIND, SignalKind.FLOOR
FREEZE_IN, FREEZE_OUT = SignalKind.FREEZE_IN, SignalKind.FREEZE_OUT


def an_alert(effect: Effect, *, ttl: float = 900.0) -> Alert:
    return Alert(id=DEPLOY, match={"alertname": "Deploy"}, groups=(GroupId("web"),), effect=effect, ttl=ttl)


def a_state(*signals: Signal) -> GroupState:
    return GroupState(desired=4, signals=signals)


# From an alert to signals


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        pytest.param(RaiseFloor(size=8), [(FLOOR, 8)], id="floor"),
        pytest.param(Shield(), [(SHIELD, None)], id="shield"),
        pytest.param(Freeze(way=FrozenDirection.OUT), [(FREEZE_OUT, None)], id="freeze-out"),
        pytest.param(Freeze(way=FrozenDirection.IN), [(FREEZE_IN, None)], id="freeze-in"),
        pytest.param(Freeze(way=FrozenDirection.BOTH), [(FREEZE_IN, None), (FREEZE_OUT, None)], id="freeze-both"),
        pytest.param(FirePolicy(policy=PolicyId("out")), [], id="a-policy-that-fires-is-a-request"),
        pytest.param(BringValue(field="depth"), [], id="a-value-is-a-reading"),
    ],
)
def test_what_an_alert_signals(effect: Effect, expected: list[tuple[SignalKind, int | None]]) -> None:
    signals = signals_of(an_alert(effect), "f1", since=Instant(NOON - 5), now=NOW)
    assert [(signal.kind, signal.size) for signal in signals] == expected
    assert all((signal.since, signal.until, signal.key) == (NOON - 5, NOON + 900, "f1") for signal in signals)


def test_an_alert_whose_source_has_no_data_is_blind_for_its_time_to_live() -> None:
    signal = blinded(an_alert(Shield(), ttl=60), "f1", since=NOW, now=NOW)
    assert signal == replace(a_signal(BLIND, since=0, until=60), lasts=60)


# Coming, being renewed, ending


@pytest.mark.parametrize(
    ("before", "result", "after"),
    [
        pytest.param([], a_signal(until=600), [a_signal(until=600)], id="new"),
        pytest.param([a_signal(until=600)], a_signal(until=900), [a_signal(until=900)], id="renewed"),
        pytest.param([a_signal(until=600)], a_signal(until=60), [a_signal(until=600)], id="never-shortened"),
        pytest.param(
            [a_signal(since=-60)], a_signal(since=-5), [a_signal(since=-60)], id="it-began-when-it-first-began"
        ),
        pytest.param([a_floor(8)], a_floor(6, until=700), [a_floor(6, until=700)], id="the-size-of-the-last-delivery"),
        pytest.param([a_floor(8)], a_floor(6), [a_floor(8)], id="of-two-sizes-at-once-the-greater"),
        pytest.param([], a_signal(until=0), [], id="over-already"),
        pytest.param([a_signal(key="f2", until=0)], a_signal(), [a_signal()], id="drops-what-is-over"),
        pytest.param(
            [a_signal(key="f2")], a_signal(key="f1"), [a_signal(key="f1"), a_signal(key="f2")], id="two-of-one-rule"
        ),
        pytest.param(
            [a_signal(SHIELD)], a_signal(BLIND), [a_signal(BLIND), a_signal(SHIELD)], id="two-kinds-of-one-alert"
        ),
    ],
)
def test_a_signal_comes_or_is_renewed(before: list[Signal], result: Signal, after: list[Signal]) -> None:
    assert signalled(a_state(*before), result, NOW) == a_state(*after)


def test_a_resolved_alert_ends_with_all_that_it_signals_and_no_other() -> None:
    others = (a_signal(alert="campaign"), a_signal(key="f2"))
    state = a_state(others[0], a_signal(BLIND), a_signal(SHIELD), others[1])
    assert ended(state, DEPLOY, "f1", NOW) == a_state(*others)


def test_what_is_over_is_dropped_and_a_state_without_any_stays_the_same_object() -> None:
    state = a_state(a_signal(until=1), a_signal(key="f2", until=2))
    assert lasting(state, Instant(NOON + 1)) == a_state(a_signal(key="f2", until=2))
    assert lasting(state, NOW) is state


# One for the rest


@pytest.mark.parametrize(
    ("signals", "kept"),
    [
        pytest.param([a_signal()], [a_signal()], id="one-alone"),
        pytest.param(
            [a_signal(key="f1", until=60), a_signal(key="f2", until=600), a_signal(key="f3", until=300)],
            [a_signal(key="f2", until=600)],
            id="the-last-to-end",
        ),
        pytest.param(
            [a_floor(8, key="f1", until=60), a_floor(6, key="f2", until=600), a_floor(6, key="f3", until=300)],
            [a_floor(8, key="f1", until=60), a_floor(6, key="f2", until=600)],
            id="each-size-by-itself",
        ),
        pytest.param(
            [a_signal(alert="a"), a_signal(alert="b", until=60)],
            [a_signal(alert="a"), a_signal(alert="b", until=60)],
            id="each-alert-by-itself",
        ),
        pytest.param(
            [a_signal(BLIND, until=60), a_signal(SHIELD)],
            [a_signal(BLIND, until=60), a_signal(SHIELD)],
            id="each-kind-by-itself",
        ),
    ],
)
def test_signals_that_outlast_the_others(signals: list[Signal], kept: list[Signal]) -> None:
    assert outlasting(a_state(*signals)) == a_state(*kept)


def test_a_state_whose_signals_all_count_stays_the_same_object() -> None:
    state = a_state(a_signal(alert="a"), a_signal(alert="b"))
    assert outlasting(state) is state


# Floors


@pytest.mark.parametrize(
    ("signals", "expected"),
    [
        pytest.param([], 2, id="min"),
        pytest.param([a_floor(8)], 8, id="raised"),
        pytest.param([a_floor(8), a_floor(12, key="f2")], 12, id="the-greatest"),
        pytest.param([a_floor(1)], 2, id="never-below-min"),
        pytest.param([a_floor(99)], 40, id="never-above-max"),
        pytest.param([a_signal(SHIELD)], 2, id="another-kind"),
    ],
)
def test_the_least_size_that_alerts_leave(signals: list[Signal], expected: int) -> None:
    assert floor_of(a_group(), signals) == expected


@pytest.mark.parametrize(
    ("desired", "group", "state", "expected", "reason"),
    [
        pytest.param(4, a_group(), a_state(a_floor(8)), 8, Reason.ALERT_FLOOR, id="raised"),
        pytest.param(9, a_group(), a_state(a_floor(8)), 9, Reason.STEADY, id="never-a-scale-in"),
        pytest.param(4, a_group(), a_state(a_floor(99)), 40, Reason.ALERT_FLOOR, id="never-above-max"),
        pytest.param(1, a_group(), a_state(a_floor(8)), 8, Reason.ALERT_FLOOR, id="below-min-too-in-one-step"),
        pytest.param(1, a_group(), a_state(a_floor(2)), 2, Reason.BOUNDS, id="a-floor-of-min-says-nothing-more"),
        pytest.param(None, a_group(), a_state(a_floor(8)), 8, Reason.FIRST_LISTING, id="at-the-first-listing"),
        pytest.param(4, a_group(), a_state(a_floor(8, until=0)), 4, Reason.STEADY, id="over"),
        pytest.param(
            4, a_group(), a_state(a_floor(8), a_signal(FREEZE_OUT)), 8, Reason.ALERT_FLOOR, id="a-floor-beats-a-freeze"
        ),
        pytest.param(50, a_group(), a_state(a_signal(SHIELD)), 40, Reason.BOUNDS, id="bounds-beat-a-shield"),
        pytest.param(50, a_group(), a_state(a_signal(FREEZE_IN)), 40, Reason.BOUNDS, id="bounds-beat-a-freeze"),
        pytest.param(1, a_group(), a_state(a_signal(FREEZE_OUT)), 2, Reason.BOUNDS, id="min-beats-a-freeze"),
        pytest.param(
            4, a_group(), replace(a_state(a_floor(8)), pause=Pause.DECISIONS), 4, Reason.PAUSED, id="not-while-paused"
        ),
        pytest.param(4, a_group(mode=Mode.OFF), a_state(a_floor(8)), 4, Reason.MODE_OFF, id="not-in-mode-off"),
        pytest.param(4, a_group(mode=Mode.ADVISE), a_state(a_floor(8)), 4, Reason.ADVISED, id="only-advised"),
    ],
)
def test_alerts_enforce_floors(
    desired: int | None, group: Group, state: GroupState, expected: int, reason: Reason
) -> None:
    decision = decided(desired=desired, group=group, state=state)
    assert (decision.desired_to, decision.reason) == (expected, reason)
    assert decision.advised_to == (8 if group.mode is Mode.ADVISE else None)


def test_raising_to_a_floor_is_growth_and_begins_no_quiet_time() -> None:
    state = decided(state=a_state(a_floor(8))).state
    assert (state.grown_at, state.quiets, state.revision) == (NOON, (), 1)


def test_a_raise_by_a_floor_is_a_clamp_of_the_winner_of_the_same_moment() -> None:
    decision = decided(a_request(add(2)), state=a_state(a_floor(8)))
    assert (decision.desired_to, decision.answers[0].reason) == (10, Reason.SCALED_OUT)
    assert decision.answers[0].clamps == (Clamp(guard=Reason.ALERT_FLOOR, before=4, after=8),)


def test_a_blind_group_is_raised_to_the_greater_floor() -> None:
    blind = an_evaluation(an_advice("out", add(1), Reason.BLIND))
    group, state = a_group(blind_floor=10), a_state(a_floor(8))
    assert decided(desired=8, group=group, state=state, evaluation=blind).reason is Reason.BLIND_FLOOR
    assert decided(an_alarm(remove(9)), desired=12, group=group, state=state, evaluation=blind).desired_to == 10


def test_when_a_floor_ends_the_size_stays() -> None:
    raised = decided(state=a_state(a_floor(8))).state
    later = decided(desired=raised.desired, state=ended(raised, AlertId("campaign"), "f1", NOW), now=at(30))
    assert (later.desired_to, later.reason) == (8, Reason.STEADY)
    assert decided(desired=8, state=raised, now=at(600)).state.signals == ()


# Guards


@pytest.mark.parametrize(
    ("request_", "signals", "expected"),
    [
        pytest.param(a_request(remove(1)), [a_signal(SHIELD)], (Reason.SHIELDED, 600), id="shield-policy-in"),
        pytest.param(an_alarm(remove(1)), [a_signal(SHIELD)], (Reason.SHIELDED, 600), id="shield-alarm-in"),
        pytest.param(a_person(3), [a_signal(SHIELD)], (Reason.SCALED_IN, None), id="shield-person-in"),
        pytest.param(a_request(add(1)), [a_signal(SHIELD)], (Reason.SCALED_OUT, None), id="shield-policy-out"),
        pytest.param(a_request(remove(1)), [a_signal(BLIND)], (Reason.SHIELDED, 600), id="blind-policy-in"),
        pytest.param(an_alarm(remove(1)), [a_signal(BLIND)], (Reason.SHIELDED, 600), id="blind-alarm-in"),
        pytest.param(a_person(3), [a_signal(BLIND)], (Reason.SCALED_IN, None), id="blind-person-in"),
        pytest.param(a_request(add(1)), [a_signal(BLIND)], (Reason.SCALED_OUT, None), id="blind-policy-out"),
        pytest.param(a_request(remove(1)), [a_signal(FREEZE_IN)], (Reason.FROZEN, 600), id="freeze-in-policy-in"),
        pytest.param(an_alarm(remove(1)), [a_signal(FREEZE_IN)], (Reason.FROZEN, 600), id="freeze-in-alarm-in"),
        pytest.param(a_person(3), [a_signal(FREEZE_IN)], (Reason.SCALED_IN, None), id="freeze-in-person-in"),
        pytest.param(a_request(add(1)), [a_signal(FREEZE_IN)], (Reason.SCALED_OUT, None), id="freeze-in-policy-out"),
        pytest.param(a_request(add(1)), [a_signal(FREEZE_OUT)], (Reason.FROZEN, 600), id="freeze-out-policy-out"),
        pytest.param(an_alarm(add(1)), [a_signal(FREEZE_OUT)], (Reason.FROZEN, 600), id="freeze-out-alarm-out"),
        pytest.param(a_person(9), [a_signal(FREEZE_OUT)], (Reason.SCALED_OUT, None), id="freeze-out-person-out"),
        pytest.param(a_request(remove(1)), [a_signal(FREEZE_OUT)], (Reason.SCALED_IN, None), id="freeze-out-policy-in"),
        pytest.param(
            a_request(remove(1)),
            [a_signal(FREEZE_IN), a_signal(SHIELD, key="f2", until=60), a_signal(SHIELD, until=90)],
            (Reason.SHIELDED, 90),
            id="a-shield-says-more-and-the-last-one-counts",
        ),
        pytest.param(a_request(remove(1)), [a_signal(SHIELD, until=0)], (Reason.SCALED_IN, None), id="over"),
        pytest.param(a_request(remove(1)), [a_floor(4)], (Reason.AT_MIN, None), id="floor-policy-in"),
        pytest.param(a_person(3), [a_floor(4)], (Reason.ALERT_FLOOR, 600), id="floor-person-in"),
        pytest.param(a_person(3, force=True), [a_floor(4)], (Reason.ALERT_FLOOR, 600), id="floor-person-force"),
        pytest.param(a_person(1), [a_floor(4)], (Reason.BELOW_MIN, None), id="below-min-says-more"),
        pytest.param(a_person(9), [a_floor(4)], (Reason.SCALED_OUT, None), id="floor-person-out"),
        pytest.param(
            a_person(3),
            [a_floor(3, key="f2", until=900), a_floor(4)],
            (Reason.ALERT_FLOOR, 600),
            id="a-floor-that-is-not-in-the-way-does-not-count",
        ),
    ],
)
def test_an_alert_stops_policies_and_alarms(
    request_: Request, signals: list[Signal], expected: tuple[Reason, float | None]
) -> None:
    (answer,) = decided(request_, state=a_state(*signals)).answers
    assert (answer.reason, None if answer.until is None else answer.until - NOON) == expected


@pytest.mark.parametrize(
    ("request_", "desired", "fleet", "state", "expected"),
    [
        pytest.param(a_request(remove(1)), 2, a_fleet(), a_state(a_signal(SHIELD)), Reason.AT_MIN, id="min-first"),
        pytest.param(a_request(add(1)), 40, a_fleet(), a_state(a_signal(FREEZE_OUT)), Reason.AT_MAX, id="max-first"),
        pytest.param(
            a_request(remove(1)),
            4,
            a_fleet(),
            replace(a_state(a_signal(SHIELD)), quiets=(a_quiet(Direction.IN),)),
            Reason.SHIELDED,
            id="shield-before-quiet",
        ),
        pytest.param(
            a_request(add(1)),
            4,
            a_fleet(back_off_until=60, creates_left=0),
            replace(a_state(a_signal(FREEZE_OUT)), quiets=(a_quiet(Direction.OUT),)),
            Reason.FROZEN,
            id="freeze-before-quiet-back-off-and-budget",
        ),
    ],
)
def test_where_alerts_stand_among_the_guards(
    request_: Request, desired: int, fleet: Fleet, state: GroupState, expected: Reason
) -> None:
    assert decided(request_, desired=desired, fleet=fleet, state=state).answers[0].reason is expected


def test_a_frozen_scale_out_still_beats_a_scale_in() -> None:
    decision = decided(a_request(add(1)), a_request(remove(1), id="r2"), state=a_state(a_signal(FREEZE_OUT)))
    assert (decision.desired_to, decision.reason) == (4, Reason.FROZEN)
    assert decision.answers[1].reason is Reason.OUTBID


def test_while_paused_a_person_may_force_a_size_below_a_floor() -> None:
    state = replace(a_state(a_floor(8)), pause=Pause.ALL)
    assert decided(a_person(3, force=True), desired=8, state=state).desired_to == 3


# Whatever is signalled


@given(SIGNALS, st.permutations(range(4)), st.lists(st.integers(0, 3), max_size=4))
def test_the_order_of_signals_and_their_repetition_never_matter(
    signals: list[Signal], order: list[int], again: list[int]
) -> None:
    def taken(result: Sequence[Signal]) -> GroupState:
        state = GroupState(desired=4)
        for signal in result:
            state = signalled(state, signal, NOW)
        return state

    some = [signals[index] for index in (*order, *again) if index < len(signals)]
    assert taken(some) == taken(signals)


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([1.0, 60.0, 600.0])), min_size=1), st.randoms())
def test_repeated_and_reordered_deliveries_of_a_signal_give_the_same_state(
    result: list[tuple[int, float]], random: object
) -> None:
    def taken(order: Sequence[tuple[int, float]]) -> GroupState:
        state = GroupState(desired=4)
        for size, until in order:
            state = signalled(state, a_floor(size, until=until), NOW)
        return state

    shuffled = list(result)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis' own random.Random
    assert taken(shuffled) == taken(result)


@given(GROUPS, FLEETS, STATES, EVALUATIONS, SIGNALS)
def test_a_signal_never_lowers_the_desired_size(
    group: Group, fleet: Fleet, state: GroupState, evaluation: Evaluation | None, signals: list[Signal]
) -> None:
    signalling = state
    for signal in signals:
        signalling = signalled(signalling, signal, NOW)
    without = decide(group, (), fleet, replace(state, signals=()), at(), evaluation=evaluation)
    decision = decide(group, (), fleet, signalling, at(), evaluation=evaluation)
    assert (decision.desired_to or 0) >= (without.desired_to or 0)
    if decision.desired_to != without.desired_to and decision.desired_to is not None:
        assert decision.desired_to <= group.maximum


@given(GROUPS, FLEETS, STATES, EVALUATIONS, st.sampled_from([60.0, 10_000.0]))
def test_a_signal_that_ends_never_shrinks_a_group(
    group: Group, fleet: Fleet, state: GroupState, evaluation: Evaluation | None, seconds: float
) -> None:
    settled = decide(group, (), fleet, state, at(), evaluation=evaluation).state
    resolved = settled
    for signal in settled.signals:
        resolved = ended(resolved, signal.alert, signal.key, NOW)
    for after, now in ((resolved, at()), (settled, at(seconds))):
        decision = decide(group, (), fleet, after, now, evaluation=evaluation)
        assert (decision.desired_to or 0) >= (settled.desired or 0) or group.mode is not Mode.ACT


@given(GROUPS, REQUESTS, FLEETS, STATES, EVALUATIONS, st.sampled_from([0.0, 60.0, 300.0]))
def test_a_signal_that_another_outlasts_changes_no_decision(
    group: Group,
    requests: list[Request],
    fleet: Fleet,
    state: GroupState,
    evaluation: Evaluation | None,
    seconds: float,
) -> None:
    every = decide(group, requests, fleet, state, at(seconds), evaluation=evaluation)
    fewer = decide(group, requests, fleet, outlasting(state), at(seconds), evaluation=evaluation)
    assert replace(fewer, state=every.state) == every
    assert outlasting(fewer.state) == outlasting(every.state)


_REFUSED = {SHIELD: Direction.IN, BLIND: Direction.IN, FREEZE_IN: Direction.IN, FREEZE_OUT: Direction.OUT}
_UNASKED = (Reason.BOUNDS, Reason.ALERT_FLOOR, Reason.BLIND_FLOOR)


@given(GROUPS, REQUESTS, FLEETS, STATES, EVALUATIONS)
def test_no_policy_and_no_alarm_moves_a_group_where_an_alert_blocks_it(
    group: Group, requests: list[Request], fleet: Fleet, state: GroupState, evaluation: Evaluation | None
) -> None:
    decision = decide(group, requests, fleet, state, at(), evaluation=evaluation)
    winner = decision.winner
    if winner is None or winner.request.cause is RequestCause.PERSON:
        return
    base = winner.clamps[0].after if winner.clamps and winner.clamps[0].guard in _UNASKED else decision.desired_from
    went = decision.advised_to if group.mode is Mode.ADVISE else decision.desired_to
    if base is None or went is None:
        return
    refused = {_REFUSED.get(signal.kind) for signal in lasting(state, NOW).signals}
    assert (Direction.IN if went < base else Direction.OUT) not in refused
