"""Values in motion: from a push to where they wait for the next poll. Lives on the event loop; nothing here waits.

A push is judged and taken in one go, so whatever it is answered is true, and no queue can grow. What bounds the load
is how often each sender may make requests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from collector.boards.pushes import Pushed, Pushes
from collector.targets import measured_counters
from config.model.catalogue import Catalogue
from config.model.counters import Counter, Per, PushedValue
from config.units import GroupId, MemberName, Moment, Monotonic, Seconds
from handler import logs
from handler.ingest.alerts.hooks import Hooks
from handler.ingest.pushes import replies
from handler.ingest.pushes.judging import (
    PushListener,
    PushMembers,
    PushReading,
    PushRefusal,
    PushResult,
    PushScope,
    judged,
)
from handler.ingest.pushes.member_keys import MemberKeys
from handler.ingest.pushes.pushed_values import PushShape, UnreadablePush
from handler.ingest.pushes.receiver import Push, read
from handler.ingest.pushes.replies import PushReply
from handler.ingest.request_rates import Rate
from handler.planning.launches import LaunchId
from handler.runtime.group_runtime import GroupRuntime, LastPass

_KEPT = 100_000
"""Buckets; where there are more, the full ones are forgotten: they are like new ones."""


class PushRate:
    """Count requests by sender."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, Monotonic]] = {}

    def admits(self, who: str, rate: Rate, now: Monotonic) -> bool:
        """Return whether one more is within the rate, and count it if it is."""
        left, at = self._left.get(who, (rate.burst, now))
        left = min(left + max(now - at, 0.0) * rate.per_second, rate.burst)
        admitted = left >= 1.0
        self._left[who] = (left - admitted, now)
        if len(self._left) > _KEPT:
            self._forget(rate, now)
        return admitted

    def _forget(self, rate: Rate, now: Monotonic) -> None:
        full: Seconds = rate.burst / rate.per_second
        self._left = {who: (left, at) for who, (left, at) in self._left.items() if now - at < full}


_MEMBER = Rate(per_second=5.0, burst=60.0)
_APPLICATION = Rate(per_second=500.0, burst=2_000.0)
_LOG_AGAIN: Seconds = 600.0
"""That a sender is refused is logged once in so long, for each kind of refusal."""
_KINDS_KEPT = 1_000
"""Refusals that are remembered for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sender:
    """The sender of a request."""

    name: str
    """For the log, and for counting."""
    scope: PushScope


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reads:
    """What each group's counters read, worked out once for a catalogue."""

    catalogue: Catalogue
    by_group: Mapping[GroupId, Mapping[str, frozenset[Per]]]
    lags: Mapping[GroupId, Mapping[str, Seconds]]
    """How late values of a name may be: the longest lag of the counters that read it."""


