"""Builders for the trigger: cells, frames, catalogues, requests, fleets and states, with everything defaulted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aggregator.frames import Aggregate, Cell, Frame, Insufficient, Lack
from aggregator.specs import window_keys
from config.model.adjustments import Action
from config.model.catalogue import (
    Adjustment,
    AdjustmentVerb,
    AnyCondition,
    Catalogue,
    Compare,
    Condition,
    Group,
    Holds,
    Mode,
    OnVanish,
    Policy,
    QuietScope,
)
from config.model.counters import Counter, HaproxyField
from config.units import (
    AlertId,
    ConditionId,
    CounterId,
    GroupId,
    Instant,
    Moment,
    Monotonic,
    PolicyId,
    ProfileId,
    Seconds,
)
from trigger.decide import decide
from trigger.reasons import Reason
from trigger.requests import Decision, Fleet, GroupState, Quiet, Request, RequestCause, Signal, SignalKind
from trigger.verdicts import Advice, Direction, Evaluation, Truth

WEB = GroupId("web")
NOON = 1_767_268_800.0
"""2026-01-01 12:00:00 UTC."""


def at(seconds: float = 0.0) -> Moment:
    """Noon and so many seconds, on both clocks."""
    return Moment(wall=Instant(NOON + seconds), steady=Monotonic(1000.0 + seconds))


# What is measured


def measured(
    value: float,
    *,
    low: float | None = None,
    high: float | None = None,
    heard: int = 10,
    expected: int = 10,
    coverage: float | None = None,
    age: Seconds = 4.0,
) -> Aggregate:
    return Aggregate(
        value=value,
        low=value if low is None else low,
        high=value if high is None else high,
        samples=2,
        needed=2,
        heard=heard,
        expected=expected,
        coverage=heard / expected if coverage is None else coverage,
        age=age,
    )


def missing(because: Lack = Lack.NO_SAMPLES, *, heard: int = 0, expected: int = 10) -> Insufficient:
    return Insufficient(because=because, samples=0, needed=2, heard=heard, expected=expected)


def unranked(low: float, high: float) -> Insufficient:
    """Too few were heard for a rank, and the counter has a range."""
    return Insufficient(because=Lack.TOO_FEW_HEARD, samples=0, needed=2, heard=2, expected=3, low=low, high=high)


# What is declared


def a_condition(
    id: str = "busy",
    compare: Compare = Compare.ABOVE,
    threshold: float = 80.0,
    *,
    quorum: float | None = None,
    counter: str = "cpu",
) -> Condition:
    return Condition(
        id=ConditionId(id),
        counter=CounterId(counter),
        window=60.0,
        compare=compare,
        threshold=threshold,
        quorum=quorum,
    )


def add(amount: float, *, percent: bool = False, at_least: int = 0) -> Adjustment:
    return Adjustment(verb=AdjustmentVerb.ADD, amount=amount, percent=percent, at_least=at_least)


def remove(amount: float, *, percent: bool = False, at_least: int = 0) -> Adjustment:
    return Adjustment(verb=AdjustmentVerb.REMOVE, amount=amount, percent=percent, at_least=at_least)


def set_to(amount: float, *, percent: bool = False) -> Adjustment:
    return Adjustment(verb=AdjustmentVerb.SET, amount=amount, percent=percent)


def a_policy(
    id: str = "out",
    *,
    when: Sequence[str] = ("busy",),
    enough: int | None = None,
    duration: Seconds = 0.0,
    does: Action | None = None,
    holds: Holds = Holds.THROUGHOUT,
    quiet_time: Seconds = 300.0,
) -> Policy:
    return Policy(
        id=PolicyId(id),
        when=tuple(ConditionId(condition) for condition in when),
        enough=enough,
        duration=duration,
        holds=holds,
        adjustment=add(2) if does is None else does,
        quiet_time=quiet_time,
    )


def a_group(
    *,
    minimum: int = 2,
    maximum: int = 40,
    interval: Seconds = 30.0,
    policies: Sequence[str] = ("out",),
    mode: Mode = Mode.ACT,
    blind_floor: int | None = None,
    on_vanish: OnVanish = OnVanish.REPLACE,
    id: str = "web",
) -> Group:
    return Group(
        id=GroupId(id),
        profile=ProfileId("small"),
        minimum=minimum,
        maximum=maximum,
        interval=interval,
        policies=tuple(PolicyId(policy) for policy in policies),
        mode=mode,
        blind_floor=blind_floor,
        build_timeout=900.0,
        on_vanish=on_vanish,
    )


def a_catalogue(
    *,
    policies: Sequence[Policy] = (a_policy(),),
    conditions: Sequence[AnyCondition] = (a_condition(),),
    group: Group | None = None,
) -> Catalogue:
    """One group, whose policies are all of these unless it names its own."""
    declared = a_group(policies=[policy.id for policy in policies]) if group is None else group
    counters = {counter for condition in conditions for counter in condition.counters}
    return Catalogue(
        digest="0" * 64,
        counters={name: Counter(id=name, source=HaproxyField(field=name), unit="percent") for name in counters},
        conditions={condition.id: condition for condition in conditions},
        policies={policy.id: policy for policy in policies},
        clouds={},
        balancers={},
        profiles={},
        groups={declared.id: declared},
        sites={},
    )


def a_frame(catalogue: Catalogue, cells: Mapping[str, Cell], *, now: Moment | None = None) -> Frame:
    """A frame of the catalogue's one group; ``cells`` by condition (of expressions: by counter), else without data."""
    (group,) = catalogue.groups.values()
    return Frame(
        group=group.id,
        at=at() if now is None else now,
        cells={
            key: cells.get(condition if isinstance(judged, Condition) else key.counter, missing())
            for policy in catalogue.policies.values()
            for condition in policy.when
            for judged in [catalogue.conditions[condition]]
            for key in window_keys(judged, policy, group)
        },
    )


