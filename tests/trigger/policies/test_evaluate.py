from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.frames import Cell, Lack
from config.model.adjustments import Action, Adjustment, Step, Steps
from config.model.catalogue import Catalogue, Compare, Holds, InARow
from config.units import ConditionId, PolicyId
from tests.support.trigger import (
    NOON,
    WEB,
    a_catalogue,
    a_condition,
    a_frame,
    a_policy,
    add,
    at,
    measured,
    missing,
    remove,
)
from trigger.conditions.timers import Kept, restarted
from trigger.policies.evaluate import evaluate, requests_from
from trigger.reasons import Reason
from trigger.verdicts import Evaluation, StreakCount, Truth

OUT = PolicyId("out")


def watched(catalogue: Catalogue, ticks: Sequence[tuple[float, Mapping[str, Cell]]]) -> list[Evaluation]:
    """Evaluate tick after tick, each (seconds, cells), holds carried on."""
    holds: Mapping[PolicyId, Kept] = {}
    seen = []
    for seconds, cells in ticks:
        now = at(seconds)
        seen.append(evaluate(catalogue, WEB, a_frame(catalogue, cells, now=now), holds, now))
        holds = seen[-1].holds
    return seen


def reasons(evaluations: Sequence[Evaluation]) -> list[Reason | None]:
    return [evaluation.advices[0].reason for evaluation in evaluations]


HIGH, LOW = {"busy": measured(90)}, {"busy": measured(10)}


def test_a_policy_fires_at_the_first_true_tick_that_completes_its_duration() -> None:
    catalogue = a_catalogue(policies=[a_policy(duration=120)])
    seen = watched(catalogue, [(30.0 * tick, HIGH) for tick in range(5)])
    assert reasons(seen) == [Reason.HOLDING] * 4 + [None]
    assert seen[-1].advices[0].held == seen[-1].advices[0].needed == 120


def test_a_policy_that_counts_fires_at_the_last_of_so_many_in_a_row_and_only_when_it_is_judged() -> None:
    catalogue = a_catalogue(policies=[replace(a_policy(), in_a_row=InARow(times=2, every=60.0))])
    seen = watched(catalogue, [(30.0 * tick, HIGH) for tick in range(5)])
    assert reasons(seen) == [Reason.HOLDING, Reason.HOLDING, None, Reason.HOLDING, None]


def test_what_was_counted_begins_anew_after_a_change_of_size_and_what_was_held_is_gone() -> None:
    counting = replace(a_policy("in"), in_a_row=InARow(times=2, every=60.0))
    catalogue = a_catalogue(policies=[a_policy("out", duration=60), counting])
    seen = watched(catalogue, [(0.0, HIGH), (60.0, HIGH)])

    kept = restarted(seen[-1].holds)

    assert kept.keys() == {"in"}
    after = evaluate(catalogue, WEB, a_frame(catalogue, HIGH, now=at(120)), kept, at(120))
    assert [advice.reason for advice in after.advices] == [Reason.HOLDING, Reason.HOLDING]
    assert after.advices[1].in_a_row == StreakCount(true=1, times=2, every=60.0)


def test_ticks_that_jitter_do_not_cost_a_tick() -> None:
    catalogue = a_catalogue(policies=[a_policy(duration=120)])
    jitter = [0.02, -0.01, 0.01, 0.0, 0.0]
    assert reasons(watched(catalogue, [(30.0 * i + late, HIGH) for i, late in enumerate(jitter)]))[-1] is None


def test_a_duration_of_nothing_fires_at_the_first_true() -> None:
    assert reasons(watched(a_catalogue(policies=[a_policy(duration=0)]), [(0, HIGH)])) == [None]


@pytest.mark.parametrize(
    "between",
    [
        pytest.param([(30, LOW)], id="false"),
        pytest.param([(30, {})], id="unheard"),
        pytest.param([], id="no-tick-at-all"),
    ],
)
def test_an_interrupted_hold_begins_again(between: list[tuple[float, Mapping[str, Cell]]]) -> None:
    catalogue = a_catalogue(policies=[a_policy(duration=60)])
    seen = watched(catalogue, [(0, HIGH), *between, (60, HIGH), (90, HIGH), (120, HIGH)])
    assert reasons(seen)[-3:] == [Reason.HOLDING, Reason.HOLDING, None]


def test_a_policy_needs_all_of_its_conditions() -> None:
    catalogue = a_catalogue(
        policies=[a_policy(when=["busy", "slow"])], conditions=[a_condition(), a_condition("slow", counter="ttfb")]
    )
    cells = [
        {"busy": measured(90), "slow": measured(90)},
        {"busy": measured(90), "slow": measured(10)},
        {"busy": measured(90)},
        {"slow": measured(10)},
    ]
    seen = [watched(catalogue, [(0, each)])[0] for each in cells]
    assert reasons(seen) == [None, Reason.NOT_MET, Reason.BLIND, Reason.NOT_MET]


