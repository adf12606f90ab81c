from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.adjustments import Rounding
from config.model.catalogue import Adjustment, AdjustmentVerb, Group, Mode, OnVanish, QuietScope
from config.units import Instant, PolicyId
from tests.support.trigger import (
    NOON,
    WEB,
    a_fleet,
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
from trigger.decide import decide, vanished
from trigger.guards.pauses import paused
from trigger.reasons import Reason
from trigger.requests import Fleet, GroupState, Pause, Quiet, Request, RequestCause, SignalKind
from trigger.verdicts import Advice, Direction, Evaluation

# Halted


@pytest.mark.parametrize(
    ("group", "state", "reason"),
    [
        pytest.param(a_group(), GroupState(pause=Pause.ALL), Reason.PAUSED, id="paused"),
        pytest.param(a_group(), GroupState(pause=Pause.DECISIONS), Reason.PAUSED, id="decisions-paused"),
        pytest.param(a_group(mode=Mode.OFF), GroupState(), Reason.MODE_OFF, id="off"),
        pytest.param(a_group(), GroupState(orphaned=True), Reason.ORPHANED, id="orphaned"),
        pytest.param(
            a_group(mode=Mode.OFF), GroupState(orphaned=True, pause=Pause.ALL), Reason.ORPHANED, id="orphaned-says-most"
        ),
    ],
)
def test_a_halted_group_answers_every_request_so_and_changes_nothing(
    group: Group, state: GroupState, reason: Reason
) -> None:
    before = replace(state, desired=4, quiets=(a_quiet(Direction.IN, until=-5),))
    decision = decided(a_request(add(2)), an_alarm(remove(1)), a_person(9), group=group, state=before)
    assert [answer.reason for answer in decision.answers] == [reason] * 3
    assert [answer.wanted for answer in decision.answers] == [6, 3, 9]
    assert decision.reason is reason
    assert decision.state == before


@pytest.mark.parametrize("group", [a_group(mode=Mode.OFF), a_group()], ids=["off", "orphaned"])
def test_force_opens_only_a_pause(group: Group) -> None:
    state = GroupState(orphaned=group.mode is Mode.ACT, pause=Pause.ALL)
    assert decided(a_person(9, force=True), group=group, state=state).desired_to == 4


# Carried out


def test_a_winner_begins_its_quiet_time_in_its_direction() -> None:
    decision = decided(a_request(remove(1), policy="in", quiet_time=60, quiet_scope=QuietScope.POLICY))
    assert decision.state.quiets == (
        replace(a_quiet(Direction.IN, until=60, policy="in", scope=QuietScope.POLICY), lasts=60),
    )


def test_a_person_begins_the_groups_quiet_time_so_that_no_policy_undoes_it_at_once() -> None:
    state = decided(a_person(9)).state
    decision = decided(a_request(remove(1)), desired=9, state=state, now=at(30))
    assert (decision.desired_to, decision.reason) == (9, Reason.QUIET)


def test_the_same_quiet_time_begun_again_ends_at_the_later_end() -> None:
    early = decided(a_person(9), state=GroupState(quiets=(a_quiet(Direction.OUT, policy=None, until=10),)))
    late = decided(a_person(9), state=GroupState(quiets=(a_quiet(Direction.OUT, policy=None, until=900),)))
    assert [quiet.until - NOON for quiet in (*early.state.quiets, *late.state.quiets)] == [300, 900]


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(a_request(add(0, percent=True)), id="no-change"),
        pytest.param(a_request(remove(9), id="at-min"), id="at-min"),
        pytest.param(a_person(99), id="refused"),
        pytest.param(a_request(add(1), quiet_time=0), id="no-quiet-time-declared"),
    ],
)
def test_nothing_begins_a_quiet_time_without_a_change_that_has_one(request_: Request) -> None:
    assert decided(request_, desired=2).state.quiets == ()


def test_growth_is_noted_and_shrinking_is_not() -> None:
    before = GroupState(grown_at=Instant(5.0))
    assert decided(a_request(add(1)), state=before).state.grown_at == NOON
    assert decided(a_request(remove(1)), state=before).state.grown_at == 5.0


def test_growth_that_was_refused_leaves_the_note_alone() -> None:
    state = GroupState(grown_at=Instant(NOON - 60))
    assert decided(a_request(add(1)), fleet=a_fleet(in_service=1), state=state).state.grown_at == NOON - 60


def test_a_person_ends_force_and_keeping() -> None:
    state = decided(a_person(30), desired=50, state=GroupState(kept=True, forced=True)).state
    assert (state.desired, state.kept, state.forced) == (30, False, False)


