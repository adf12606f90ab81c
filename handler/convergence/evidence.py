"""Collect what independent sources report about members that seem lost: counters, balancers, the readiness probe.

Answers and their times are kept in memory. After a restart there are none, so no source counts as evidence until the
member has answered it again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from config.model.catalogue import ReadyProbe
from config.units import CloudId, GroupId, Instant, MemberName, Seconds
from handler.convergence.ledger import LossLedger
from handler.convergence.own_probes import OwnProbes
from handler.convergence.pass_threads import called
from handler.convergence.sightings import Sightings
from handler.planning.desired import Definition
from handler.planning.evidence import NO_LOSSES, Hearing, Loss, LossEvidence, Saying, Testimony
from handler.planning.listing_sanity import ListingStreak, lengthened
from handler.planning.roles import passes_for
from handler.planning.world import Health, Member, Phase, Server, ServerState, World
from trigger.moving import moved

_LOST_STATES = (ServerState.ERROR, ServerState.STOPPED, ServerState.DELETING)
_STAYING = (Phase.IN_SERVICE, Phase.MADE)

_AT_ONCE = 32
"""Members that are probed at the same time: those that are gone cost a time-out each."""
_SUSPECTS = 100
"""Lost members that one look probes, those first that were asked longest ago."""
_CONTROLS = 3
"""Members that are there and are probed beside them: whether the probe works at all."""
_ROUND = 5
"""Intervals within which every member in service is probed, where there is no other source."""
_ROUND_AT_ONCE = 200
"""Members that one look probes for that."""


@dataclass(slots=True)
class _Memory:
    """What is remembered of one group from look to look."""

    sightings: Sightings = field(default_factory=Sightings)
    lost: Collection[MemberName] = ()
    believed: dict[MemberName, Instant] = field(default_factory=dict)
    """Lost members that were left out of the size, and when they were first missed."""
    back: dict[MemberName, Instant] = field(default_factory=dict)
    """Of these, the ones that work again; they stay until no replacement is left."""
    streaks: Mapping[MemberName, ListingStreak] = field(default_factory=dict)
    """For how long they have been listed like that."""

    def returned(self, at: Instant) -> LossEvidence:
        """Return which members are back, and for which it is too early to know."""
        returning = tuple(sorted(name for name, streak in self.streaks.items() if not streak.is_settled(at)))
        back = {name: since for name, since in self.back.items() if name not in returning}
        return replace(NO_LOSSES, back=MappingProxyType(back), returning=returning) if self.back else NO_LOSSES


class Witnesses:
    """Hold the answers of all groups' members to all sources. Worlds of one group are gathered one at a time."""

    def __init__(self, probe: Callable[[str, ReadyProbe], str], workers: int, own_probes: OwnProbes) -> None:
        self._probe = probe
        self.own_probes = own_probes
        self._lanes = 1 if workers <= 1 else _AT_ONCE
        self._ledger = LossLedger()
        self._heard: dict[GroupId, Sequence[Hearing]] = {}
        self._groups: dict[GroupId, _Memory] = {}

    def expect(self, groups: Mapping[GroupId, CloudId]) -> None:
        """Set which groups exist, and on which cloud; forget all others."""
        self._ledger.expect(groups)
        for known in (self._heard, self._groups):
            for group in known.keys() - groups.keys():
                known.pop(group, None)

    def follow(self, step: Seconds) -> None:
        """Keep the length of every span in memory after the clock was set by ``step``."""
        self._ledger.follow(step)
        self._heard = moved(self._heard, dict[GroupId, Sequence[Hearing]], step)
        self._groups = moved(self._groups, dict[GroupId, _Memory], step)

    def hear(self, group: GroupId, hearings: Sequence[Hearing]) -> None:
        """Record which members answered the counters' sources at a poll of the group."""
        self._heard[group] = hearings

    def are_idle(self, definition: Definition, at: Instant, *, proof: bool) -> bool:
        """Return whether nothing is to be asked of a group's members, or remembered of them, without a loss."""
        memory = self._groups.get(definition.group.id)
        if memory is None or memory.lost or memory.believed or memory.back:
            return False
        interval, hearings = definition.group.interval, self._heard.get(definition.group.id, ())
        return definition.profile.ready is None or proof or any(each.hears(at, interval) for each in hearings)

    def seen_unchanged(self, groups: Iterable[GroupId], at: Instant) -> None:
        """Take note that these groups lacked nothing at that time."""
        self._ledger.seen(groups, at)

    def with_losses(
        self,
        world: World,
        definition: Definition,
        listed: Mapping[MemberName, Server | None],
        probed: Mapping[MemberName, str],
        *,
        proof: bool,
    ) -> World:
        """Return the world with what is known of its lost members.

        Args:
            world: as it was gathered.
            definition: of its group.
            listed: its machines, as they were listed or found by name.
            probed: the results of the members that were probed in this pass.
            proof: a definite not-found of this cloud needs no other evidence.
        """
        memory = self._groups.setdefault(world.group, _Memory())
        memory.sightings.see(world, listed)
        lost = {member.name: member for member in world.members if _is_lost(member, world, definition, memory)}
        memory.lost = frozenset(lost)
        if memory.believed or memory.back:
            _see_returns(memory, world)
        asked = {**memory.sightings.hear(probed, world.at), **self._asked(world, definition, lost, proof=proof)}
        noted = self._ledger.note(
            world.group, definition.cloud.id, lost, lambda name: _is_staying(name, world), world.at
        )
        losses = memory.returned(world.at)
        if noted is None:
            return world if losses is NO_LOSSES else replace(world, losses=losses)
        works = any(says is Saying.HEARD for name, says in asked.items() if name not in lost)
        reused = self._reused(lost, memory.sightings)
        members = {
            name: Loss(
                since=noted.since[name],
                believed=name in memory.believed,
                testimonies=()
                if name in reused
                else tuple(self._testimonies(member, world, definition.group.interval, probe_works=works)),
            )
            for name, member in lost.items()
        }
        losses = replace(
            losses,
            members=MappingProxyType(members),
            elsewhere=noted.elsewhere,
            others_seen=noted.others_seen,
            proof=proof,
        )
        return replace(world, losses=losses)

    def acted(self, world: World, believed: Iterable[MemberName], *, evened: bool) -> None:
        """Take note of a pass.

        Args:
            world: that the pass was planned from.
            believed: lost members that were left out of the size.
            evened: nothing is left to do about members that are back.
        """
        memory = self._groups.setdefault(world.group, _Memory())
        known = world.losses.members
        for name in believed:
            memory.believed.setdefault(name, known[name].since if name in known else world.at)
        if evened and not world.losses.returning:
            memory.back, memory.streaks = {}, {}

    def _reused(self, lost: Mapping[MemberName, Member], sightings: Sightings) -> frozenset[MemberName]:
        """Return those lost members whose address now belongs to another machine, of any group."""
        servers = (server for each in list(self._groups.values()) for server in each.sightings.listed.values())
        addresses = {server.address for server in servers if server is not None and server.name not in lost}
        return frozenset(name for name, member in lost.items() if sightings.address(member) in addresses - {None})

    def _testimonies(
        self, member: Member, world: World, interval: Seconds, *, probe_works: bool
    ) -> Iterator[Testimony]:
        """Yield what each source reports about a member."""
        sightings = self._groups[world.group].sightings
        heard = (hearing.of(member.name, world.at, interval) for hearing in self._heard.get(world.group, ()))
        yield from (each for each in heard if each is not None)
        for balancer, _ in () if member.record is None else member.record.balancers:
            yield sightings.by_balancer(member.name, balancer, world)
        probed = sightings.by_probe(member.name, world.at, interval, works=probe_works)
        if probed is not None:
            yield probed

    def _asked(
        self, world: World, definition: Definition, lost: Mapping[MemberName, Member], *, proof: bool
    ) -> Mapping[MemberName, Saying]:
        """Probe the lost members and a few others; in turn also all members without another source."""
        ready, interval = definition.profile.ready, definition.group.interval
        in_turn = not proof and not self._is_heard_otherwise(world, interval)
        if ready is None or not world.complete or not (lost or in_turn):
            return {}
        sightings = self._groups[world.group].sightings
        present = [member for member in world.members if _is_present(member)]
        answers: dict[MemberName, Saying] = {}
        if lost:
            suspects = sorted(lost.values(), key=sightings.asked_at)[:_SUSPECTS]
            answers |= self._probed([*present[:_CONTROLS], *suspects], definition, sightings, world.at)
        if in_turn:
            due = [member for member in present if world.at - sightings.asked_at(member) >= _ROUND * interval]
            answers |= self._probed_in_turn(due[:_ROUND_AT_ONCE], definition, sightings, world.at)
        return answers

    def _probed_in_turn(
        self, members: Sequence[Member], definition: Definition, sightings: Sightings, at: Instant
    ) -> Mapping[MemberName, Saying]:
        """Probe a few at a time; if none of them answers, skip the others, which would each cost a time-out."""
        answers: dict[MemberName, Saying] = {}
        for first in range(0, len(members), _AT_ONCE):
            some = self._probed(members[first : first + _AT_ONCE], definition, sightings, at)
            answers |= some
            if Saying.HEARD not in some.values():
                break
        return answers

    def _probed(
        self, members: Sequence[Member], definition: Definition, sightings: Sightings, at: Instant
    ) -> dict[MemberName, Saying]:
        probes = self.own_probes.of(definition, members)
        places = ((member.name, sightings.address(member), probes[member.name]) for member in members)
        asked = {
            name: partial(self._probe, address, probe)
            for name, address, probe in places
            if address is not None and probe is not None
        }
        answers = called([*asked.values()], self._lanes)
        return sightings.hear(dict(zip(asked, answers, strict=True)), at)

    def _is_heard_otherwise(self, world: World, interval: Seconds) -> bool:
        if any(hearing.hears(world.at, interval) for hearing in self._heard.get(world.group, ())):
            return True
        balancer_views = (
            balancer_view.registrations
            for balancer_view in world.balancer_views.values()
            if balancer_view.registrations is not None
        )
        return any(
            registration.health is Health.HEALTHY
            for registrations in balancer_views
            for registration in registrations.values()
        )


