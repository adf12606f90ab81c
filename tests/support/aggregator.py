"""Builders for what the aggregator is given: catalogues, layouts and scrapes, with everything defaulted."""

from __future__ import annotations

from collections.abc import Sequence

from config.model import (
    Adjustment,
    Catalogue,
    Compare,
    Condition,
    Counter,
    Group,
    HaproxyField,
    Holds,
    Kind,
    Per,
    Policy,
    Reduce,
    Verb,
)
from config.units import ConditionId, CounterId, GroupId, PolicyId, ProfileId, Seconds

WEB = GroupId("web")
CPU = CounterId("cpu")


def a_counter(
    id: str = "cpu",
    *,
    kind: Kind = Kind.GAUGE,
    per: Per = Per.MEMBER,
    bits: int = 64,
    scale: float = 1.0,
    range: tuple[float, float] | None = None,
) -> Counter:
    return Counter(
        id=CounterId(id), source=HaproxyField(field=id), kind=kind, per=per, bits=bits, scale=scale, range=range
    )


def a_condition(
    id: str = "busy",
    *,
    counter: str = "cpu",
    across: Reduce = Reduce.AVG,
    aggregate: Reduce = Reduce.AVG,
    window: Seconds | None = None,
) -> Condition:
    return Condition(
        id=ConditionId(id),
        counter=CounterId(counter),
        across=across,
        aggregate=aggregate,
        window=window,
        compare=Compare.ABOVE,
        threshold=80.0,
    )


def a_policy(
    id: str = "out", *, when: Sequence[str] = ("busy",), duration: Seconds = 0.0, holds: Holds = Holds.THROUGHOUT
) -> Policy:
    return Policy(
        id=PolicyId(id),
        when=tuple(ConditionId(condition) for condition in when),
        duration=duration,
        holds=holds,
        adjustment=Adjustment(verb=Verb.ADD, amount=1),
    )


def a_group(
    id: str = "web", *, interval: Seconds = 10.0, policies: Sequence[str] = ("out",), freshness: int = 3
) -> Group:
    return Group(
        id=GroupId(id),
        profile=ProfileId("small"),
        minimum=0,
        maximum=100,
        interval=interval,
        policies=tuple(PolicyId(policy) for policy in policies),
        freshness=freshness,
    )


def a_catalogue(
    *,
    counters: Sequence[Counter] = (a_counter(),),
    conditions: Sequence[Condition] = (a_condition(),),
    policies: Sequence[Policy] = (a_policy(),),
    groups: Sequence[Group] = (a_group(),),
) -> Catalogue:
    return Catalogue(
        digest="",
        counters={counter.id: counter for counter in counters},
        conditions={condition.id: condition for condition in conditions},
        policies={policy.id: policy for policy in policies},
        clouds={},
        balancers={},
        profiles={},
        groups={group.id: group for group in groups},
        sites={},
    )