def test_a_fired_policy_restarts_holds_and_advice_does_not() -> None:
    assert decided(a_request(add(1))).restarts_holds
    assert not decided(a_request(add(1)), group=a_group(mode=Mode.ADVISE)).restarts_holds
    assert not decided(a_request(add(1)), desired=40).restarts_holds


def test_advice_names_the_winner_and_its_size() -> None:
    decision = decided(a_request(add(5), id="x"), a_request(add(1), id="y"), group=a_group(mode=Mode.ADVISE))
    assert (decision.desired_to, decision.advised_to, decision.changed) == (4, 9, False)
    assert [answer.reason for answer in decision.answers] == [Reason.ADVISED, Reason.OUTBID]
    assert decision.reason is Reason.ADVISED
    assert decision.winner == decision.answers[0]


# A size that the caller has read


def test_a_request_that_expects_another_revision_changes_nothing_even_with_force_in_a_pause() -> None:
    for pause in (Pause.NO, Pause.DECISIONS):
        state = GroupState(revision=7, pause=pause)
        late = decided(replace(a_person(5, force=True), expects=6), state=state)
        assert ([answer.reason for answer in late.answers], late.changed) == ([Reason.OUTBID], False)
        assert decided(replace(a_person(5, force=True), expects=7), state=state).desired_to == 5


def test_a_change_of_the_same_moment_without_a_request_is_one_since_the_size_was_read() -> None:
    decision = decided(replace(a_person(30), expects=7), desired=50, state=GroupState(revision=7))
    assert ([answer.reason for answer in decision.answers], decision.desired_to) == ([Reason.OUTBID], 40)


# The decision's one reason


@pytest.mark.parametrize(
    ("requests", "fleet", "advices", "state", "expected"),
    [
        pytest.param([a_request(add(1)), a_person(99)], a_fleet(), [], {}, Reason.SCALED_OUT, id="the-winner's"),
        pytest.param(
            [a_request(add(1)), a_person(99)],
            a_fleet(creates_left=0),
            [],
            {},
            Reason.ABOVE_MAX,
            id="a-person's-refusal",
        ),
        pytest.param(
            [a_request(add(1)), a_request(remove(1), id="r2")],
            a_fleet(back_off_until=9),
            [],
            {},
            Reason.BUILD_BACK_OFF,
            id="growth-that-cannot-be-had",
        ),
        pytest.param([], a_fleet(), [Reason.BLIND, Reason.BLIND], {}, Reason.BLIND, id="nothing-can-be-judged"),
        pytest.param([], a_fleet(), [Reason.BLIND, Reason.HOLDING], {}, Reason.HOLDING, id="something-holds"),
        pytest.param([], a_fleet(), [Reason.BLIND, Reason.NOT_MET], {}, Reason.STEADY, id="one-sees-no-need"),
        pytest.param([], a_fleet(), [], {}, Reason.STEADY, id="nothing-at-all"),
        pytest.param([], a_fleet(), [], {"forced": True, "desired": 50}, Reason.FORCED, id="DESIGN-shown-as-forced"),
    ],
)
def test_one_reason(
    requests: Sequence[Request],
    fleet: Fleet,
    advices: Sequence[Reason],
    state: dict[str, int],
    expected: Reason,
) -> None:
    evaluation = an_evaluation(*(an_advice(f"p{i}", add(1), reason) for i, reason in enumerate(advices)))
    before = replace(GroupState(desired=4), **state)
    assert (
        decided(*requests, desired=before.desired, fleet=fleet, state=before, evaluation=evaluation).reason is expected
    )


# Acts of people and of the daemon


def test_a_pause_changes_nothing_else() -> None:
    state = GroupState(desired=4, revision=3, quiets=(a_quiet(Direction.IN),))
    assert paused(paused(state, Pause.ALL), Pause.NO) == state
    assert paused(state, Pause.DECISIONS).pause is Pause.DECISIONS


def test_changed_bounds_move_a_group_whose_directions_are_paused() -> None:
    state = GroupState(desired=1, pause=Pause.OUT)
    assert decided(desired=1, state=state).desired_to == 2


