"""Source of the rule: Kubernetes' HorizontalPodAutoscaler, ``scaleDown.stabilizationWindowSeconds``; docs/guards.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.adjustments import Adjustment
from config.model.catalogue import Compare, Group, Mode
from config.units import Instant
from tests.support.trigger import (
    NOON,
    WEB,
    a_catalogue,
    a_condition,
    a_fleet,
    a_frame,
    a_group,
    a_person,
    a_policy,
    a_quiet,
    a_request,
    add,
    an_advice,
    an_alarm,
    an_evaluation,
    at,
    measured,
    remove,
    set_to,
)
from trigger.decide import decide
from trigger.explain.basis import rerun
from trigger.explain.explanation import explain
from trigger.explain.shapes import shape
from trigger.explain.words import say
from trigger.guards.stabilisation import advised, free_at, highest, observed
from trigger.policies.evaluate import evaluate, requests_from
from trigger.reasons import Reason
from trigger.requests import Ceiling, Clamp, Decision, GroupState, Observed, Pause, Request
from trigger.verdicts import Advice, Direction

WINDOW = 300.0
STABLE = replace(a_group(minimum=2, maximum=40, interval=60.0, policies=("in",)), stabilisation=WINDOW)
HOLDING, BLIND, NOT_MET = Reason.HOLDING, Reason.BLIND, Reason.NOT_MET


def fewer(size: float, reason: Reason | None = None) -> Advice:
    """A policy that sets the size: with it, an advice is Kubernetes' recommendation."""
    return an_advice("in", set_to(size), reason)


def ticked(
    state: GroupState,
    *advices: Advice,
    minutes: float = 0.0,
    group: Group = STABLE,
    others: Sequence[Request] = (),
) -> Decision:
    """One tick, with the requests of the policies that are ready."""
    ready = [
        a_request(advice.adjustment, id=f"{advice.policy}@{minutes}", policy=advice.policy, quiet_time=0)
        for advice in advices
        if advice.reason is None
    ]
    requests = (*ready, *others)
    return decide(group, requests, a_fleet(), state, at(60 * minutes), evaluation=an_evaluation(*advices))


def after(sizes: Iterable[float | None], *, desired: int = 20, group: Group = STABLE) -> Decision:
    """One tick a minute; ``None``: the policy is not ready."""
    state, decision = GroupState(desired=desired), None
    for minute, size in enumerate(sizes):
        advice = fewer(1, NOT_MET) if size is None else fewer(size)
        decision = ticked(state, advice, minutes=minute, group=group)
        state = decision.state
    assert decision is not None
    return decision


def reached(*result: tuple[float, int], seen: float = 0.0) -> Observed:
    """Ceilings, by the minute at which they began."""
    ceilings = tuple(Ceiling(since=Instant(NOON + 60 * minute), size=size) for minute, size in result)
    return Observed(ceilings=ceilings, seen=Instant(NOON + 60 * seen))


# What is advised at one tick.


@pytest.mark.parametrize(
    ("advices", "advice"),
    [
        pytest.param([], 10, id="none"),
        pytest.param([fewer(4)], 4, id="one-that-is-ready"),
        pytest.param([fewer(4), fewer(6)], 6, id="the-fewest-leave"),
        pytest.param([fewer(1)], 2, id="not-below-the-least"),
        pytest.param([fewer(4, HOLDING)], 10, id="not-yet"),
        pytest.param([fewer(4), fewer(6, NOT_MET)], 10, id="another-disagrees"),
        pytest.param([fewer(4), fewer(6, BLIND)], 10, id="missing-data-never-lowers"),
        pytest.param([fewer(4, BLIND)], 10, id="blind"),
        pytest.param([fewer(4), an_advice("out", add(2), NOT_MET)], 4, id="a-policy-that-only-grows-has-no-vote"),
        pytest.param([fewer(4), an_advice("out", add(2), None)], 12, id="out-beats-in"),
        pytest.param([fewer(4), an_advice("none", remove(0), None)], 4, id="no-change-is-no-opinion"),
    ],
)
def test_policies_advise_one_size_together(advices: list[Advice], advice: int) -> None:
    assert advised(an_evaluation(*advices), 10, 2, in_service=10) == advice


sizes = st.integers(0, 30)
some_advices = st.lists(st.builds(fewer, sizes, st.sampled_from([None, None, HOLDING, BLIND, NOT_MET])), max_size=5)