def _is_lost(member: Member, world: World, definition: Definition, memory: _Memory) -> bool:
    """Return whether the cloud reports a member as gone, broken or deleting; a partial listing lacks nothing."""
    record, server = member.record, member.server
    if record is None or record.phase not in _STAYING:
        return False
    served = record.phase is Phase.IN_SERVICE
    if server is None:
        return served and (world.complete or member.name in memory.lost)
    if server.state is ServerState.RUNNING:
        return False
    if server.state is ServerState.PASSING:
        return served and passes_for(member, definition.group.repair.passing, world.at)
    return server.state in _LOST_STATES and (served or server.state is ServerState.DELETING)


def _see_returns(memory: _Memory, world: World) -> None:
    """See which of those are well again of which it was believed that they are lost."""
    here = {member.name: member for member in world.members}
    for name in [*memory.believed]:
        member = here.get(name)
        if member is None or member.record is None or member.record.phase not in _STAYING:
            del memory.believed[name]
        elif name not in memory.lost and member.server is not None:
            memory.back[name] = memory.believed.pop(name)
    memory.back = {name: since for name, since in memory.back.items() if name in here and name not in memory.lost}
    if world.complete:
        memory.streaks = lengthened(memory.streaks, memory.back, world.at)


def _is_staying(name: MemberName, world: World) -> bool:
    own = (member.record for member in world.members if member.name == name)
    return any(record is not None and record.phase in _STAYING for record in own)


def _is_present(member: Member) -> bool:
    record, server = member.record, member.server
    if record is None or record.phase is not Phase.IN_SERVICE:
        return False
    return server is not None and server.state is ServerState.RUNNING and server.address is not None
