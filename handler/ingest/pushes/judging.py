"""Judge whether a push can be accepted: its sender, its member, its names, and its age. All or nothing.

Temporary problems are distinguished from those that only a person can fix: for example members that are not listed yet,
from a name that no counter reads.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from collector.samples import AHEAD_AT_MOST
from config.model.counters import Per
from config.units import GroupId, Instant, MemberName, Seconds, format_span
from handler.ingest.pushes.pushed_values import PushedEntry, quoted
from handler.planning.launches import LaunchId

_NAMED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PushScope:
    """The sender of a push, as its token proves."""

    member: MemberName | None
    """One member, which speaks for itself alone; ``None``: an application."""
    groups: frozenset[GroupId]
    """The groups it may push for; for a member its own group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushMembers:
    """The members of a group, and how they may be called."""

    names: Collection[MemberName]
    by_id: Mapping[str, MemberName]
    """By their cloud's own id, where it is of one member only."""

    @classmethod
    def of(cls, ids: Mapping[MemberName, str | None]) -> PushMembers:
        """Work it out once for many pushes."""
        by_id: dict[str, MemberName] = {}
        shared: set[str] = set()
        for member, cloud_id in ids.items():
            if cloud_id is not None and by_id.setdefault(cloud_id, member) != member:
                shared.add(cloud_id)
        unique = {cloud_id: member for cloud_id, member in by_id.items() if cloud_id not in shared}
        return cls(names=ids.keys(), by_id=unique)

    def found(self, called: str) -> MemberName | None:
        """By name, or else by the cloud's id."""
        return MemberName(called) if called in self.names else self.by_id.get(called)


@dataclass(frozen=True, slots=True, kw_only=True)
class PushListener:
    """One group as far as pushes are concerned."""

    reads: Mapping[str, frozenset[Per]]
    """The names that its counters read, and whether for each member or for the group."""
    members: PushMembers | None
    """``None``: not listed since the start."""
    fresh: Seconds
    """For how long a value counts."""
    lags: Mapping[str, Seconds] = field(default_factory=lambda: MappingProxyType({}))
    """For how much longer values of some names do, which always arrive late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushReading:
    """A value that a counter reads."""

    group: GroupId
    member: MemberName | None
    name: str
    value: float | None
    """``None``: to be forgotten."""


class PushResult(enum.Enum):
    """What became of a push; the words are label values of metrics."""

    ACCEPTED = "accepted"
    UNREADABLE = "unreadable"
    UNKNOWN_NAME = "unknown_name"
    """No counter of the group reads it, or not for this member or group."""
    UNKNOWN_MEMBER = "unknown_member"
    UNCLEAR = "unclear"
    """The member or group of the value is missing."""
    STALE = "stale"
    """By the sender's clock it was measured too long ago, or that clock is ahead of ours."""
    NOT_PERMITTED = "not_permitted"
    NOT_READY = "not_ready"
    """The members are not known yet: it comes again by itself."""
    OVERLOADED = "overloaded"
    TOO_LARGE = "too_large"
    UNKNOWN_TOKEN = "unknown_token"  # noqa: S105  # a label value


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRefusal:
    """Why nothing of a push is taken."""

    result: PushResult
    message: str


class _Refused(Exception):
    """Carried to `judged`, which answers with it."""

    def __init__(self, result: PushResult, message: str) -> None:
        super().__init__(message)
        self.refusal = PushRefusal(result=result, message=message)


Listeners = Mapping[GroupId, PushListener]
"""The groups that a sender may push for, as far as they are declared."""


def judged(
    scope: PushScope, entries: Sequence[PushedEntry], listeners: Listeners, now: Instant
) -> tuple[PushReading, ...] | PushRefusal:
    """Return readings of all values, or what is wrong with the first one that cannot be accepted."""
    try:
        return _each_once(_reading(scope, one, listeners, now) for one in entries)
    except _Refused as refused:
        return refused.refusal


def _each_once(readings: Iterable[PushReading]) -> tuple[PushReading, ...]:
    """Return the readings. A member may be called by its name and by its cloud's id, and a group by its name or not."""
    known: dict[tuple[GroupId, MemberName | None, str], PushReading] = {}
    for one in readings:
        whose = (one.group, one.member, one.name)
        if whose in known:
            of = one.member or f"group {one.group}"
            message = f"{quoted(one.name)} of {of} is there twice: it is not clear which is meant"
            raise _Refused(PushResult.UNCLEAR, message)
        known[whose] = one
    return tuple(known.values())


def _reading(scope: PushScope, entry: PushedEntry, listeners: Listeners, now: Instant) -> PushReading:
    group, member = _whose(scope, entry, listeners)
    listener = listeners[group]
    _read(entry.name, Per.GROUP if member is None else Per.MEMBER, group, listener, scope)
    if entry.at is not None:
        _timely(entry, now - entry.at, listener.fresh + listener.lags.get(entry.name, 0.0))
    return PushReading(group=group, member=member, name=entry.name, value=entry.value)


# The member or group of a value


def _whose(scope: PushScope, entry: PushedEntry, listeners: Listeners) -> tuple[GroupId, MemberName | None]:
    group = _group(scope, entry, listeners)
    if scope.member is not None:
        return group, _itself(scope.member, entry, group, listeners[group])
    if entry.member is None:
        return group, None
    return group, _member(entry.member, group, listeners[group])