@given(some_advices, st.randoms(use_true_random=False))
def test_the_order_of_policies_does_not_matter(advices: list[Advice], random: Random) -> None:
    shuffled = list(advices)
    random.shuffle(shuffled)
    assert advised(an_evaluation(*shuffled), 10, 2, in_service=10) == advised(
        an_evaluation(*advices), 10, 2, in_service=10
    )


# The highest advice of the window.


@pytest.mark.parametrize(
    ("advice", "size"),
    [
        pytest.param([3] * 5, 20, id="not-filled-yet"),
        pytest.param([3] * 6, 3, id="filled"),
        pytest.param([None, *[3] * 5], 20, id="no-policy-advised-fewer-within-it"),
        pytest.param([10, 9, 9, 9, 9, 9, 9], 9, id="Kubernetes-old-recommendations-do-not-count"),
        pytest.param([10, 9, 5, 5, 4, 4, 4, 3], 5, id="Kubernetes-stabilise"),
        pytest.param([9, 9, 3, 3, 3, 6, 3, 3], 6, id="a-peak-counts"),
        pytest.param([3, 3, 3, None, 3, 3, 3, 3], 20, id="a-tick-that-advises-none-begins-anew"),
        pytest.param([3, 3, 30, 3, 3, 3, 3, 3], 30, id="growth-begins-anew-and-is-not-held-back"),
        pytest.param([3, 4, 5, 6, 7, 8], 8, id="rising-below-the-size"),
        pytest.param([8, 7, 6, 5, 4, 3], 8, id="falling"),
        pytest.param([8, 7, 6, 5, 4, 3, 3], 7, id="each-step-down-has-its-own-time"),
    ],
)
def test_the_highest_advice_of_the_window_wins(advice: list[float | None], size: int) -> None:
    assert after(advice).desired_to == size


def test_a_smaller_change_is_a_clamp() -> None:
    winner = after([6, *[3] * 5]).winner
    assert winner is not None
    assert (winner.reason, winner.wanted, winner.clamps) == (
        Reason.SCALED_IN,
        3,
        (Clamp(guard=Reason.STABILISING, before=3, after=6),),
    )


def test_a_refusal_says_when_fewer_are_free_at_the_earliest() -> None:
    decision = after([None, 7, 7, 3])
    (answer,) = decision.answers
    assert (decision.reason, answer.reason, answer.until) == (
        Reason.STABILISING,
        Reason.STABILISING,
        NOON + 60 + WINDOW,
    )
    assert after([None, 7, 7, 3, 3, 3, 3]).desired_to == 7


def test_without_the_key_nothing_is_kept_and_nothing_waits() -> None:
    decision = after([3], group=replace(STABLE, stabilisation=None))
    assert (decision.desired_to, decision.state.observed) == (3, Observed())


def test_removing_the_key_drops_the_ceilings() -> None:
    state = GroupState(desired=20, observed=reached((0, 3)))
    assert ticked(state, fewer(3), minutes=1, group=replace(STABLE, stabilisation=None)).state.observed == Observed()


def test_where_policies_disagree_that_is_the_answer() -> None:
    decision = ticked(GroupState(desired=20), fewer(3), an_advice("slow", remove(1), HOLDING))
    (answer,) = decision.answers
    assert (answer.reason, answer.until) == (Reason.DISAGREED, None)


# What begins it anew, and what does not.


@pytest.mark.parametrize(
    ("seen", "now", "left"),
    [
        pytest.param(4, 5.5, 3, id="a-late-tick"),
        pytest.param(4, 5.6, 20, id="a-gap"),
        pytest.param(4, 3.9, 20, id="the-clock-was-set-back"),
    ],
)
def test_time_without_ticks_never_counts(seen: float, now: float, left: int) -> None:
    state = GroupState(desired=20, observed=reached((-1, 3), seen=seen))
    assert ticked(state, fewer(3), minutes=now).desired_to == left


def test_a_tick_that_is_early_by_its_jitter_is_no_tick_lost() -> None:
    state = GroupState(desired=20, observed=reached((0, 3), seen=4))
    assert ticked(state, fewer(3), minutes=4.96).desired_to == 3
    assert ticked(state, fewer(3), minutes=4.94).desired_to == 20


@pytest.mark.parametrize(
    "halted",
    [
        pytest.param((STABLE, Pause.DECISIONS), id="paused"),
        pytest.param((replace(STABLE, mode=Mode.OFF), Pause.NO), id="off"),
    ],
)
def test_a_halted_tick_advises_nothing(halted: tuple[Group, Pause]) -> None:
    group, pause = halted
    state = GroupState(desired=20, pause=pause, observed=reached((-9, 3)))
    assert ticked(state, fewer(3), group=group).state.observed == Observed()


