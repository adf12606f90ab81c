"""The world of one group as one pass gathered it: what the cloud lists, the balancers seat, and we remember."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from config.causes import FailureCause
from config.model.parts import OnDelete
from config.units import BalancerId, GroupId, Instant, MemberName, PartName
from handler.planning.evidence import NO_LOSSES, LossEvidence
from handler.planning.launches import Claim


class PartState(enum.Enum):
    """What a cloud says of a part, folded to what planning needs."""

    BUILDING = "building"
    READY = "ready"
    """A machine can be made with it, or has it."""
    ERROR = "error"
    DELETING = "deleting"


@dataclass(frozen=True, slots=True, kw_only=True)
class MadePart:
    """One part that bears a member's mark."""

    name: PartName
    id: str
    """The cloud's own id."""
    state: PartState


@dataclass(frozen=True, slots=True, kw_only=True)
class PartListing:
    """What a cloud answered when asked for the parts of one group's members, by mark."""

    parts: tuple[tuple[MemberName, MadePart], ...]
    complete: bool
    """Everything was seen. A partial listing proves presence, never absence."""
    because: str = ""
    """Why it is partial."""


class ServerState(enum.Enum):
    """What a cloud says of a machine, folded to what planning needs."""

    BUILDING = "building"
    RUNNING = "running"
    STOPPED = "stopped"
    """Exists and does not serve: counts as broken."""
    ERROR = "error"
    PASSING = "passing"
    """On its way from one state to another by itself: reboots, migrates, is resized. Waited for, counted as present."""
    PARKED = "parked"
    """Set aside by somebody: suspended, paused, shelved. Only a person moves it on: left alone, counted as present."""
    DELETING = "deleting"
    UNKNOWN = "unknown"
    """The cloud's own word is not one we know: left alone, counted as present."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One machine (or process) that bears a group's mark, as its cloud lists it."""

    name: MemberName
    id: str
    """The cloud's own id."""
    state: ServerState
    address: str | None
    created_at: Instant
    raw_state: str
    """The cloud's own word, for people."""
    zone: str | None = None
    """The part of the cloud that it runs in; ``None``: not known, or the cloud has none."""
    claim: Claim | None = None
    """The store generation that claimed it last; ``None``: it bears no claim, or the cloud shows none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a cloud answered when asked for one group's machines."""

    servers: tuple[Server, ...]
    """Of this installation and group only, by mark; foreign machines never appear."""
    complete: bool
    """Everything was seen. A partial listing proves presence, never absence."""
    because: str = ""
    """Why it is partial."""


class SeatState(enum.Enum):
    """What a balancer does with a member."""

    PARKED = "parked"
    """Known, not given work: maintenance, waiting to be enabled."""
    SERVING = "serving"
    DRAINING = "draining"
    """Finishes what it has, is given nothing new."""
    PARTLY = "partly"
    """Given work by some of the balancer's processes and not by others."""


