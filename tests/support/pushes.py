"""Builders for pushed values: counters that read them, who speaks, and what is known of groups."""

from __future__ import annotations

from collections.abc import Mapping

from collector.boards.pushes import Pushed
from config.model.counters import Counter, CounterKind, Per, PushedValue
from config.units import CounterId, GroupId, MemberName, Seconds
from handler.ingest.pushes.judging import PushListener, PushMembers, PushScope
from handler.ingest.pushes.pushed_values import PushedEntry
from tests.support.collector import a_moment

WEB, API = GroupId("web"), GroupId("api")
ONE, TWO, OTHER = MemberName("web-k3f9ab-11"), MemberName("web-k3f9ab-12"), MemberName("api-k3f9ab-1")


def a_pushed(name: str, *, per: Per = Per.MEMBER, kind: CounterKind = CounterKind.GAUGE, lag: Seconds = 0.0) -> Counter:
    return Counter(id=CounterId(name.lower()), source=PushedValue(name=name), per=per, kind=kind, lag=lag)


def pushed(value: float, at: float = 0.0, *, wall: float | None = None) -> Pushed:
    return Pushed(value, a_moment(at, wall=wall))


def member(name: MemberName = ONE, group: GroupId = WEB) -> PushScope:
    return PushScope(member=name, groups=frozenset({group}))


def application(*groups: GroupId) -> PushScope:
    return PushScope(member=None, groups=frozenset(groups or {WEB}))


def sent(
    name: str = "CPU",
    value: float | None = 42.0,
    *,
    member: str | None = None,
    group: str | None = None,
    at: float | None = None,
) -> PushedEntry:
    return PushedEntry(name=name, value=value, member=member, group=group, at=at)


def a_listener(
    *,
    per_member: tuple[str, ...] = ("CPU", "JOBS"),
    whole: tuple[str, ...] = ("ORDERS",),
    members: Mapping[MemberName, str | None] | None = None,
    fresh: Seconds = 90.0,
) -> PushListener:
    reads = {name: frozenset({Per.MEMBER}) for name in per_member}
    reads |= {name: reads.get(name, frozenset()) | {Per.GROUP} for name in whole}
    return PushListener(
        reads=reads, members=PushMembers.of({ONE: "41", TWO: "42"} if members is None else members), fresh=fresh
    )
