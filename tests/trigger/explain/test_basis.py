"""A record, decided once more by the code that decided it, gives the same answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import event, given
from hypothesis import strategies as st

from aggregator.frames import Cell, Lack
from config.model.adjustments import AdjustmentVerb, TargetLoad, Tracking
from config.model.catalogue import Catalogue, Compare, Holds, InARow, Mode
from config.model.schedules import LastsFor, Once, ScheduledBound, ScheduledChange, ScheduledLimit
from config.units import ConditionId, Instant, Monotonic, PolicyId
from handler.store.codec import from_text, to_text
from tests.support.conditions import an_expression
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
    a_signal,
    add,
    an_alarm,
    at,
    measured,
    missing,
    remove,
    set_to,
    unranked,
)
from trigger.decide import decide
from trigger.explain.basis import rerun
from trigger.explain.explanation import Explanation, explain
from trigger.policies.evaluate import evaluate, requests_from
from trigger.policies.schedules import due
from trigger.requests import Ceiling, Decision, GroupState, Observed, Pause, SignalKind, SizeChange, Watched
from trigger.verdicts import Direction, Evaluation, Hold, PolicyStreak

AIMED = Tracking(by=ConditionId("busy"), verb=AdjustmentVerb.ADD, level=70.0, load=TargetLoad.EACH)
VALUES = st.sampled_from([0.0, 25.0, 50.0, 85.0, 100.0])

LAUNCH = ScheduledChange(
    id=PolicyId("launch"), times=Once(at=Instant(NOON)), adjustment=add(3), grace=60.0, quiet_time=0.0
)
DAYS = ScheduledLimit(
    id=PolicyId("days"), times=Once(at=Instant(NOON)), until=LastsFor(span=60.0), limit=ScheduledBound.FLOOR, size=8
)
WATCHED = Watched(policy=LAUNCH.id, times=LAUNCH.times, until=Instant(NOON - 60))


@st.composite
def cells(draw: st.DrawFn) -> Cell:
    low, value, high = sorted(draw(st.tuples(VALUES, VALUES, VALUES)))
    endless = draw(st.booleans())
    match draw(st.integers(0, 3)):
        case 0:
            return missing(draw(st.sampled_from(Lack)))
        case 1:
            return unranked(low, high)
        case 2:
            return measured(value)
        case _:
            bounds = (float("-inf"), float("inf")) if endless else (low, high)
            return measured(value, low=bounds[0], high=bounds[1], heard=draw(st.integers(0, 9)))


@st.composite
def catalogues(draw: st.DrawFn) -> Catalogue:
    conditions = [
        a_condition("busy", Compare.ABOVE, 80.0, quorum=draw(st.none() | st.just(0.5))),
        replace(a_condition("idle", Compare.BELOW, 30.0, counter="load"), per_member=draw(st.booleans())),
        an_expression("backlog > 30 || backlog.max > 80"),
    ]
    policies = [
        replace(
            a_policy(
                name,
                when=("busy", *draw(st.sets(st.sampled_from(["idle", "slow"])))),
                duration=draw(st.sampled_from([0.0, 60.0])),
                does=draw(st.sampled_from([add(1), add(50, percent=True), remove(1), set_to(5), AIMED])),
                holds=draw(st.sampled_from(Holds)),
                quiet_time=draw(st.sampled_from([0.0, 300.0])),
            ),
            in_a_row=draw(st.none() | st.just(InARow(times=2, every=30.0))),
        )
        for name in draw(st.sampled_from([[], ["a"], ["a", "b"], ["a", "b", "c"]]))
    ]
    group = a_group(
        policies=[policy.id for policy in policies],
        mode=draw(st.sampled_from([Mode.ACT, Mode.ACT, *Mode])),
        blind_floor=draw(st.none() | st.just(6)),
    )
    stable = replace(group, stabilisation=draw(st.none() | st.just(300.0)))
    scheduled = replace(stable, schedules=draw(st.sampled_from([(), (LAUNCH,), (LAUNCH, DAYS)])))
    return a_catalogue(conditions=conditions, policies=policies, group=scheduled)


LOWER = Observed(
    ceilings=(Ceiling(since=Instant(NOON - 400), size=9), Ceiling(since=Instant(NOON - 60), size=3)),
    seen=Instant(NOON - 30),
)
STATES = st.builds(
    GroupState,
    desired=st.none() | st.integers(0, 45),
    revision=st.integers(0, 9),
    forced=st.booleans(),
    kept=st.booleans(),
    pause=st.sampled_from([Pause.NO] * 5 + list(Pause)),
    orphaned=st.sampled_from([False] * 9 + [True]),
    grown_at=st.none() | st.just(Instant(NOON - 60)),
    quiets=st.sampled_from([(), (a_quiet(Direction.OUT),), (a_quiet(Direction.IN, until=-1.0),)]),
    signals=st.sampled_from([(), (a_signal(SignalKind.FLOOR, 6),), (a_signal(),)]),
    moves=st.sampled_from([(), (SizeChange(at=Instant(NOON), before=2, after=3),)]),
    watched=st.sampled_from([(), (WATCHED,)]),
    observed=st.sampled_from([Observed(), LOWER, replace(LOWER, seen=Instant(NOON - 60))]),
)
FLEETS = st.builds(
    a_fleet,
    in_service=st.integers(0, 10),
    creates_left=st.integers(0, 3),
    listed=st.booleans(),
    marked=st.integers(0, 10),
    back_off_until=st.none() | st.just(60.0),
)
OUTSIDE = st.lists(
    st.sampled_from([a_person(7), a_person(50, force=True, id="p2"), an_alarm(add(2)), an_alarm(remove(1), id="a2")]),
    max_size=2,
    unique_by=lambda request: request.id,
)
STEADY = at().steady
KEPT = st.sampled_from(
    [
        None,
        Hold(true_since=Monotonic(STEADY - 60), last_true=Monotonic(STEADY - 30)),
        Hold(true_since=Monotonic(STEADY - 90), last_true=Monotonic(STEADY - 60)),
        PolicyStreak(true=1, judged_at=Monotonic(STEADY - 30)),
        PolicyStreak(true=1, judged_at=Monotonic(STEADY - 5)),
    ]
)


@st.composite
def records(draw: st.DrawFn) -> tuple[Catalogue, Evaluation | None, Decision, Explanation]:
    """Make a decision as the daemon does, with its record."""
    catalogue = draw(catalogues())
    group = catalogue.groups[WEB]
    holds = {name: kept for name in group.policies if (kept := draw(KEPT)) is not None}
    measured_of: Mapping[str, Cell] = {name: draw(cells()) for name in ("busy", "idle", "backlog")}
    evaluation = None
    if draw(st.integers(0, 4)):
        evaluation = evaluate(
            catalogue, WEB, a_frame(catalogue, measured_of), holds, at(), size=draw(st.none() | st.just(4))
        )
    own = () if evaluation is None else requests_from(catalogue, evaluation)
    fleet, state = draw(FLEETS), draw(STATES)
    timely = () if evaluation is None else due(group, state, at().wall)
    decision = decide(group, (*draw(OUTSIDE), *timely, *own), fleet, state, at(), evaluation=evaluation)
    return catalogue, evaluation, decision, explain(catalogue, group, evaluation, decision, fleet, state)


@given(records())
def test_a_record_decided_once_more_gives_the_same_answer(
    record: tuple[Catalogue, Evaluation | None, Decision, Explanation],
) -> None:
    catalogue, evaluation, decision, explanation = record
    event(decision.reason.value)
    kept = from_text(to_text(explanation, Explanation), Explanation)
    assert kept.basis is not None

    again, answer = rerun(catalogue, catalogue.groups[WEB], kept.basis)

    assert (again, answer) == (evaluation, decision)
    result = explain(catalogue, catalogue.groups[WEB], again, answer, kept.basis.fleet, kept.basis.state)
    assert result == explanation


def test_an_evaluation_of_another_catalogue_has_no_basis() -> None:
    before, after = a_catalogue(), a_catalogue(policies=[a_policy("other")])
    evaluation = evaluate(before, WEB, a_frame(before, {"busy": measured(50.0)}), {}, at())
    state = GroupState(desired=4)
    decision = decide(after.groups[WEB], (), a_fleet(), state, at(), evaluation=evaluation)

    assert explain(after, after.groups[WEB], evaluation, decision, a_fleet(), state).basis is None


def test_a_record_of_an_older_release_has_no_basis() -> None:
    catalogue = a_catalogue()
    decision = decide(catalogue.groups[WEB], (), a_fleet(), GroupState(desired=4), at(), evaluation=None)
    text = to_text(explain(catalogue, catalogue.groups[WEB], None, decision, a_fleet()), Explanation)
    older = {name: value for name, value in json.loads(text).items() if name != "basis"}

    assert from_text(json.dumps(older), Explanation).basis is None
