"""All rules of one group at once, over many ticks: targets, steps, schedules, guards, alerts, people and gaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.frames import Aggregate, Cell, Frame, Insufficient, Lack
from aggregator.specs import keys_for
from config.load import parse
from config.model.catalogue import Catalogue, Group, Mode
from config.units import GroupId, Instant, Moment, Monotonic, PolicyId
from tests.support.trigger import a_fleet, a_floor, a_person, a_signal, add, an_alarm, remove
from trigger.conditions.timers import Kept, restarted
from trigger.decide import decide
from trigger.explain.basis import basis_of, rerun
from trigger.explain.explanation import explain
from trigger.explain.words import say
from trigger.guards.pauses import paused
from trigger.policies.evaluate import evaluate, requests_from
from trigger.policies.schedules import bounded, due
from trigger.policies.signals import signalled
from trigger.requests import Decision, Fleet, GroupState, Pause, Request, RequestCause, Signal, SignalKind
from trigger.verdicts import Evaluation, Truth

WEB = GroupId("web")
BEGIN = 1_767_268_795.0
"""2026-01-01 11:59:55 UTC."""
INTERVAL = 15.0

TEXT = """
counters:
  cpu: {push: CPU, unit: percent, range: [0, 100]}
  orders: {push: ORDERS, per: group}
  wait: {push: WAIT, per: group, unit: ms}
conditions:
  busy: {counter: cpu, above: 80}
  idle: {counter: cpu, across: max, window: 30s, below: 30}
  piled: {counter: orders, per_member: true, above: 50}
policies:
  keep: {target: {counter: cpu, value: 60, out: {duration: 15s, at_most: 50%}, in: {duration: 30s, at_most: 3}}}
  quick: {target: {counter: wait, value: 0.25 s, in: {duration: 30s}}}
  pile: {when: [busy, piled], match: any, duration: 30s, add: 10%}
  out: {when: [busy], duration: 30s, steps: [{over: 0, add: 1}, {over: 15, add: 25%}]}
  in: {when: [idle], in_a_row: {times: 3, every: 15s}, remove: 10%, quiet_time: 1m}
  tick: {schedule: "*/3 * * * *", add: 2, quiet_time: 30s, missed: {within: 2m}}
  tock: {schedule: "*/5 * * * *", set: 5, missed: once}
  days: {schedule: "*/4 * * * *", until: 2m, floor: 6}
  night: {schedule: "1-59/4 * * * *", until: 90s, ceiling: 12}
clouds: {local: {process: {}}}
profiles: {web: {cloud: local, command: [serve]}}
groups:
  web:
    profile: web
    min: 2
    max: 20
    interval: 15s
    policies: [keep, quick, pile, out, in, tick, tock, days, night]
    mode: MODE
    blind: floor 3
    max_growth: {count: 6, per: 2m}
    max_shrinkage: {count: 3, percent: 50%, per: 2m, select: min}
    flap_damping: {reversals: 3, within: 5m, hold: 3m}
    stabilisation: STABILISATION
    freeze: [{schedule: "*/7 * * * *", duration: 1m, direction: in}]
