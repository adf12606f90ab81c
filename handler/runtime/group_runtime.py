"""What the daemon keeps in memory of each group, and the facts that other stages are given from it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from aggregator.frames import Cell, WindowKey
from collector.outages.heard import PolledChannels
from collector.outages.misses import Miss
from collector.outages.outages import Channel, Silence
from collector.targets import MemberTarget as PolledMember
from collector.targets import Roster
from config.model.catalogue import Catalogue, Mode
from config.units import ROOT_ACCOUNT, AccountId, CounterId, GroupId, Instant, MemberName, Moment, PolicyId, Seconds
from handler.planning.attachments import Attachment
from handler.planning.declared import Converged, Pinned
from handler.planning.desired import Builds, Definition
from handler.planning.rolls import Roll
from handler.planning.status import MemberState, StateSince
from handler.planning.steps import Plan
from handler.planning.world import World
from handler.ports.stored import StoredGroup
from handler.runtime.steady_ticks import SteadyState, SteadyTick, UnchangedTick
from trigger.conditions.timers import Kept
from trigger.explain.explanation import Explanation
from trigger.explain.recorded_inputs import DecisionTrack
from trigger.explain.shapes import Story
from trigger.forecast.leads import MemberTimes
from trigger.guards.turns import Peer, ahead, peer
from trigger.policies.schedules import bounded
from trigger.requests import Fleet, GroupState
from trigger.verdicts import Evaluation, Foreseen

_ROUNDING: Seconds = 1e-3
_LATE: Seconds = 10.0
_POLLED = frozenset({MemberState.IN_SERVICE, MemberState.UNKNOWN})


def profile_of(world: World, states: Mapping[MemberName, MemberState]) -> str | None:
    """Return the profile of all members in service, as `trigger.requests.Fleet.profile` has it."""
    made_of = {
        member.record.profile or ""
        for member in world.members
        if states[member.name] in _POLLED and member.record is not None and member.record.in_service_at is not None
    }
    return None if not made_of else made_of.pop() if len(made_of) == 1 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastPass:
    """What the last convergence pass saw and did."""

    at: Instant
    world: World
    plan: Plan
    states: Mapping[MemberName, MemberState]
    fleet: Fleet
    failures: tuple[str, ...]
    """Steps that cannot succeed until a person changes something."""
    retries: tuple[str, ...]
    """Steps that are tried again, a partial listing, builds that back off."""
    hourly: str = ""
    """Which hourly budget leaves the fewest creates to decisions, in words."""


class _KnownRoster(NamedTuple):
    """The members to poll, and for how long that stays the same."""

    seen: LastPass
    addresses: Mapping[MemberName, str]
    warm_up: Seconds
    since: Instant
    """All of them have warmed up by then."""
    roster: Roster

    def is_of(self, runtime: GroupRuntime, now: Instant) -> bool:
        """Whether nothing has changed that it was made of."""
        same = self.seen is runtime.seen and self.addresses is runtime.addresses
        return same and self.warm_up == runtime.definition.group.warm_up and now >= self.since


@dataclass(slots=True, kw_only=True)
class GroupRuntime:
    """One group in memory. Only the event loop writes to it."""

    id: GroupId
    definition: Definition
    state: GroupState
    account: AccountId = ROOT_ACCOUNT
    """That it belongs to."""
    deleting: bool = False
    quarantined: str = ""
    """Why its declaration over the API cannot be judged: its members are kept, and nothing is evaluated."""
    kept_builds: Builds = field(default_factory=Builds)
    """How builds went, perhaps of an earlier definition; `builds` is what counts."""
    seen: LastPass | None = None
    holds: Mapping[PolicyId, Kept] = field(default_factory=dict)
    resumed: bool = False
    """Windows and holds went on from before the daemon's start."""
    holds_anew: bool = False
    """Of these only the windows did."""
    judged: Evaluation | None = None
    """Of the last tick that was worked out; `evaluation` is the last tick's."""
    explained: Explanation | None = None
    """Likewise. Reasons, truths, sizes and clamps are the last tick's, too; what was measured may be older."""
    steady: SteadyState | None = None
    """What the last decision was made by; ``None``: it does not stand."""
    unchanged: SteadyTick | UnchangedTick | None = None
    """The last tick, if it brought what the one before did."""
    foreseen: Mapping[PolicyId, Foreseen] = field(default_factory=dict)
    """What the forecasts of its policies were at the last tick."""
    times: MemberTimes = field(default_factory=MemberTimes)
    """How long its members take to boot and to drain."""
    observed: Mapping[WindowKey, Cell] = field(default_factory=dict)
    """What the counters that it observes showed at the last tick."""
    member_values: Mapping[tuple[CounterId, MemberName], float] = field(default_factory=dict)
    """What its members showed by themselves at the last tick, where that is exported."""
    story: Story | None = None
    """What the last tick showed; ``None``: its explanation says it."""
    silence: Silence = field(default_factory=Silence)
    heard: PolledChannels = field(default_factory=PolledChannels)
    """When members last answered the sources that ask them directly."""
    unheard: tuple[Channel, ...] = ()
    """Silent for more than ten intervals."""
    misses: tuple[Miss, ...] = ()
    """What the last poll did not bring."""
    unrecorded: str | None = None
    """Why the last decision could not be written down, and so does not count."""
    track: DecisionTrack | None = None
    """What is written down of what its decisions were given; ``None``: there was none in this life."""
    decided_at: Instant | None = None
    converged_at: Instant | None = None
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    addresses: Mapping[MemberName, str] = field(default_factory=dict)
    """The last seen address of each present member."""
    attachments: tuple[Attachment, ...] = ()
    """Of the definition's balancers, those that a person attached."""
    declared: int = 1
    """Number of the newest revision of its definition."""
    pinned: Pinned | None = None
    """The earlier revision whose profile new members use."""
    roll: Roll | None = None
    """The last one."""
    converged: Converged | None = None
    """Its revisions when a pass last found nothing to do."""
    whole: int | None = None
    """The revision that every member used when the group last converged; ``None``: not known."""
    beside: int = 0
    """The sum of ``max`` over the other groups that use its cloud."""
    edited_at: Instant | None = None
    """When the file was last edited in a part that the group uses; ``None``: not since edits are recorded."""
    begun: Mapping[MemberName, StateSince] = field(default_factory=dict)
    """The begin of its members' states, as the last pass saw them."""
    begun_on_disk: Mapping[MemberName, StateSince] = field(default_factory=dict)
    polled: _KnownRoster | None = None
    """The members of the last poll; ``None``: some of them warm up."""
    accept_vanished: bool = False
    """A person ordered convergence; the next pass accepts the loss of many members."""

    @classmethod
    def of(cls, stored: StoredGroup) -> GroupRuntime:
        """A group as it survived."""
        return cls(
            id=stored.id,
            definition=stored.definition,
            state=stored.state,
            account=stored.account,
            deleting=stored.deleting,
            kept_builds=stored.builds,
            attachments=stored.attachments,
            declared=stored.declared,
            pinned=stored.pinned,
            roll=stored.roll,
            converged=stored.converged,
            edited_at=stored.edited_at,
            begun=stored.begun,
            begun_on_disk=stored.begun,
            converged_at=None if stored.converged is None else stored.converged.at,
        )

    @property
    def evaluation(self) -> Evaluation | None:
        """The answers of the policies at the last tick."""
        return self.judged if self.unchanged is None else self.unchanged.evaluation

    @property
    def explanation(self) -> Explanation | None:
        """Why the group did what it did at the last tick, or at a change of its size since."""
        return self.explained if self.unchanged is None else self.unchanged.explanation

    @property
    def judged_at(self) -> Moment | None:
        """When it was last judged; ``None``: never in this life."""
        if self.unchanged is not None:
            return self.unchanged.at
        return None if self.judged is None else self.judged.at

    def keep(self, evaluation: Evaluation | None, explanation: Explanation | None) -> None:
        """Keep what was worked out last."""
        self.judged, self.explained, self.unchanged = evaluation, explanation, None

    def rests(self, tick: SteadyTick, catalogue: Catalogue) -> bool:
        """Whether a tick finds all that the group rests on as it was."""
        same = tick.steady is self.steady and tick.holds is self.holds
        return same and tick.steady.stays(catalogue, self.definition.group, self.fleet(), self.state)

    def repeat(self, tick: SteadyTick) -> None:
        """Keep a tick that brought what the one before did."""
        if self.track is not None:
            self.track = DecisionTrack(last=self.track.last, left=self.track.left, polled=tick.at.wall)
        self.unchanged, self.decided_at, self.unrecorded = tick, tick.at.wall, None
        self.holds = tick.steady.carried(tick.holds, tick.at)

    def is_overdue(self, now: Instant) -> bool:
        """Whether it should have been decided, and was not for three intervals and more."""
        if self.state.orphaned or self.definition.group.mode is Mode.OFF or self.decided_at is None:
            return False
        return now - self.decided_at > 3 * self.definition.group.interval + _LATE

    def bounds(self, now: Instant) -> tuple[int, int]:
        """Least and greatest size as schedules and alerts leave them now."""
        group = bounded(self.definition.group, self.state, now)
        return group.minimum, group.maximum

    def stored(self) -> StoredGroup:
        """What a convergence pass needs to know."""
        return StoredGroup(
            id=self.id,
            state=self.state,
            account=self.account,
            definition=self.definition,
            deleting=self.deleting,
            failed_builds=self.builds.failed,
            back_off_until=self.builds.back_off_until,
            builds_of=self.builds.of,
            attachments=self.attachments,
            declared=self.declared,
            pinned=self.pinned,
            roll=self.roll,
            converged=self.converged,
            beside=self.beside,
        )

    @property
    def builds(self) -> Builds:
        """How builds of the definition in force go."""
        return self.kept_builds.that_count(self.definition)

    @property
    def is_pending(self) -> bool:
        """Whether it is to become something else than it was when a pass last found nothing to do."""
        if self.roll is not None and self.roll.runs:
            return True
        return self.converged is None or not self.converged.is_of(self.state.revision, self.stored().in_force)

    def fleet(self) -> Fleet:
        """Return what a decision needs to know of the fleet; before the first pass nothing is listed."""
        if self.seen is None:
            return Fleet(
                listed=False, marked=0, in_service=0, creates_left=0, back_off_until=self.builds.back_off_until
            )
        return self.seen.fleet

    def roster(self, now: Instant) -> Roster:
        """Return the members to poll: those in service, and those missing from a listing but not proved gone.

        A member without a known address is still expected to answer: it counts as without data.
        """
        seen = self.seen
        if seen is None:
            return Roster(group=self.id, members=())
        if self.polled is not None and self.polled.is_of(self, now):
            return self.polled.roster
        roster, warm = self._roster(seen, now)
        settled = now - warm >= _ROUNDING  # late enough that rounding no longer matters
        known = _KnownRoster(seen, self.addresses, self.definition.group.warm_up, now, roster)
        self.polled = known if settled else None
        return roster

    def _roster(self, seen: LastPass, now: Instant) -> tuple[Roster, Instant]:
        """Return the members to poll, and when the last of them has warmed up."""
        warm_up, warm = self.definition.group.warm_up, Instant(-math.inf)
        members = []
        for member in seen.world.members:
            state = seen.states[member.name]
            if state not in _POLLED or member.record is None or member.record.in_service_at is None:
                continue
            warming = 0 <= now - member.record.in_service_at < warm_up  # before it began: the clock was set back
            counted = not warming
            warm = max(warm, Instant(member.record.in_service_at + warm_up))
            members.append(PolledMember(name=member.name, address=self.addresses.get(member.name, ""), counted=counted))
        return Roster(group=self.id, members=tuple(sorted(members, key=lambda member: member.name))), warm