def test_missing_answers_count_more_against_a_policy_that_may_shrink() -> None:
    catalogue = a_catalogue(policies=[a_policy("out"), a_policy("in", does=remove(1))])
    unheard = measured(90, low=float("-inf"), high=float("inf"), heard=9)
    (seen,) = watched(catalogue, [(0, {"busy": unheard})])
    assert [advice.reason for advice in seen.advices] == [None, Reason.BLIND]


def test_an_average_over_the_duration_has_held_by_itself() -> None:
    catalogue = a_catalogue(policies=[a_policy(duration=600, holds=Holds.AVERAGE)])
    assert reasons(watched(catalogue, [(0, HIGH)])) == [None]


def test_every_ready_policy_makes_one_request_with_an_id_of_its_own_and_the_instant() -> None:
    catalogue = a_catalogue(
        policies=[a_policy("out", does=add(2), quiet_time=60), a_policy("never", when=["slow"]), a_policy("more")],
        conditions=[a_condition(), a_condition("slow", Compare.BELOW, counter="ttfb")],
    )
    (seen,) = watched(catalogue, [(0, HIGH)])
    first, second = requests_from(catalogue, seen)
    assert (first.id, second.id) == (f"out@{NOON:.3f}", f"more@{NOON:.3f}")
    assert (first.policy, first.adjustment, first.quiet_time) == (OUT, add(2), 60)


def test_a_policy_that_is_no_longer_declared_asks_for_nothing() -> None:
    catalogue = a_catalogue()
    (seen,) = watched(catalogue, [(0, HIGH)])
    assert requests_from(replace(catalogue, policies={}), seen) == ()


def steps(by: str, first: Adjustment, second: Adjustment) -> Steps:
    return Steps(by=ConditionId(by), steps=(Step(over=0, adjustment=first), Step(over=7, adjustment=second)))


ACTIONS = [add(1), remove(1), steps("busy", add(1), add(2)), steps("busy", remove(1), remove(2))]
CELLS = st.sampled_from(
    [measured(90), measured(10), measured(85, low=70, high=95, heard=9), missing(), missing(Lack.STALE)]
)
TICKS = st.lists(st.tuples(st.sampled_from([15.0, 29.98, 30.0, 30.02, 60.0]), CELLS), min_size=1, max_size=20)


@given(ticks=TICKS, duration=st.sampled_from([0.0, 30.0, 60.0, 120.0]), does=st.sampled_from(ACTIONS))
def test_unknown_never_fires_nor_anything_before_its_duration(
    ticks: list[tuple[float, Cell]], duration: float, does: Action
) -> None:
    policy = a_policy(duration=duration, does=does)
    catalogue = a_catalogue(policies=[policy])
    elapsed, timed = 0.0, []
    for step, cell in ticks:
        elapsed += step
        timed.append((elapsed, {"busy": cell}))
    true_since: float | None = None
    last = 0.0
    for (now, _), seen in zip(timed, watched(catalogue, timed), strict=True):
        advice = seen.advices[0]
        if advice.truth is Truth.TRUE:
            true_since = now if true_since is None or now - last > 45.0 + 1e-6 else true_since
            last = now
        elif advice.truth is Truth.FALSE:
            true_since = None
        if advice.reason is None:
            assert advice.truth is Truth.TRUE
            assert true_since is not None
            assert now - true_since >= duration - 0.05 * 30.0
        if advice.taken is not None:
            assert advice.truth is Truth.TRUE
        assert (advice.reason is Reason.BLIND) is (advice.truth is Truth.UNKNOWN)


@given(cells=st.dictionaries(st.sampled_from(["busy", "slow"]), CELLS), order=st.permutations(["a", "b", "c"]))
def test_the_order_of_policies_does_not_matter(cells: dict[str, Cell], order: list[str]) -> None:
    policies = {
        "a": a_policy("a", duration=30),
        "b": a_policy("b", when=["slow"], does=steps("slow", remove(1), remove(2))),
        "c": a_policy("c", when=["busy", "slow"]),
    }
    conditions = [a_condition(), a_condition("slow", Compare.BELOW, counter="ttfb")]

    def by_policy(names: Sequence[str]) -> dict[str, object]:
        catalogue = a_catalogue(policies=[policies[name] for name in names], conditions=conditions)
        (seen,) = watched(catalogue, [(0, cells)])
        return {advice.policy: advice for advice in seen.advices}

    assert by_policy(order) == by_policy(["a", "b", "c"])