@pytest.mark.parametrize("pause", [Pause.IN, Pause.OUT])
def test_a_pause_of_one_direction_stops_no_advice(pause: Pause) -> None:
    state = GroupState(desired=20, pause=pause, observed=reached((-1, 3)))
    assert ticked(state, fewer(3)).state.observed == reached((-1, 3))


@pytest.mark.parametrize(
    "asked", [a_person(30), a_person(12), an_alarm(add(5)), an_alarm(remove(5))], ids=lambda request: request.id
)
def test_the_window_begins_anew_after_a_person_or_an_alarm_changed_the_size(asked: Request) -> None:
    state = GroupState(desired=20, observed=reached((-4, 3)))
    decision = decide(STABLE, (asked,), a_fleet(), state, at(), evaluation=None)
    assert decision.changed
    assert decision.state.observed == Observed()


def test_a_refused_request_leaves_the_window_as_it_is() -> None:
    state = GroupState(desired=20, observed=reached((-4, 3)))
    decision = decide(STABLE, (a_person(99),), a_fleet(), state, at(), evaluation=None)
    assert decision.state == state


def test_people_and_alarms_are_not_held_back() -> None:
    for asked in (a_person(5), an_alarm(set_to(5))):
        assert decide(STABLE, (asked,), a_fleet(), GroupState(desired=20), at(), evaluation=None).desired_to == 5


def test_a_quiet_time_stops_no_advice() -> None:
    quiet = a_quiet(Direction.IN, until=WINDOW - 1, policy="in")
    state, result = GroupState(desired=20, quiets=(quiet,)), []
    for minute in range(6):
        decision = ticked(state, fewer(3), minutes=minute)
        state = decision.state
        result.append(decision.reason)
    assert result == [Reason.QUIET] * 5 + [Reason.SCALED_IN]


def test_mode_advise_keeps_observations_and_nothing_else() -> None:
    advising = replace(STABLE, mode=Mode.ADVISE)
    first = ticked(GroupState(desired=20), fewer(3), group=advising)
    assert (first.reason, first.advised_to) == (Reason.STABILISING, None)
    assert first.state == replace(GroupState(desired=20), observed=reached((0, 3)))

    last = after([3] * 6, group=advising)
    assert (last.reason, last.advised_to, last.desired_to) == (Reason.ADVISED, 3, 20)
    assert last.state == replace(GroupState(desired=20), observed=reached((0, 3)))


def test_in_mode_advise_a_persons_request_changes_no_size_and_begins_no_window_anew() -> None:
    state = GroupState(desired=20, observed=reached((-1, 3)))
    advising = replace(STABLE, mode=Mode.ADVISE)
    assert decide(advising, (a_person(9),), a_fleet(), state, at(), evaluation=None).state == state


# What is kept.


def test_a_tick_that_advises_the_same_is_no_change_to_write_down() -> None:
    before = after([5, 5, 5]).state
    decision = ticked(before, fewer(5), minutes=3)
    assert decision.state == before
    assert decision.state.observed.seen == NOON + 180


def test_a_group_without_a_lower_advice_keeps_no_ceilings() -> None:
    state = GroupState(desired=20)
    assert ticked(state, fewer(1, NOT_MET)).state is state
    assert after([2] * 9, desired=2).state.observed == Observed()


def test_only_ceilings_that_still_count_are_kept() -> None:
    assert after([9, 8, 7, 6, 5], desired=20).state.observed == reached((0, 9), (1, 8), (2, 7), (3, 6), (4, 5))
    kept = observed(reached((0, 9), (1, 8), (7, 5), seen=7), 5, 20, Instant(NOON + 480), window=WINDOW, interval=60)
    assert kept == reached((1, 8), (7, 5))


def test_a_long_way_down_is_kept_in_bounds_and_comes_later_not_lower() -> None:
    state, result = Observed(), []
    for second in range(290):
        state = observed(state, 900 - second, 1000, Instant(NOON + second), window=WINDOW, interval=1)
        result.append(len(state.ceilings))
    assert max(result) == 200
    assert min(ceiling.size for ceiling in state.ceilings) == 701


plays = st.lists(
    st.tuples(
        st.sampled_from([20.0, 30.0, 40.0, 45.0, 46.0, 90.0]), st.integers(0, 30), st.sampled_from([None, BLIND])
    ),
    max_size=40,
)