def _group(scope: PushScope, entry: PushedEntry, listeners: Listeners) -> GroupId:
    if entry.group is not None:
        group = GroupId(entry.group)
        if group not in scope.groups:
            raise _Refused(PushResult.NOT_PERMITTED, f"this token may not push for group {quoted(entry.group)}")
    else:
        group = _meant(scope, entry, listeners)
    if group not in listeners:
        raise _Refused(PushResult.NOT_PERMITTED, f"group {group} is not declared any more")
    return group


def _meant(scope: PushScope, entry: PushedEntry, listeners: Listeners) -> GroupId:
    """The one group that can be meant where none is named."""
    if len(scope.groups) == 1:
        return next(iter(scope.groups))
    if entry.member is None:
        groups = ", ".join(sorted(scope.groups))
        raise _Refused(PushResult.UNCLEAR, f"{quoted(entry.name)}: name the group: {groups}")
    launched = LaunchId.parse(entry.member)
    if launched is not None and launched.group in scope.groups:
        return launched.group
    holding = [group for group in sorted(scope.groups & listeners.keys()) if _has(listeners[group], entry.member)]
    if len(holding) > 1:
        raise _Refused(PushResult.UNCLEAR, f"name the group of {quoted(entry.member)}: {', '.join(holding)}")
    if not holding:
        raise _foreign_member(entry.member, scope.groups, listeners)
    return holding[0]


def _itself(member: MemberName, entry: PushedEntry, group: GroupId, listener: PushListener) -> MemberName:
    """A member's token counts for as long as it is a member, and whatever it calls itself must be itself."""
    known = _member(member, group, listener, of_token=True)
    if entry.member is not None and (listener.members is None or listener.members.found(entry.member) != known):
        raise _Refused(
            PushResult.NOT_PERMITTED, f"this token may push for {member} only, not for {quoted(entry.member)}"
        )
    return known


def _member(called: str, group: GroupId, listener: PushListener, *, of_token: bool = False) -> MemberName:
    if listener.members is None:
        raise _Refused(PushResult.NOT_READY, f"the members of group {group} are not listed yet")
    found = listener.members.found(called)
    if found is not None:
        return found
    launched = LaunchId.parse(called)
    if launched is not None and launched.group == group and launched.sequence > _newest(listener.members.names):
        raise _Refused(PushResult.NOT_READY, f"{called} is not listed as a member of group {group} yet")
    if of_token:
        raise _Refused(PushResult.NOT_PERMITTED, f"{called} is no member of group {group} any more")
    raise _foreign_member(called, frozenset({group}), {group: listener})


def _has(listener: PushListener, called: str) -> bool:
    return listener.members is not None and listener.members.found(called) is not None


def _newest(members: Collection[MemberName]) -> int:
    launched = (LaunchId.parse(member) for member in members)
    return max((launch.sequence for launch in launched if launch is not None), default=0)


def _foreign_member(called: str, groups: Collection[GroupId], listeners: Listeners) -> _Refused:
    """No member: of another group, of one that is not listed yet, or of none."""
    launched = LaunchId.parse(called)
    if launched is not None and launched.group not in groups:
        return _Refused(PushResult.NOT_PERMITTED, f"this token may not push for group {launched.group} of {called}")
    unlisted = sorted(group for group, listener in listeners.items() if listener.members is None)
    if unlisted:
        return _Refused(PushResult.NOT_READY, f"the members of group {unlisted[0]} are not listed yet")
    named = ", ".join(sorted(groups))
    return _Refused(PushResult.UNKNOWN_MEMBER, f"there is no member {quoted(called)} in {named}")


# Whether a counter reads it


def _read(name: str, per: Per, group: GroupId, listener: PushListener, scope: PushScope) -> None:
    how = listener.reads.get(name, frozenset())
    if per in how:
        return
    if not how:
        names = sorted(listener.reads)
        shown = ", ".join(map(quoted, names[:_NAMED])) + (", …" if len(names) > _NAMED else "")
        known = f"its counters read {shown}" if names else "none of its counters is pushed"
        raise _Refused(PushResult.UNKNOWN_NAME, f"no counter of group {group} reads {quoted(name)}; {known}")
    if scope.member is not None:
        message = f"{quoted(name)} is read for group {group}, not per member: a member's token may not push it"
        raise _Refused(PushResult.NOT_PERMITTED, message)
    if per is Per.GROUP:
        raise _Refused(PushResult.UNCLEAR, f"{quoted(name)} is read for each member of group {group}: name the member")
    raise _Refused(PushResult.UNCLEAR, f"{quoted(name)} is read for group {group}, not per member: name no member")


def _timely(entry: PushedEntry, age: Seconds, fresh: Seconds) -> None:
    """A value counts from its arrival; the sender's clock can only show that it is old already."""
    if age > fresh:
        old = f"it was measured {format_span(age)} ago, and counts for {format_span(fresh)}"
        raise _Refused(PushResult.STALE, f"{quoted(entry.name)} is stale: {old}; or the sender's clock is behind")
    if age < -AHEAD_AT_MOST:
        raise _Refused(
            PushResult.STALE, f"{quoted(entry.name)}: the sender's clock is {format_span(-age)} ahead of ours"
        )