@pytest.mark.parametrize(
    ("on_vanish", "desired", "count", "expected"),
    [
        pytest.param(OnVanish.SHRINK, 6, 1, 5, id="OneFlow-lowers"),
        pytest.param(OnVanish.SHRINK, 3, 5, 2, id="never-below-min"),
        pytest.param(OnVanish.SHRINK, 1, 1, 1, id="nor-raised-to-it"),
        pytest.param(OnVanish.SHRINK, None, 1, None, id="no-size-yet"),
        pytest.param(OnVanish.REPLACE, 6, 1, 6, id="DESIGN-replaced"),
    ],
)
def test_vanished_members(on_vanish: OnVanish, desired: int | None, count: int, expected: int | None) -> None:
    before = GroupState(desired=desired, revision=7)
    after = vanished(a_group(on_vanish=on_vanish), before, count)
    assert (after.desired, after.revision) == (expected, 7 + (desired != expected))


def test_vanishing_from_above_max_ends_the_excuse_at_max() -> None:
    group = a_group(on_vanish=OnVanish.SHRINK)
    state = GroupState(desired=42, kept=True)
    assert [vanished(group, state, count).kept for count in (1, 2)] == [True, False]


# Any requests, any state

ADJUSTMENTS = st.builds(
    Adjustment,
    verb=st.sampled_from(AdjustmentVerb),
    amount=st.integers(0, 60) | st.sampled_from([0.5, 12.5, 1e-9, 1e6]),
    percent=st.booleans(),
    at_least=st.integers(0, 5),
    rounding=st.sampled_from(Rounding),
)
POLICIES = st.sampled_from([None, PolicyId("a"), PolicyId("b"), PolicyId("c")])
REQUESTS = st.lists(
    st.builds(
        Request,
        id=st.text("xyz", min_size=1, max_size=4),
        group=st.just(WEB),
        cause=st.sampled_from(RequestCause),
        by=st.just("someone"),
        adjustment=ADJUSTMENTS,
        policy=POLICIES,
        quiet_time=st.sampled_from([0.0, 60.0, 300.0]),
        quiet_scope=st.sampled_from(QuietScope),
        force=st.booleans(),
    ),
    max_size=4,
    unique_by=lambda request: request.id,
)
INSTANTS = st.sampled_from([-1000.0, -60.0, 0.0, 60.0, 1000.0]).map(lambda seconds: Instant(NOON + seconds))
SIGNALS = st.lists(
    st.builds(
        a_signal,
        st.sampled_from(SignalKind),
        st.integers(0, 60),
        alert=st.sampled_from(["a", "b"]),
        key=st.sampled_from(["f1", "f2"]),
        until=st.sampled_from([-60.0, 0.0, 60.0, 600.0]),
    ),
    max_size=4,
    unique_by=lambda signal: (signal.alert, signal.key, signal.kind),
)
STATES = st.builds(
    GroupState,
    desired=st.none() | st.integers(0, 60),
    revision=st.integers(0, 9),
    forced=st.booleans(),
    kept=st.booleans(),
    quiets=st.lists(
        st.builds(
            Quiet,
            policy=POLICIES,
            scope=st.sampled_from(QuietScope),
            direction=st.sampled_from(Direction),
            until=INSTANTS,
        ),
        max_size=3,
    ).map(tuple),
    grown_at=st.none() | INSTANTS,
    signals=SIGNALS.map(lambda signals: tuple(sorted(signals, key=lambda s: (s.alert, s.key, s.kind.value)))),
    pause=st.sampled_from(Pause),
    orphaned=st.booleans(),
)
FLEETS = st.builds(
    Fleet,
    listed=st.booleans(),
    marked=st.integers(0, 60),
    in_service=st.integers(0, 60),
    creates_left=st.integers(-2, 20),
    back_off_until=st.none() | INSTANTS,
)
GROUPS = st.builds(
    lambda minimum, width, mode, floor: a_group(
        minimum=minimum, maximum=minimum + width, mode=mode, blind_floor=floor, policies=["a", "b", "c"]
    ),
    st.integers(0, 20),
    st.integers(0, 30),
    st.sampled_from(Mode),
    st.none() | st.integers(0, 60),
)
ADVICES = st.lists(
    st.builds(
        an_advice,
        st.sampled_from(["a", "b", "c"]),
        ADJUSTMENTS,
        st.sampled_from([None, Reason.HOLDING, Reason.NOT_MET, Reason.BLIND]),
    ),
    max_size=3,
    unique_by=lambda advice: advice.policy,
)
EVALUATIONS = st.none() | ADVICES.map(lambda advices: an_evaluation(*advices))


