"""Find what bears our mark and is not needed: its name, its age, and why. Pure.

Every other machine with the mark is a member, or becomes one with the next pass (`handler.convergence.gather`).
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from config.units import BalancerId, CloudId, GroupId, Instant, MemberName, Seconds
from handler.planning.desired import Definition
from handler.planning.launches import LaunchId
from handler.planning.removals import is_stuck
from handler.planning.world import Listing, PartListing, Phase, Record, Server, ServerState

_OPEN_FOR: Seconds = 3600.0
"""How long an intent may stay open beyond its group's build timeout before it is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Abandoned:
    """A machine, or the intent of one, that a person ordered never to touch or adopt again.

    It outlives its group: a name is never used twice.
    """

    name: MemberName
    group: GroupId
    cloud: CloudId
    server_id: str | None
    """The cloud's own id, where it is known."""
    at: Instant
    by: str


class GarbageKind(enum.Enum):
    """Why something is garbage."""

    STUCK = "stuck"
    """A member that left and cannot be removed (`handler.planning.removals`)."""
    OPEN_INTENT = "open_intent"
    """Perhaps created; the cloud has not confirmed or denied it for a long time."""
    NO_GROUP = "no_group"
    """A machine of an unknown group: deleted while its members stayed, or lost with a store."""
    RETURNED = "returned"
    """A machine that was proved gone, and is listed again."""
    DUPLICATE = "duplicate"
    """A second machine under the name of a member."""
    ABANDONED = "abandoned"
    """A machine that a person ordered to forget: never touched again."""
    PART = "part"
    """A volume, port or address that bears our mark, of an unknown member without a machine."""
    REGISTRATION = "seat"
    """A registration on a balancer under one of our names, without a member."""