@given(plays, st.sampled_from([30.0, 75.0, 300.0]))
def test_no_size_is_ever_below_the_highest_advice_of_the_window(
    ticks: list[tuple[float, int, Reason | None]], window: float
) -> None:
    group = replace(STABLE, interval=30.0, stabilisation=window)
    state, now, story = GroupState(desired=15), 0.0, [(-1e9, 15)]
    for wait, size, reason in ticks:
        now += wait
        base = state.desired or 0
        gaps = [(end, base) for (begin, _), (end, _) in pairwise([*story, (now, 0)]) if end - begin > 45]
        story.append((now, advised(an_evaluation(fewer(size, reason)), base, 2, in_service=base)))
        state = ticked(state, fewer(size, reason), minutes=now / 60, group=group).state
        counting = [result for when, result in (*story, *gaps) if now - when < window - 1.5]
        assert (state.desired or 0) >= min(base, max(counting, default=0))


@given(st.lists(st.integers(1, 14), min_size=1, max_size=20), st.data())
def test_missing_data_never_gives_a_lower_size(sizes: list[int], data: st.DataObject) -> None:
    blind = data.draw(st.integers(0, len(sizes) - 1))
    with_hole = [None if index == blind else size for index, size in enumerate(sizes)]
    seen, holed = Observed(), Observed()
    for minute, (size, other) in enumerate(zip(sizes, with_hole, strict=True)):
        now = Instant(NOON + 60 * minute)
        seen = observed(seen, size, 15, now, window=WINDOW, interval=60)
        holed = observed(holed, 15 if other is None else other, 15, now, window=WINDOW, interval=60)
        assert highest(holed, 15, now, window=WINDOW, interval=60) >= highest(seen, 15, now, window=WINDOW, interval=60)


def test_a_lower_size_that_no_policy_has_advised_yet_needs_a_full_window() -> None:
    assert free_at(Observed(), 10, Instant(NOON), window=WINDOW) == NOON + WINDOW


@pytest.mark.parametrize(("seen", "reason"), [(0.0, Reason.STABILISING), (4.0, Reason.SCALED_IN)])
def test_a_record_decided_once_more_waits_as_it_did(seen: float, reason: Reason) -> None:
    idle = a_condition("idle", Compare.BELOW, 30)
    catalogue = a_catalogue(policies=[a_policy("in", when=["idle"], does=set_to(3))], conditions=[idle], group=STABLE)
    now, state = at(300), GroupState(desired=20, observed=reached((0, 3), seen=seen))
    evaluation = evaluate(catalogue, WEB, a_frame(catalogue, {"idle": measured(10)}, now=now), {}, now)
    requests = requests_from(catalogue, evaluation)
    decision = decide(STABLE, requests, a_fleet(), state, now, evaluation=evaluation)
    assert decision.reason is reason

    basis = explain(catalogue, STABLE, evaluation, decision, a_fleet(), state).basis

    assert basis is not None
    assert rerun(catalogue, STABLE, basis) == (evaluation, decision)


# In words.


def lines(state: GroupState, minutes: float, advice: Adjustment) -> tuple[str, ...]:
    decision = ticked(state, an_advice("in", advice, None), minutes=minutes)
    catalogue = a_catalogue(group=STABLE)
    explanation = explain(catalogue, STABLE, None, decision, a_fleet(in_service=10))
    return say(explanation, Instant(NOON + 60 * minutes))


def test_why_shows_the_advice_and_when_a_lower_size_is_possible() -> None:
    text = lines(GroupState(desired=7, observed=reached((3, 4), seen=4)), 5, set_to(4))
    assert text[-1] == (
        "stabilisation: policies keep 7 or more until 12:08:00 (3m left); advised 7 until 12:03:00 (120 s ago), 4 since"
    )


def test_why_shows_the_next_of_several_steps_down() -> None:
    text = lines(GroupState(desired=20, observed=reached((-5, 9), (1, 6), (2, 4), seen=2)), 3, set_to(4))
    assert "keep 9 or more until 12:06:00 (3m left); advised 9 until 12:01:00 (120 s ago), 6 since" in text[-1]


def test_why_has_no_line_where_nothing_waits() -> None:
    assert not [line for line in lines(GroupState(desired=20), 0, set_to(20)) if "stabilis" in line]


def test_how_long_it_still_takes_is_no_other_story() -> None:
    catalogue = a_catalogue(group=STABLE)
    result = [explain(catalogue, STABLE, None, after([3] * ticks), a_fleet()) for ticks in (3, 4)]
    assert shape(result[0]) == shape(result[1])