@given(GROUPS, REQUESTS, FLEETS, STATES, EVALUATIONS)
def test_every_decision_keeps_the_promises(
    group: Group, requests: list[Request], fleet: Fleet, state: GroupState, evaluation: Evaluation | None
) -> None:
    decision = decide(group, requests, fleet, state, at(), evaluation=evaluation)
    after = decision.state

    assert [answer.request for answer in decision.answers] == requests
    assert (decision.desired_from, decision.desired_to) == (state.desired, after.desired)
    assert after.revision == state.revision + decision.changed
    assert (after.pause, after.orphaned) == (state.pause, state.orphaned)
    assert decision.winner is None or decision.winner in decision.answers
    assert decision == decide(group, requests, fleet, state, at(), evaluation=evaluation)
    assert decided_again(decision.state, group, fleet) == decision.state or group.mode is Mode.ADVISE

    halted = state.orphaned or group.mode is not Mode.ACT or state.pause.halts
    if group.mode is not Mode.ACT or state.orphaned:
        assert after == state
    if not halted and after.desired is not None:
        assert after.desired >= group.minimum
        assert after.desired <= group.maximum or after.forced or after.kept
    if decision.changed and decision.winner is None and state.desired is not None:
        assert decision.reason in _UNASKED


@given(GROUPS, REQUESTS, FLEETS, STATES, EVALUATIONS, st.sampled_from([Pause.OUT, Pause.IN]))
def test_only_a_request_with_force_moves_a_group_in_a_paused_direction(
    group: Group,
    requests: list[Request],
    fleet: Fleet,
    state: GroupState,
    evaluation: Evaluation | None,
    pause: Pause,
) -> None:
    before = replace(state, pause=pause)
    decision = decide(group, requests, fleet, before, at(), evaluation=evaluation)
    unasked = decide(group, (), fleet, before, at(), evaluation=evaluation).desired_to
    request = None if decision.winner is None else decision.winner.request
    insisted = request is not None and request.force and request.cause is RequestCause.PERSON
    if unasked is not None and decision.desired_to is not None and not insisted:
        assert decision.desired_to <= unasked or pause is Pause.IN
        assert decision.desired_to >= unasked or pause is Pause.OUT


def decided_again(state: GroupState, group: Group, fleet: Fleet) -> GroupState:
    """Decide a second time at the same moment, without requests: nothing may be left to do."""
    return decide(group, (), fleet, state, at(), evaluation=None).state


@given(GROUPS, REQUESTS, FLEETS, STATES, EVALUATIONS, st.permutations(range(4)))
def test_the_order_of_requests_and_advices_never_matters(
    group: Group,
    requests: list[Request],
    fleet: Fleet,
    state: GroupState,
    evaluation: Evaluation | None,
    order: list[int],
) -> None:
    shuffled = [requests[index] for index in order if index < len(requests)]
    backwards = None if evaluation is None else replace(evaluation, advices=evaluation.advices[::-1])
    one = decide(group, requests, fleet, state, at(), evaluation=evaluation)
    two = decide(group, shuffled, fleet, state, at(), evaluation=backwards)
    by_id = {answer.request.id: answer for answer in two.answers}
    assert replace(two, answers=tuple(by_id[request.id] for request in requests)) == one


@given(GROUPS, REQUESTS, FLEETS, STATES, EVALUATIONS)
def test_policies_and_alarms_never_outgrow_the_budget_nor_take_more_than_they_asked_for(
    group: Group, requests: list[Request], fleet: Fleet, state: GroupState, evaluation: Evaluation | None
) -> None:
    decision = decide(group, requests, fleet, state, at(), evaluation=evaluation)
    winner = decision.winner
    size = decision.desired_to if decision.advised_to is None else decision.advised_to
    if winner is None or winner.request.cause is RequestCause.PERSON or size is None:
        return
    base = winner.clamps[0].after if winner.clamps and winner.clamps[0].guard in _UNASKED else decision.desired_from
    if base is None:
        return
    assert size <= max(base, base + fleet.creates_left)
    if size < base and not state.forced:
        assert winner.wanted is not None
        assert size >= winner.wanted


_UNASKED = (Reason.BOUNDS, Reason.ALERT_FLOOR, Reason.BLIND_FLOOR)


@given(GROUPS, FLEETS, STATES, ADVICES)
def test_without_a_ready_policy_nothing_is_ever_removed_but_by_a_change_of_max(
    group: Group, fleet: Fleet, state: GroupState, advices: list[Advice]
) -> None:
    decision = decide(group, (), fleet, state, at(), evaluation=an_evaluation(*advices))
    if state.desired is not None and decision.desired_to is not None and decision.desired_to < state.desired:
        assert decision.reason is Reason.BOUNDS
        assert decision.desired_to == group.maximum