# What is asked


def a_request(
    does: Adjustment,
    *,
    id: str = "r1",
    cause: RequestCause = RequestCause.POLICY,
    policy: str | None = "out",
    quiet_time: Seconds = 300.0,
    quiet_scope: QuietScope = QuietScope.GROUP,
    force: bool = False,
) -> Request:
    return Request(
        id=id,
        group=WEB,
        cause=cause,
        by=cause.value,
        adjustment=does,
        policy=None if policy is None else PolicyId(policy),
        quiet_time=quiet_time,
        quiet_scope=quiet_scope,
        force=force,
    )


def a_person(size: int, *, force: bool = False, id: str = "p1") -> Request:
    return a_request(set_to(size), id=id, cause=RequestCause.PERSON, policy=None, force=force)


def an_alarm(does: Adjustment, *, id: str = "a1", policy: str | None = None) -> Request:
    return a_request(does, id=id, cause=RequestCause.ALARM, policy=policy)


def a_fleet(
    *,
    in_service: int = 100,
    creates_left: int = 100,
    listed: bool = True,
    marked: int = 0,
    back_off_until: float | None = None,
    leaving: int = 0,
    balancer_not_found: bool = False,
) -> Fleet:
    return Fleet(
        listed=listed,
        marked=marked,
        in_service=in_service,
        creates_left=creates_left,
        back_off_until=None if back_off_until is None else Instant(NOON + back_off_until),
        leaving=leaving,
        balancer_not_found=balancer_not_found,
    )


def a_quiet(
    direction: Direction,
    *,
    until: Seconds = 200.0,
    policy: str | None = "out",
    scope: QuietScope = QuietScope.GROUP,
) -> Quiet:
    """A quiet time that ends so many seconds after noon."""
    return Quiet(
        policy=None if policy is None else PolicyId(policy),
        scope=scope,
        direction=direction,
        until=Instant(NOON + until),
    )


def a_signal(
    kind: SignalKind = SignalKind.SHIELD,
    size: int | None = None,
    *,
    alert: str = "deploy",
    key: str = "f1",
    since: Seconds = -60.0,
    until: Seconds = 600.0,
) -> Signal:
    """A signal that ends so many seconds after noon."""
    return Signal(
        alert=AlertId(alert),
        key=key,
        kind=kind,
        size=size,
        since=Instant(NOON + since),
        until=Instant(NOON + until),
    )


def a_floor(size: int, *, until: Seconds = 600.0, alert: str = "campaign", key: str = "f1") -> Signal:
    return a_signal(SignalKind.FLOOR, size, alert=alert, key=key, until=until)


def an_advice(policy: str, does: Adjustment, reason: Reason | None) -> Advice:
    truth = {None: Truth.TRUE, Reason.HOLDING: Truth.TRUE, Reason.NOT_MET: Truth.FALSE, Reason.BLIND: Truth.UNKNOWN}
    return Advice(
        policy=PolicyId(policy),
        action=does,
        adjustment=does,
        truth=truth[reason],
        verdicts=(),
        reason=reason,
        held=0.0,
        needed=0.0,
    )


def an_evaluation(*advices: Advice) -> Evaluation:
    return Evaluation(group=WEB, at=at(), advices=advices, holds={})


def decided(
    *requests: Request,
    desired: int | None = 4,
    group: Group | None = None,
    fleet: Fleet | None = None,
    state: GroupState | None = None,
    evaluation: Evaluation | None = None,
    now: Moment | None = None,
) -> Decision:
    """Decide about a group with 4 members in 2..40 to which nothing has happened."""
    return decide(
        a_group() if group is None else group,
        requests,
        a_fleet() if fleet is None else fleet,
        replace(GroupState() if state is None else state, desired=desired),
        at() if now is None else now,
        evaluation=evaluation,
    )
