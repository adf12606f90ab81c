"""Builders for what the collector is given: a catalogue with counters and groups, rosters, and a round to answer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from collector.samples import Layout, Reply, Scrape, Series
from collector.sources.poll import Poller
from collector.targets import MemberTarget, Roster, Source
from config.model.access import SecretRef, SnmpAccess
from config.model.balancers import Balancer, HaproxyBalancer
from config.model.catalogue import (
    Adjustment,
    AdjustmentVerb,
    BalancerUse,
    Catalogue,
    Compare,
    Condition,
    Group,
    Policy,
    ProcessRecipe,
    Profile,
)
from config.model.counters import AlertedValue, Counter, CounterKind, HaproxyField, Per, SnmpObject
from config.units import (
    AlertId,
    BalancerId,
    CloudId,
    ConditionId,
    CounterId,
    GroupId,
    Instant,
    MemberName,
    Moment,
    Monotonic,
    PolicyId,
    ProfileId,
)

WEB = GroupId("web")
PUBLIC = SnmpAccess()


def a_moment(steady: float = 0.0, *, wall: float | None = None) -> Moment:
    return Moment(wall=Instant(steady if wall is None else wall), steady=Monotonic(steady))


def real_clock() -> Moment:
    return Moment(wall=Instant(time.time()), steady=Monotonic(time.monotonic()))


def no_secret(ref: SecretRef) -> str:
    raise AssertionError(f"{ref} is not asked for")


def an_object(oid: str, *, id: str | None = None, kind: CounterKind = CounterKind.GAUGE) -> Counter:
    return Counter(id=CounterId(id or oid), source=SnmpObject(oid=oid, name=oid), kind=kind)


def a_column(field: str, *, kind: CounterKind = CounterKind.GAUGE) -> Counter:
    return Counter(id=CounterId(field), source=HaproxyField(field=field), kind=kind)


def a_brought_value(alert: str = "depth", *, range: tuple[float, float] | None = None) -> Counter:
    return Counter(id=CounterId(alert), source=AlertedValue(alert=AlertId(alert)), per=Per.GROUP, range=range)


def a_balancer(socket: object, *, id: str = "edge", backend: str = "web") -> HaproxyBalancer:
    return HaproxyBalancer(id=BalancerId(id), socket=str(socket), backend=backend)


def a_catalogue(
    counters: Sequence[Counter],
    *,
    groups: Sequence[str] = ("web",),
    snmp: SnmpAccess | Mapping[str, SnmpAccess] = PUBLIC,
    balancers: Sequence[Balancer] = (),
    uses: Mapping[str, Sequence[str]] | None = None,
    interval: float = 30.0,
) -> Catalogue:
    """Every group asks for every counter and, unless ``uses`` says, uses every balancer; each has its own profile."""
    conditions = {
        ConditionId(counter.id): Condition(
            id=ConditionId(counter.id), counter=counter.id, compare=Compare.ABOVE, threshold=1.0
        )
        for counter in counters
    }
    policy = Policy(
        id=PolicyId("out"), when=tuple(conditions), adjustment=Adjustment(verb=AdjustmentVerb.ADD, amount=1)
    )
    return Catalogue(
        digest="",
        counters={counter.id: counter for counter in counters},
        conditions=conditions,
        policies={policy.id: policy},
        clouds={},
        balancers={balancer.id: balancer for balancer in balancers},
        profiles={
            ProfileId(group): Profile(
                id=ProfileId(group),
                cloud=CloudId("local"),
                recipe=ProcessRecipe(command=("true",)),
                snmp=snmp[group] if isinstance(snmp, Mapping) else snmp,
            )
            for group in groups
        },
        groups={
            GroupId(group): Group(
                id=GroupId(group),
                profile=ProfileId(group),
                balancers=tuple(
                    BalancerUse(balancer=BalancerId(name), port=80)
                    for name in (uses[group] if uses else [balancer.id for balancer in balancers])
                ),
                minimum=0,
                maximum=10,
                interval=interval,
                policies=(policy.id,),
            )
            for group in groups
        },
        sites={},
    )


def rosters(members: Mapping[str, str], *, group: str = "web") -> Mapping[GroupId, Roster]:
    """One group of members: name → address."""
    listed = tuple(
        MemberTarget(name=MemberName(name), address=address, counted=True) for name, address in sorted(members.items())
    )
    return {GroupId(group): Roster(group=GroupId(group), members=listed)}


def a_poller(*sources: Source, secrets: Mapping[str, str] | None = None) -> Poller:
    """On the real clock. Secrets by the name of their environment variable."""
    known = secrets or {}

    def read_secret(ref: SecretRef) -> str:
        if ref.env not in known:
            raise FileNotFoundError(ref)
        return known[ref.env]

    return Poller(clock=real_clock, read_secret=read_secret, sources=sources)


Answers = Mapping[tuple[str, str], float | Reply]


def answers(scrape: Scrape) -> Answers:
    """(member, counter) → the value, or why there is none."""
    return {
        (series.member or "", str(series.counter)): value if Reply(code) is Reply.OK else Reply(code)
        for series, value, code in zip(scrape.layout.series, scrape.value.tolist(), scrape.reply.tolist(), strict=True)
    }


Named = tuple[str, str | None, str]
"""Group, member (``None``: the group as a whole), counter."""


def a_scrape(
    replies: Mapping[Named, Reply], *, at: Moment | None = None, details: Mapping[Named, str] | None = None
) -> Scrape:
    """A scrape with these replies; values are 0."""
    keys = sorted(replies, key=lambda key: (key[0], key[2], key[1] or ""))
    series = tuple(
        Series(GroupId(group), CounterId(counter), None if member is None else MemberName(member))
        for group, member, counter in keys
    )
    count = len(series)
    return Scrape(
        layout=Layout(series=series, counted=np.ones(count, dtype=np.bool_)),
        at=at or a_moment(),
        value=np.zeros(count),
        replied_at=np.zeros(count),
        uptime=np.full(count, np.nan),
        reply=np.array([replies[key] for key in keys], dtype=np.uint8),
        details={keys.index(key): words for key, words in (details or {}).items()},
    )