"""
EVERYTHING = {
    (mode, window): parse(
        TEXT.replace("MODE", mode.value).replace("STABILISATION", window).replace("\n    stabilisation: none", ""), "x"
    )
    for mode in (Mode.ACT, Mode.ADVISE)
    for window in ("none", "1m")
}


@dataclass(slots=True, kw_only=True)
class World:
    """One group, decided about again and again."""

    catalogue: Catalogue
    state: GroupState = field(default_factory=lambda: GroupState(desired=4, revision=1))
    holds: Mapping[PolicyId, Kept] = field(default_factory=dict)
    now: Moment = field(default_factory=lambda: Moment(wall=Instant(BEGIN), steady=Monotonic(50.0)))
    true_since: dict[PolicyId, tuple[float, float]] = field(default_factory=dict)
    """Since when, and until when, truth was seen without a gap."""
    decided: list[Decision] = field(default_factory=list)

    @property
    def group(self) -> Group:
        return self.catalogue.groups[WEB]

    def later(self, seconds: float) -> None:
        self.now = Moment(wall=Instant(self.now.wall + seconds), steady=Monotonic(self.now.steady + seconds))

    def tick(self, cells: Mapping[str, Cell], fleet: Fleet, outside: tuple[Request, ...]) -> None:
        keys = keys_for(self.catalogue, WEB)
        frame = Frame(group=WEB, at=self.now, cells={key: cells[key.counter] for key in keys})
        evaluation = evaluate(self.catalogue, WEB, frame, self.holds, self.now, size=self.state.desired)
        self.holds = evaluation.holds
        self._watch(evaluation)
        own = requests_from(self.catalogue, evaluation)
        self._decide((*outside, *due(self.group, self.state, self.now.wall), *own), fleet, evaluation)

    def ask(self, outside: tuple[Request, ...], fleet: Fleet) -> None:
        self._decide(outside, fleet, None)

    def _decide(self, requests: tuple[Request, ...], fleet: Fleet, evaluation: Evaluation | None) -> None:
        before, group, at = self.state, self.group, self.now
        decision = decide(group, requests, fleet, before, at, evaluation=evaluation)
        self._judge(decision, before, evaluation, fleet)
        again = decide(group, requests[::-1], fleet, before, at, evaluation=evaluation)
        assert (again.state, again.reason, again.advised_to) == (decision.state, decision.reason, decision.advised_to)
        basis = basis_of(self.catalogue, group, evaluation, decision, fleet, before)
        assert basis is not None
        judged, once_more = rerun(self.catalogue, group, basis)
        assert (judged, once_more.state, once_more.reason) == (evaluation, decision.state, decision.reason)
        words = say(explain(self.catalogue, group, evaluation, decision, fleet, before), at.wall)
        assert all(line.strip() and "None" not in line for line in words)
        self.state = decision.state
        self.decided.append(decision)
        if decision.restarts_holds:
            self.holds = restarted(self.holds)
            self.true_since = {}

    def _watch(self, evaluation: Evaluation) -> None:
        now = self.now.steady
        for advice in evaluation.advices:
            since, last = self.true_since.get(advice.policy, (now, now))
            if advice.truth is Truth.TRUE:
                whole = now - last <= 1.5 * INTERVAL
                self.true_since[advice.policy] = (since if whole else now, now)
            else:
                self.true_since.pop(advice.policy, None)

    def _judge(self, decision: Decision, before: GroupState, evaluation: Evaluation | None, fleet: Fleet) -> None:
        group, after = self.group, decision.state
        bounds = bounded(group, before, self.now.wall)
        halted = before.pause.halts
        if group.mode is Mode.ADVISE:
            observed = replace(before, observed=after.observed, watched=after.watched)
            assert after == observed
            return
        if after.desired is not None and not (halted or after.forced or after.kept):
            coming_down = decision.winner is not None and before.desired is not None and after.desired < before.desired
            assert bounds.minimum <= after.desired
            assert after.desired <= bounds.maximum or coming_down  # what insisted is over, and a pace cuts the way off
        if halted and decision.changed:
            assert decision.winner is not None
            assert decision.winner.request.force
        won = decision.winner
        if won is not None and won.request.cause is RequestCause.POLICY:
            assert evaluation is not None
            advice = next(each for each in evaluation.advices if each.policy == won.request.policy)
            assert (advice.truth, advice.reason) == (Truth.TRUE, None)
            since, last = self.true_since[advice.policy]
            needed = self.catalogue.policies[advice.policy].duration
            rule = self.catalogue.policies[advice.policy].in_a_row
            needed = needed if rule is None else (rule.times - 1) * rule.every
            assert last - since >= needed - 0.05 * INTERVAL
        if not decision.changed or won is None or before.desired is None or after.desired is None:
            return
        if won.request.cause is RequestCause.POLICY and after.desired < before.desired <= bounds.maximum:
            assert evaluation is not None
            shields = [signal for signal in before.signals if signal.kind is SignalKind.SHIELD]
            assert all(shield.until <= self.now.wall for shield in shields)
            assert not any(
                advice.action.may_shrink and advice.reason is not None and advice.action.verb.value == "remove"
                for advice in evaluation.advices
            )


VALUES = {
    "cpu": st.floats(0, 100),
    "orders": st.sampled_from([0.0, 20.0, 300.0, 2000.0, 1e300]),
    "wait": st.floats(0, 1000),
}


@st.composite
def cells(draw: st.DrawFn, counter: str) -> Cell:
    kind = draw(st.sampled_from(["heard", "heard", "heard", "partly", "silent"]))
    if kind == "silent":
        return Insufficient(because=Lack.NO_SAMPLES, samples=0, needed=2, heard=0, expected=4)
    value = draw(VALUES[counter])
    low, high = (value, value) if kind == "heard" else (0.0, max(value, 100.0) if counter == "cpu" else float("inf"))
    heard = 4 if kind == "heard" else 3
    return Aggregate(
        value=value,
        low=low,
        high=high,
        samples=2,
        needed=2,
        heard=heard,
        expected=4,
        coverage=heard / 4,
        age=1.0,
    )


ALL_CELLS = st.fixed_dictionaries({counter: cells(counter) for counter in VALUES})
LULLS = st.fixed_dictionaries(
    {
        counter: st.just(
            Aggregate(value=1.0, low=1.0, high=1.0, samples=2, needed=2, heard=4, expected=4, coverage=1.0, age=1.0)
        )
        for counter in VALUES
    }
)
FLEETS = st.builds(
    lambda in_service, listed, creates_left: a_fleet(in_service=in_service, listed=listed, creates_left=creates_left),
    st.integers(0, 20),
    st.booleans(),
    st.sampled_from([0, 3, 100, 100]),
)
OUTSIDE = st.lists(
    st.one_of(
        st.builds(a_person, st.integers(0, 30), force=st.booleans()),
        st.builds(an_alarm, st.sampled_from([add(2), remove(2), remove(50, percent=True)])),
    ),
    max_size=1,
).map(tuple)
STEADY = st.tuples(st.integers(2, 8), st.one_of(ALL_CELLS, LULLS), st.just(()), FLEETS)
"""The same for a while, so that something holds for long enough."""
ODD = st.tuples(st.just(1), ALL_CELLS, OUTSIDE, FLEETS)


def _lasting(world: World, signal: Signal) -> GroupState:
    now = world.now.wall
    return signalled(world.state, replace(signal, since=now, until=Instant(now + 60)), now)


ACTS: Mapping[str, Callable[[World], GroupState]] = {
    "none": lambda world: world.state,
    "pause": lambda world: paused(world.state, Pause.DECISIONS),
    "pause-in": lambda world: paused(world.state, Pause.IN),
    "resume": lambda world: paused(world.state, Pause.NO),
    "floor": lambda world: _lasting(world, a_floor(9)),
    "shield": lambda world: _lasting(world, a_signal(SignalKind.SHIELD)),
}
STORIES = st.lists(
    st.tuples(st.sampled_from(sorted(ACTS)), st.sampled_from([0.0, 0.0, 40.0]), st.one_of(STEADY, STEADY, ODD)),
    min_size=4,
    max_size=14,
)


@pytest.mark.parametrize("key", EVERYTHING, ids=lambda key: f"{key[0].value}-{key[1]}")
@given(story=STORIES)
def test_all_rules_together_keep_every_promise(
    key: tuple[Mode, str],
    story: list[tuple[str, float, tuple[int, Mapping[str, Cell], tuple[Request, ...], Fleet]]],
) -> None:
    world = World(catalogue=EVERYTHING[key])
    for act, gap, (times, values, outside, fleet) in story:
        world.state = ACTS[act](world)
        world.later(gap)
        world.ask(outside, fleet)
        for _ in range(times):
            world.later(INTERVAL)
            world.tick(values, replace(fleet, in_service=world.state.desired or 0) if times > 1 else fleet, outside)
