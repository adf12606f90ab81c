"""How long the door takes per tick, one core: evaluate, ask, decide and explain, with the frames prepared."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable

from aggregator.frames import Aggregate, Frame
from aggregator.specs import keys_for
from config.counters import Counter, HaproxyField
from config.model import Adjustment, Catalogue, Compare, Condition, Group, Policy, Verb
from config.units import ConditionId, CounterId, GroupId, Instant, Moment, Monotonic, PolicyId, ProfileId
from trigger.decide import decide
from trigger.evaluate import evaluate, requests_from
from trigger.explain import explain, shape
from trigger.requests import Fleet, GroupState
from trigger.words import say

GROUPS = 1000
INTERVAL = 30.0
ROUNDS = 15
FLEET = Fleet(listed=True, marked=10, in_service=10, creates_left=60, back_off_until=None)
STATE = GroupState(desired=10, revision=1)


def run() -> Iterable[tuple[str, float, str]]:
    """Measure the median tick of 1,000 groups x 2 policies x 2 conditions."""
    catalogue = _catalogue()
    now = Moment(wall=Instant(1e9), steady=Monotonic(1e6))
    calm, busy = _frames(catalogue, 50.0, now), _frames(catalogue, 95.0, now)
    yield "1,000 groups x 2 policies x 2 conditions, nothing fires", _ms(lambda: _tick(catalogue, calm, now)), "ms/tick"
    yield "the same, every group scales out", _ms(lambda: _tick(catalogue, busy, now)), "ms/tick"
    yield "evaluate alone", _ms(lambda: _evaluate(catalogue, calm, now)), "ms/tick"
    group = next(iter(catalogue.groups))
    evaluation = evaluate(catalogue, group, calm[group], {}, now)
    decision = decide(catalogue.groups[group], (), FLEET, STATE, now, evaluation=evaluation)
    explanation = explain(catalogue, catalogue.groups[group], evaluation, decision, FLEET)
    yield "one explanation in words", _ms(lambda: [say(explanation, now.wall) for _ in range(GROUPS)]), "us"


def _tick(catalogue: Catalogue, frames: dict[GroupId, Frame], now: Moment) -> None:
    for group, frame in frames.items():
        declared = catalogue.groups[group]
        evaluation = evaluate(catalogue, group, frame, {}, now)
        requests = requests_from(catalogue, evaluation)
        decision = decide(declared, requests, FLEET, STATE, now, evaluation=evaluation)
        shape(explain(catalogue, declared, evaluation, decision, FLEET))


def _evaluate(catalogue: Catalogue, frames: dict[GroupId, Frame], now: Moment) -> None:
    for group, frame in frames.items():
        evaluate(catalogue, group, frame, {}, now)


def _ms(work: Callable[[], object]) -> float:
    """Return the median milliseconds of CPU."""
    spent = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        work()
        spent.append(time.process_time() - begun)
    return statistics.median(spent) * 1000


def _catalogue() -> Catalogue:
    names = ("cpu", "sessions")
    conditions = [
        _condition(f"{name}-{compare.value}", name, compare, threshold)
        for name in names
        for compare, threshold in ((Compare.ABOVE, 80.0), (Compare.BELOW, 30.0))
    ]
    policies = [
        _policy("out", Verb.ADD, ("cpu-above", "sessions-above")),
        _policy("in", Verb.REMOVE, ("cpu-below", "sessions-below")),
    ]
    groups = [
        Group(
            id=GroupId(f"group-{number:04}"),
            profile=ProfileId("small"),
            minimum=2,
            maximum=40,
            interval=INTERVAL,
            policies=tuple(policy.id for policy in policies),
        )
        for number in range(GROUPS)
    ]
    return Catalogue(
        digest="0" * 64,
        counters={CounterId(name): Counter(id=CounterId(name), source=HaproxyField(field=name)) for name in names},
        conditions={condition.id: condition for condition in conditions},
        policies={policy.id: policy for policy in policies},
        clouds={},
        balancers={},
        profiles={},
        groups={group.id: group for group in groups},
        sites={},
    )


def _condition(id: str, counter: str, compare: Compare, threshold: float) -> Condition:
    return Condition(id=ConditionId(id), counter=CounterId(counter), window=60.0, compare=compare, threshold=threshold)


def _policy(id: str, verb: Verb, when: tuple[str, ...]) -> Policy:
    return Policy(
        id=PolicyId(id), when=tuple(map(ConditionId, when)), adjustment=Adjustment(verb=verb, amount=10, percent=True)
    )


def _frames(catalogue: Catalogue, value: float, now: Moment) -> dict[GroupId, Frame]:
    cell = Aggregate(
        value=value, low=value, high=value, samples=2, needed=2, heard=10, expected=10, coverage=1.0, age=4.0
    )
    return {
        group: Frame(group=group, at=now, cells=dict.fromkeys(keys_for(catalogue, group), cell))
        for group in catalogue.groups
    }
