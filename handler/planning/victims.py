"""Choose which members leave when there are too many: always by identity, never "n minus 1"."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import assert_never

from config.model.catalogue import Victims
from config.units import Instant, MemberName
from handler.planning.roles import MemberRole, Role, sequence_of
from handler.planning.world import Member, Phase, World

_RANK = {
    Role.GONE: 0,
    Role.DELETING: 0,
    Role.BROKEN: 0,
    Role.LATE: 0,
    Role.UNREADY: 0,
    Role.FAILING: 0,
    Role.DISPROVED: 1,
    Role.ABSENT: 2,
    Role.INTENDED: 3,
    Role.BUILDING: 4,
    Role.ARRIVING: 5,
    Role.PASSING: 6,
    Role.PARKED: 7,
    Role.SERVING: 8,
}
_UNSURE_AND_NEW = 4
_IN_SERVICE = 8

REPLACED_ONE_IS_BACK = "the member that it replaced is back"

Turn = tuple[Member, str]
"""One member, and why it leaves next, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VictimPreference:
    """The group's preference among members of equal rank."""

    order: Victims
    world: World
    revision: int
    """Of the desired size: with the group it seeds the lot."""


def choose(candidates: Iterable[MemberRole], count: int, preference: VictimPreference) -> tuple[Turn, ...]:
    """Choose ``count`` members to leave, or as many as may be chosen.

    Gone and broken members first, then those that perhaps do not exist, then those being built, then those between two
    states or set aside, then those in service; within a rank as the group prefers. Never a protected member, never one
    without a record.

    Missing data is never made up: as soon as one member of a rank has an unknown number of connections, or an unknown
    zone, the oldest of them leave, and the reason mentions it.

    Source: DESIGN.md "Removal order"; Otter's planner: building, passing, parked, available, oldest first.
    """
    if count <= 0:
        return ()
    known = [member_role for member_role in candidates if member_role[0].record is not None]
    alike: dict[int, list[Member]] = defaultdict(list)
    for member, role in known:
        if member.record is not None and not member.record.protected:
            alike[_rank(member, role)].append(member)
    staying = Counter(_zone(member) for member, _ in known)
    turns = (
        (member, words if rank == _IN_SERVICE else f"not in service; {words}")
        for rank in sorted(alike)
        for member, words in _in_turn(alike[rank], preference, staying)
    )
    return tuple(islice(turns, count))


def successors(candidates: Iterable[MemberRole], lost_at: Instant, back: Container[MemberName]) -> list[MemberRole]:
    """Return the members that were created since others were lost, newest first: they leave once those are back.

    Never a protected one, a given one, or one that is itself ``back``.
    """
    made = [
        (member, role)
        for member, role in candidates
        if member.record is not None
        and member.record.intended_at >= lost_at
        and member.record.lost_at is None
        and member.name not in back
        and not (member.record.protected or member.record.given)
    ]
    return sorted(made, key=lambda member_role: _age(member_role[0]), reverse=True)


def _rank(member: Member, role: Role) -> int:
    if role in _RANK:
        return _RANK[role]
    has_served = member.record is not None and member.record.phase is Phase.IN_SERVICE
    return _IN_SERVICE if has_served else _UNSURE_AND_NEW


def _in_turn(alike: Sequence[Member], preference: VictimPreference, staying: Counter[str | None]) -> Iterator[Turn]:
    """Yield members of one rank in the order in which they leave; removes them from ``staying``."""
    match preference.order:
        case Victims.OLDEST:
            turns = _by_age(alike, "the oldest")
        case Victims.NEWEST:
            turns = ((member, "the newest") for member, _ in reversed(list(_by_age(alike, ""))))
        case Victims.OLDEST_PROFILE:
            turns = _by_profile(alike, preference.world.profile)
        case Victims.LEAST_CONNECTIONS:
            turns = _by_connections(alike, preference.world)
        case Victims.ZONE_BALANCE:
            yield from _by_zone(alike, staying)
            return
        case Victims.RANDOM:
            turns = _by_lot(alike, preference)
        case _:
            assert_never(preference.order)
    for member, words in turns:
        staying[_zone(member)] -= 1
        yield member, words


def _by_age(alike: Iterable[Member], words: str) -> Iterator[Turn]:
    return ((member, words) for member in sorted(alike, key=_age))


def _age(member: Member) -> tuple[int, str]:
    return sequence_of(member), member.name


def _by_profile(alike: Iterable[Member], now: str | None) -> Iterator[Turn]:
    """Yield members of another profile than the current one, then those of unknown profiles, then the oldest."""
    words = ("it uses an old profile", "its profile is not known", "the oldest of the current profile")

    def place(member: Member) -> int:
        made_of = None if member.record is None else member.record.profile
        return 1 if made_of is None or now is None else 2 * (made_of == now)

    for member in sorted(alike, key=lambda member: (place(member), _age(member))):
        yield member, words[place(member)]


def _by_connections(alike: Sequence[Member], world: World) -> Iterator[Turn]:
    counted = [(connections_of(member, world), member) for member in alike]
    known = [(count, _age(member), member) for count, member in counted if count is not None]
    if len(known) < len(alike):
        unknown = min((member for count, member in counted if count is None), key=_age)
        return _by_age(alike, f"the oldest, since the connections of {unknown.name} are not known")
    return ((member, f"with {count} connections") for count, _, member in sorted(known, key=lambda each: each[:2]))


def connections_of(member: Member, world: World) -> int | None:
    """Return a member's connections on all its balancers together; ``None``: one of them does not show them."""
    balancers = () if member.record is None else member.record.balancers
    total = 0
    for balancer, _ in balancers:
        balancer_view = world.balancer_views.get(balancer)
        registration = (
            None
            if balancer_view is None or balancer_view.registrations is None
            else balancer_view.registrations.get(member.name)
        )
        if registration is None or registration.connections is None:
            return None
        total += registration.connections
    return total if balancers else None


def _zone(member: Member) -> str | None:
    return None if member.server is None else member.server.zone


def _by_zone(alike: Sequence[Member], staying: Counter[str | None]) -> Iterator[Turn]:
    """Yield each time a member of the zone with the most members."""
    unknown = sorted((member for member in alike if _zone(member) is None), key=_age)
    if unknown:
        for member, words in _by_age(alike, f"the oldest, since the zone of {unknown[0].name} is not known"):
            staying[_zone(member)] -= 1
            yield member, words
        return
    queues: dict[str, deque[Member]] = defaultdict(deque)
    for member in sorted(alike, key=_age):
        queues[_zone(member) or ""].append(member)
    fullest = [(-staying[zone], zone) for zone in queues]
    heapq.heapify(fullest)
    while fullest:
        _, zone = heapq.heappop(fullest)
        words = f"zone {zone} has the most members, {staying[zone]}"
        staying[zone] -= 1
        member = queues[zone].popleft()
        if queues[zone]:
            heapq.heappush(fullest, (-staying[zone], zone))
        yield member, words


def _by_lot(alike: Iterable[Member], preference: VictimPreference) -> Iterator[Turn]:
    """Yield members in an order that cannot be foreseen and can be computed again."""
    seed = f"{preference.world.group}/{preference.revision}/"

    def lot(member: Member) -> bytes:
        return hashlib.sha256(f"{seed}{member.name}".encode()).digest()

    return ((member, "by lot") for member in sorted(alike, key=lot))