_NEVER_ABANDONED = frozenset({GarbageKind.DUPLICATE, GarbageKind.ABANDONED, GarbageKind.PART, GarbageKind.REGISTRATION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One piece of garbage."""

    kind: GarbageKind
    name: MemberName
    group: GroupId
    where: CloudId | BalancerId
    """The cloud or, of a registration, the balancer."""
    since: Instant | None
    """When it was made, or its removal began; ``None``: not known."""
    because: str
    server_id: str | None = None
    """The cloud's own id, where it is known; of a part, the part's."""
    raw_state: str = ""
    """The state in the cloud's own term; empty: not listed."""

    @property
    def can_be_abandoned(self) -> bool:
        """Whether there is a machine or an intent to forget. A second machine has no name of its own for that."""
        return self.kind not in _NEVER_ABANDONED


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRecords:
    """What is remembered of all groups."""

    installation: str
    definitions: Mapping[GroupId, Definition]
    records: Mapping[MemberName, Record]
    """Of all groups, those that are GONE aside."""
    gone: frozenset[MemberName]
    """Those that are GONE, of the names that clouds list."""
    abandoned: Mapping[MemberName, Abandoned]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenPlace:
    """A cloud or balancer that could not be read completely: there may be more garbage."""

    words: str
    """Which, and why not."""
    groups: frozenset[GroupId]
    """Those that are on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageReport:
    """All garbage that was seen, and what could not be seen."""

    items: tuple[Item, ...]
    """By group, then by name."""
    unseen: tuple[UnseenPlace, ...]


def garbage_of(
    known: FleetRecords,
    listings: Mapping[CloudId, Listing],
    parts: Mapping[CloudId, PartListing],
    registered: Mapping[BalancerId, Collection[MemberName]],
    now: Instant,
) -> tuple[Item, ...]:
    """Return the garbage among all machines, parts and registrations, by group and name.

    Args:
        known: what is remembered.
        listings: of every cloud that answered, machines of all groups.
        parts: of members, of every cloud that answered for them.
        registered: the names registered on each readable balancer, those of its other users included.
        now: ages are measured up to this moment.
    """
    listed = {server.name: server for listing in listings.values() for server in listing.servers}
    items = [
        *_members(known, listed, now),
        *(item for cloud, listing in listings.items() for item in _machines(known, cloud, listing)),
        *(item for cloud, listing in listings.items() for item in _duplicates(known, cloud, listing)),
        *_vanished(known, listings, listed),
        *(item for cloud, listing in parts.items() for item in _parts(known, cloud, listing, listings.get(cloud))),
        *(item for balancer, names in registered.items() for item in _registrations(known, balancer, names, listed)),
    ]
    return tuple(
        sorted(items, key=lambda item: (item.group, item.name, item.kind.value, item.where, item.server_id or ""))
    )


def _members(known: FleetRecords, listed: Mapping[MemberName, Server], now: Instant) -> Iterator[Item]:
    for record in known.records.values():
        definition = known.definitions[record.group]
        server = listed.get(record.name)
        if is_stuck(record, definition.group.grace, now):
            reasons = [one.because for one in record.attempts if one.because]
            because = f"cannot be removed: {'; '.join(reasons) or 'its removal never ends'}"
            yield _of_record(record, GarbageKind.STUCK, record.removal_at, because, definition, server)
        elif _is_open(record, definition, now) and server is None:
            because = "perhaps created: its cloud has neither confirmed nor denied it"
            yield _of_record(record, GarbageKind.OPEN_INTENT, record.intended_at, because, definition, server)


def _is_open(record: Record, definition: Definition, now: Instant) -> bool:
    return record.phase is Phase.INTENDED and now - record.intended_at >= definition.group.build_timeout + _OPEN_FOR


def _of_record(  # what an item is made of
    record: Record,
    kind: GarbageKind,
    since: Instant | None,
    because: str,
    definition: Definition,
    server: Server | None,
) -> Item:
    return Item(
        kind=kind,
        name=record.name,
        group=record.group,
        where=definition.cloud.id,
        since=since,
        because=because,
        server_id=record.server_id,
        raw_state="" if server is None else server.raw_state,
    )


def _machines(known: FleetRecords, cloud: CloudId, listing: Listing) -> Iterator[Item]:
    for server in (*listing.servers, *listing.twins):
        launch = _ours(known, server.name)
        judged = None if launch is None else _judged(known, launch)
        if launch is not None and judged is not None:
            yield Item(
                kind=judged[0],
                name=server.name,
                group=launch.group,
                where=cloud,
                since=server.created_at,
                because=judged[1],
                server_id=server.id,
                raw_state=server.raw_state,
            )


def _duplicates(known: FleetRecords, cloud: CloudId, listing: Listing) -> Iterator[Item]:
    """Yield second machines of members on the cloud of their group: passes take the first one for the member.

    Such a machine costs, and leaves with the member. A cloud that is declared twice shows one machine on both.
    """
    named: dict[MemberName, list[Server]] = {}
    for server in sorted(listing.servers, key=lambda server: (server.created_at, server.id)):
        named.setdefault(server.name, []).append(server)
    for server in listing.twins:
        named.setdefault(server.name, []).append(server)
    for name, (member, *others) in named.items():
        record = known.records.get(name)
        if record is None or known.definitions[record.group].cloud.id != cloud:
            continue
        for other in others:
            if other.state is not ServerState.DELETING:
                yield _second(record, member, other, cloud)


def _second(record: Record, member: Server, other: Server, cloud: CloudId) -> Item:
    return Item(
        kind=GarbageKind.DUPLICATE,
        name=record.name,
        group=record.group,
        where=cloud,
        since=other.created_at,
        because=f"a second machine under this name, {member.id} is the member: delete it at the cloud, by its id",
        server_id=other.id,
        raw_state=other.raw_state,
    )


def _judged(known: FleetRecords, launch: LaunchId) -> tuple[GarbageKind, str] | None:
    """Return why a listed machine is garbage; ``None``: it is a member, or becomes one."""
    if launch.name in known.records:
        return None
    if (let_go := known.abandoned.get(launch.name)) is not None:
        return GarbageKind.ABANDONED, f"abandoned by {let_go.by}: it is never touched"
    if launch.group not in known.definitions:
        return GarbageKind.NO_GROUP, f"group {launch.group} is unknown: deleted, or lost with a store"
    return (GarbageKind.RETURNED, "proved gone before, and listed again") if launch.name in known.gone else None


def _vanished(
    known: FleetRecords, listings: Mapping[CloudId, Listing], listed: Mapping[MemberName, Server]
) -> Iterator[Item]:
    """Yield abandoned machines of clouds that cannot confirm that they are gone."""
    for let_go in known.abandoned.values():
        listing = listings.get(let_go.cloud)
        if let_go.name in listed or (listing is not None and listing.complete):
            continue
        yield Item(
            kind=GarbageKind.ABANDONED,
            name=let_go.name,
            group=let_go.group,
            where=let_go.cloud,
            since=let_go.at,
            because=f"abandoned by {let_go.by}; its cloud cannot be read, so it is not known whether it still exists",
            server_id=let_go.server_id,
        )


def _parts(known: FleetRecords, cloud: CloudId, listing: PartListing, machines: Listing | None) -> Iterator[Item]:
    """Yield parts without a machine; only from a complete listing, which alone proves that there is no machine."""
    if machines is None or not machines.complete:
        return
    there = {server.name for server in machines.servers}
    for member, part in listing.parts:
        launch = _ours(known, member)
        if launch is None or member in known.records or member in there:
            continue
        let_go = known.abandoned.get(member)
        origin = "an unknown member" if let_go is None else f"a member that {let_go.by} abandoned"
        yield Item(
            kind=GarbageKind.PART,
            name=member,
            group=launch.group,
            where=cloud,
            since=None,
            because=f"its part {part.name}, of {origin}: remove it at the cloud",
            server_id=part.id,
            raw_state=part.state.value,
        )


def _registrations(
    known: FleetRecords, balancer: BalancerId, names: Collection[MemberName], listed: Mapping[MemberName, Server]
) -> Iterator[Item]:
    for name in names:
        launch = _ours(known, name)
        if launch is None or name in known.records:
            continue
        if name in listed and _judged(known, launch) is None:
            continue  # about to become a member again
        because = "registered there without a member: remove it at the balancer"
        yield Item(
            kind=GarbageKind.REGISTRATION, name=name, group=launch.group, where=balancer, since=None, because=because
        )


def _ours(known: FleetRecords, name: str) -> LaunchId | None:
    launch = LaunchId.parse(name)
    return launch if launch is not None and launch.installation == known.installation else None