class ServiceGroups:
    """Know which groups form a service; call `arrange` after every change of the file or of the groups."""

    def __init__(self, runtimes: Mapping[GroupId, GroupRuntime]) -> None:
        self._runtimes = runtimes
        self._together: dict[str, tuple[GroupRuntime, ...]] = {}

    def arrange(self) -> None:
        """Read again which service each group names."""
        found: dict[str, list[GroupRuntime]] = {}
        for runtime in self._runtimes.values():
            service = runtime.definition.group.service
            if service is not None:
                found.setdefault(service, []).append(runtime)
        self._together = {service: tuple(runtimes) for service, runtimes in found.items()}

    def ahead(self, runtime: GroupRuntime, states: Mapping[GroupId, GroupState], now: Instant) -> GroupId | None:
        """Return the group of the same service that comes before this one.

        Args:
            runtime: this group.
            states: of groups decided in the same batch; for all others memory counts.
            now: this moment.
        """
        service = runtime.definition.group.service
        if service is None:
            return None
        others = [_peer(other, states, now) for other in self._together.get(service, ()) if other is not runtime]
        return ahead(_peer(runtime, states, now), others)


def _peer(runtime: GroupRuntime, states: Mapping[GroupId, GroupState], now: Instant) -> Peer:
    return peer(runtime.definition.group, states.get(runtime.id, runtime.state), runtime.fleet(), now)