class Health(enum.Enum):
    """What a balancer's health check says of a member."""

    HEALTHY = "healthy"
    FAILING = "failing"
    UNKNOWN = "unknown"
    """Checked, and the answer says nothing: not checked yet, on its way from one to the other, or set aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A member's place on one balancer."""

    member: MemberName
    state: SeatState
    connections: int | None
    """Work in hand; ``None``: the balancer cannot tell (which is not zero)."""
    health: Health | None = None
    """``None``: nobody checks it here (which is neither healthy nor failing)."""
    id: str | None = None
    """The balancer's own id of the seat; ``None``: it has none but the member's name."""
    note: str = ""
    """What a person should know of it, such as a weight that was changed by hand; empty: nothing."""

    @property
    def works(self) -> bool:
        """It is given work, if only by a part of the balancer."""
        return self.state in {SeatState.SERVING, SeatState.PARTLY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seating:
    """What one balancer answered. ``seats`` is ``None`` if it could not be read: nothing is known of anybody."""

    seats: Mapping[MemberName, Seat] | None
    because: str = ""
    """Why ``seats`` is ``None``."""
    not_found: bool = False
    """It is proved missing (`handler.convergence.lost_balancers`): no member can be registered or drained there."""
    closed: str = ""
    """Why nobody can be seated there now, since it is being made or changed; empty: they can."""


class Phase(enum.Enum):
    """What we have written down about a member: always before the call that makes it true."""

    INTENDED = "intended"
    """About to be created, or created with the answer lost: counts as a member until found or disproved."""
    MADE = "made"
    """The cloud has confirmed it."""
    IN_SERVICE = "in_service"
    """It was ready and has been given to its balancers."""
    LEAVING = "leaving"
    """Chosen to leave; the choice is durable."""
    GONE = "gone"
    """Confirmed gone; kept for history and budgets."""


class Leaving(enum.Enum):
    """Why a member was chosen to leave."""

    SURPLUS = "surplus"
    BROKEN = "broken"
    BUILD_TIMEOUT = "build_timeout"
    NOT_READY = "not_ready"
    REPLACED = "replaced"
    """A person asked for another one in its place."""
    DELETED = "deleted"
    """Its group is being deleted."""
    CHOSEN = "chosen"
    """A person named it, and desired size was lowered by it."""
    UNHEALTHY = "unhealthy"
    """It failed the health checks of its balancers for too long."""
    VANISHED = "vanished"
    """It is proved gone, and desired size was lowered by it (``on_vanish: shrink``)."""
    EVICTED = "evicted"
    """It is taken from the group and goes on: its mark is taken off, and nothing is destroyed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """A call for one member that keeps failing, or a removal that was accepted, and when it may be made again."""

    call: str
    """As history names the step."""
    balancer: BalancerId | None = None
    """Where it is a balancer's."""
    count: int
    """Failures since it last succeeded; answers that only asked for time are none. 0 for what was accepted."""
    again_at: Instant
    failed: bool = False
    """The last failure was permanent, or one too many."""
    because: str = ""
    """What was answered last; never a secret."""
    cause: FailureCause | None = None
    """What it came down to; ``None``: nothing that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What the store remembers of one member; the row is also the intent of its creation."""

    name: MemberName
    group: GroupId
    sequence: int
    phase: Phase
    intended_at: Instant
    server_id: str | None = None
    """The cloud's own id; of one that was given and is INTENDED, that of the machine that is to bear the mark."""
    made_at: Instant | None = None
    in_service_at: Instant | None = None
    balancers: tuple[tuple[BalancerId, int], ...] = ()
    """(balancer, port) that it was made with, or attached to since: it stays on these whatever is declared later."""
    seats: tuple[tuple[BalancerId, str], ...] = ()
    """(balancer, its own id of the member's seat), of those that have any: as it was seen last."""
    detaching: tuple[BalancerId, ...] = ()
    """Of those, the ones that it is to leave though it stays itself."""
    leaving: Leaving | None = None
    leaving_at: Instant | None = None
    drained_at: Instant | None = None
    """When its draining began."""
    protected: bool = False
    absent_listings: int = 0
    """Complete listings in a row that did not show it."""
    absent_at: Instant | None = None
    """When the first of those was."""
    create_attempts: int = 0
    destroy_attempts: int = 0
    gone_at: Instant | None = None
    profile: str | None = None
    """Digest of the profile that it was made of; ``None``: not known."""
    failing_since: Instant | None = None
    """When it was first found to fail the health checks of its balancers, and it has not answered since."""
    attempts: tuple[Attempts, ...] = ()
    """Calls that fail, at most one for each step and balancer; emptied when the member takes another way."""
    given: bool = False
    """A person gave it to the group (``member adopt``): it was not made here."""
    removal_at: Instant | None = None
    """When it was first asked that it be removed (or, of an evicted one, that its mark be taken off)…"""
    removal_tried_at: Instant | None = None
    """…and when last."""
    parts: tuple[tuple[PartName, OnDelete], ...] = ()
    """What was made for it beside its machine, or was about to be, in the order of making."""
    lost_at: Instant | None = None
    """When it was first missed, of a member that was left out of the size because it was lost. Once it is back, the
    members that were made in its place leave first; then this is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member from all three sides. At least one of ``record`` and ``server`` is there."""

    name: MemberName
    record: Record | None
    """``None``: bears our mark, but the store does not know it (a lost store): to be taken up."""
    server: Server | None
    """``None``: not on the listing."""
    disproved: bool
    """The cloud, asked for it by name after a complete listing without it, said definitely that it is not there."""
    ready: bool | None
    """The probe's answer; ``None``: not asked (no probe declared, or no address)."""
    unready: str = ""
    """What the probe got, where it does not say ready."""
    parts: tuple[MadePart, ...] = ()
    """Those that bear its mark, by name; they are asked for only where something depends on it
    (`handler.planning.member_resources`)."""
    lacking: tuple[PartName, ...] = ()
    """Parts of which the cloud said definitely that they are not there."""
    passing_since: Instant | None = None
    """When it was first seen PASSING by this process, and has been ever since."""
    gone: Record | None = None
    """Its last record, of a member that was proved gone and is listed again; its ``record`` is ``None`` then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One group at one moment, from one pass of gathering."""

    group: GroupId
    at: Instant
    complete: bool
    """The listing was complete."""
    because: str
    """Why it was not."""
    members: tuple[Member, ...]
    """Sorted by sequence; members whose record is GONE and that are not listed do not appear."""
    seatings: Mapping[BalancerId, Seating]
    """Of every balancer that a member was made with or that the group uses now."""
    untraced: tuple[MemberName, ...] = ()
    """Given work by a balancer under names of this group, neither remembered nor listed, and nobody could say that they
    do not exist; sorted. Members of a lost store that a cold cache does not list look like this."""
    relisted: tuple[MemberName, ...] = ()
    """Listed though they were proved gone, and nobody could say that they exist; sorted. They are no members."""
    profile: str | None = None
    """Digest of the profile that new members are made of now."""
    ahead: int = 0
    """The highest launch sequence of a machine above the last one that the store gave out; 0: none is."""
    losses: LossEvidence = NO_LOSSES
    """What is known, beside the listing, of members that seem lost."""