class Pushing:
    """Takes values in; implements `handler.ingest.pushes.receiver.PushIntake`."""

    def __init__(  # noqa: PLR0913  # the composition root's list
        self,
        *,
        pushes: Pushes,
        keys: MemberKeys,
        hooks: Hooks,
        runtimes: Mapping[GroupId, GroupRuntime],
        catalogue: Callable[[], Catalogue],
        clock: Callable[[], Moment],
        count: Callable[[PushShape, PushResult], None],
    ) -> None:
        self._pushes = pushes
        self.keys = keys
        self._hooks = hooks
        self._runtimes = runtimes
        self._catalogue = catalogue
        self._clock = clock
        self._count = count
        self._pace = PushRate()
        self._known: _Reads | None = None
        self._members: dict[GroupId, tuple[LastPass, PushMembers]] = {}
        self._logged: dict[str, Monotonic] = {}

    def take(self, push: Push) -> PushReply:
        """Accept all values of a push, or none."""
        reply = self._take(push, self._clock())
        self._count(push.shape, reply.result)
        return reply

    def saw(self, runtime: GroupRuntime, members: Collection[MemberName]) -> None:
        """Drop the values of names that a convergence pass no longer found as members."""
        self._pushes.keep(runtime.id, members, self._reads(runtime.id))

    def forget(self, group: GroupId) -> None:
        """Forget a group."""
        self._pushes.forget(group)
        self._members.pop(group, None)

    def _take(self, push: Push, now: Moment) -> PushReply:
        sender = self._sender(push.token, now)
        if sender is None:
            return replies.refused(replies.UNKNOWN_TOKEN)
        rate = _APPLICATION if sender.scope.member is None else _MEMBER
        if not self._pace.admits(sender.name, rate, now.steady):
            return self._refuse(sender, replies.TOO_OFTEN, now)
        entries = read(push)
        if isinstance(entries, UnreadablePush):
            return self._refuse(sender, entries, now)
        listeners = {group: self._listener(group) for group in sender.scope.groups if self._declared(group)}
        readings = judged(sender.scope, entries, listeners, now.wall)
        if isinstance(readings, PushRefusal):
            return self._refuse(sender, readings, now)
        for reading in readings:
            self._write(reading, now)
        return PushReply(result=PushResult.ACCEPTED, taken=len(readings))

    def _sender(self, token: str, now: Moment) -> _Sender | None:
        member = self.keys.bearer(token)
        if member is not None:
            launched = LaunchId.parse(member)
            if launched is None:
                return None
            return _Sender(name=f"member {member}", scope=PushScope(member=member, groups=frozenset({launched.group})))
        hook = self._hooks.holder(token, now.wall)
        if hook is None or not hook.pushes:
            return None
        return _Sender(name=f"hook {hook.name}", scope=PushScope(member=None, groups=frozenset(hook.groups)))

    def _refuse(self, sender: _Sender, refusal: PushRefusal | UnreadablePush, now: Moment) -> PushReply:
        reply = replies.refused(refusal)
        kind = f"{sender.name} {reply.result.value}"
        before = self._logged.get(kind)
        logged = before is not None and now.steady - before <= _LOG_AGAIN
        if not logged and reply.result is not PushResult.NOT_READY:  # which passes by itself
            logs.warn("push_refused", by=sender.name, result=reply.result.value, said=reply.error)
            if len(self._logged) >= _KINDS_KEPT:
                self._logged.clear()
            self._logged[kind] = now.steady
        return reply

    def _write(self, reading: PushReading, now: Moment) -> None:
        if reading.value is None:
            self._pushes.drop(reading.group, reading.member, reading.name)
        else:
            self._pushes.put(reading.group, reading.member, reading.name, Pushed(reading.value, now))

    # What is known of groups

    def _declared(self, group: GroupId) -> bool:
        return group in self._runtimes and group in self._catalogue().groups

    def _listener(self, group: GroupId) -> PushListener:
        declared, known = self._catalogue().groups[group], self._known_reads()
        return PushListener(
            reads=known.by_group.get(group, {}),
            members=self._members_of(self._runtimes[group]),
            fresh=declared.freshness * declared.interval,
            lags=known.lags.get(group, {}),
        )

    def _members_of(self, runtime: GroupRuntime) -> PushMembers | None:
        if runtime.seen is None:
            return None
        known = self._members.get(runtime.id)
        if known is None or known[0] is not runtime.seen:
            ids = {one.name: None if one.server is None else one.server.id for one in runtime.seen.world.members}
            known = self._members[runtime.id] = (runtime.seen, PushMembers.of(ids))
        return known[1]

    def _reads(self, group: GroupId) -> Mapping[str, frozenset[Per]]:
        return self._known_reads().by_group.get(group, {})

    def _known_reads(self) -> _Reads:
        catalogue = self._catalogue()
        if self._known is None or self._known.catalogue is not catalogue:
            self._known = _Reads(
                catalogue=catalogue,
                by_group={declared: _names(catalogue, declared) for declared in catalogue.groups},
                lags={declared: _lags(catalogue, declared) for declared in catalogue.groups},
            )
        return self._known


def _names(catalogue: Catalogue, group: GroupId) -> dict[str, frozenset[Per]]:
    names: dict[str, frozenset[Per]] = {}
    for name, counter in _pushed(catalogue, group):
        names[name] = names.get(name, frozenset()) | {counter.per}
    return names


def _lags(catalogue: Catalogue, group: GroupId) -> dict[str, Seconds]:
    lags: dict[str, Seconds] = {}
    for name, counter in _pushed(catalogue, group):
        lags[name] = max(counter.lag, lags.get(name, 0.0))
    return lags


def _pushed(catalogue: Catalogue, group: GroupId) -> Iterator[tuple[str, Counter]]:
    for counter in (catalogue.counters[wanted] for wanted in measured_counters(catalogue, group)):
        if isinstance(counter.source, PushedValue):
            yield counter.source.name, counter
