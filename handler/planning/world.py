"""The world of one group as one pass gathered it: listed machines, registrations on balancers, and records."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from config.causes import FailureCause
from config.model.parts import OnDelete
from config.units import BalancerId, GroupId, Instant, MemberName, PartName
from handler.planning.evidence import NO_LOSSES, LossEvidence
from handler.planning.launches import Claim


class PartState(enum.Enum):
    """The state of a part in its cloud, reduced to what planning needs."""

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
    """A cloud's listing of the parts of one group's members, by mark."""

    parts: tuple[tuple[MemberName, MadePart], ...]
    complete: bool
    """The listing has all entries. A partial listing proves presence, never absence."""
    because: str = ""
    """Why it is partial."""


class ServerState(enum.Enum):
    """The state of a machine in its cloud, reduced to what planning needs."""

    __hash__ = object.__hash__  # looked up for every member of a plan; an enum's own hashes its name

    BUILDING = "building"
    RUNNING = "running"
    STOPPED = "stopped"
    """Exists and does not serve: counts as broken."""
    ERROR = "error"
    PASSING = "passing"
    """Between two states by itself: reboots, migrates, is resized. Waited for, counted as present."""
    PARKED = "parked"
    """Suspended, paused or shelved. Only a person resumes it: left alone, counted as present."""
    DELETING = "deleting"
    UNKNOWN = "unknown"
    """The cloud's own state is not a known one: left alone, counted as present."""


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
    """The cloud's own term for the state, for people."""
    zone: str | None = None
    """The part of the cloud that it runs in; ``None``: not known, or the cloud has none."""
    claim: Claim | None = None
    """The store generation that claimed it last; ``None``: it bears no claim, or the cloud shows none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A cloud's listing of one group's machines."""

    servers: tuple[Server, ...]
    """Of this installation and group only, by mark; foreign machines never appear."""
    complete: bool
    """The listing has all entries. A partial listing proves presence, never absence."""
    because: str = ""
    """Why it is partial."""
    twins: tuple[Server, ...] = ()
    """Second machines under the names of ``servers``, where the cloud's driver has chosen which are the members."""


class RegistrationState(enum.Enum):
    """The state of a member's registration on a balancer."""

    __hash__ = object.__hash__  # looked up for every member of a plan; an enum's own hashes its name

    PARKED = "parked"
    """Registered without work: maintenance, waiting to be enabled."""
    SERVING = "serving"
    DRAINING = "draining"
    """Finishes its connections, gets nothing new."""
    PARTLY = "partly"
    """Gets work from some of the balancer's processes and not from others."""


class Health(enum.Enum):
    """The result of a balancer's health check of a member."""

    HEALTHY = "healthy"
    FAILING = "failing"
    UNKNOWN = "unknown"
    """Checked without a result: not checked yet, changing from one to the other, or disabled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A member's registration on one balancer."""

    member: MemberName
    state: RegistrationState
    connections: int | None
    """Open connections; ``None``: the balancer does not show them (which is not zero)."""
    health: Health | None = None
    """``None``: this balancer does not check it (which is neither healthy nor failing)."""
    id: str | None = None
    """The balancer's own id of the registration; ``None``: it has none but the member's name."""
    note: str = ""
    """A note for people, such as a weight that was changed by hand; empty: none."""

    @property
    def works(self) -> bool:
        """Whether it gets work, if only from a part of the balancer."""
        return self.state is RegistrationState.SERVING or self.state is RegistrationState.PARTLY


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancerView:
    """The registrations on one balancer; `None` if it could not be read: nothing is known then."""

    registrations: Mapping[MemberName, Registration] | None = field(metadata={"wire": "seats"})
    because: str = ""
    """Why ``registrations`` is ``None``."""
    not_found: bool = False
    """It is proved missing (`handler.convergence.lost_balancers`): no member can be registered or drained there."""
    closed: str = ""
    """Why no member can be registered there now, since it is being created or changed; empty: members can."""
    foreign: tuple[str, ...] = ()
    """Of an exclusive group: names of registered machines that Trimtab did not make or adopt; sorted."""
    partly: Mapping[MemberName, Registration] | None = None
    """Where ``registrations`` is ``None`` since only some of its processes answer: those with the processes that do.
    Members can come into service there, and none leaves."""

    @property
    def known(self) -> Mapping[MemberName, Registration] | None:
        """The registrations that members can be compared with to come into service; ``None``: none are known."""
        return self.partly if self.registrations is None else self.registrations


class Phase(enum.Enum):
    """The phase of a member in the store: written before the call that makes it true."""

    INTENDED = "intended"
    """About to be created, or created with a lost answer: counts as a member until found or disproved."""
    MADE = "made"
    """The cloud has confirmed it."""
    IN_SERVICE = "in_service"
    """It was ready and has been registered with its balancers."""
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
    """A person ordered its replacement."""
    DELETED = "deleted"
    """Its group is being deleted."""
    CHOSEN = "chosen"
    """A person named it, which lowered the desired size."""
    UNHEALTHY = "unhealthy"
    """It failed the health checks of its balancers for too long."""
    VANISHED = "vanished"
    """It is proved gone, which lowered the desired size (``on_vanish: shrink``)."""
    EVICTED = "evicted"
    """It leaves the group and goes on running: its mark is removed, and nothing is destroyed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """A call for one member that keeps failing, or a removal that was accepted, and when it may be made again."""

    call: str
    """The step's name in history."""
    balancer: BalancerId | None = None
    """The balancer, for calls to one."""
    count: int
    """Failures since the last success, without answers that only asked for time. 0: accepted."""
    again_at: Instant
    failed: bool = False
    """The last failure was permanent, or the last one allowed."""
    because: str = ""
    """The last answer; never a secret."""
    cause: FailureCause | None = None
    """The recognised cause; ``None``: none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One member in the store; the row is also the intent of its creation."""

    name: MemberName
    group: GroupId
    sequence: int
    phase: Phase
    intended_at: Instant
    server_id: str | None = None
    """The cloud's own id; of a given member that is INTENDED, the id of the machine to be marked."""
    made_at: Instant | None = None
    in_service_at: Instant | None = None
    balancers: tuple[tuple[BalancerId, int], ...] = ()
    """(balancer, port) that it was made with, or attached to since: it stays on them whatever is declared later."""
    registrations: tuple[tuple[BalancerId, str], ...] = field(default=(), metadata={"wire": "seats"})
    """(balancer, its own id of the registration) as last seen, where the balancer has ids."""
    detaching: tuple[BalancerId, ...] = ()
    """Those of its balancers that it has to leave while it stays in the group."""
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
    """Since when it fails the health checks of its balancers without a break."""
    attempts: tuple[Attempts, ...] = ()
    """Failing calls, at most one for each step and balancer; cleared when the member's course changes."""
    given: bool = False
    """A person gave it to the group (``member adopt``): it was not made here."""
    removal_at: Instant | None = None
    """When its removal (or, if evicted, the removal of its mark) was first requested…"""
    removal_tried_at: Instant | None = None
    """…and when last."""
    parts: tuple[tuple[PartName, OnDelete], ...] = ()
    """Parts that were created for it besides its machine, or were about to be, in order of creation."""
    lost_at: Instant | None = None
    """When it was first missed, if its loss took it out of the size. Cleared once it is back and its replacements have
    left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member: its record, its machine and its probe. At least one of ``record`` and ``server`` is set."""

    name: MemberName
    record: Record | None
    """``None``: the machine bears our mark, but has no record (a lost store): it will be recorded again."""
    server: Server | None
    """``None``: not on the listing."""
    disproved: bool
    """The cloud, queried by name after a complete listing without it, answered definitely that it does not exist."""
    ready: bool | None
    """The probe's result; ``None``: not probed (no probe declared, or no address)."""
    unready: str = ""
    """The probe's answer, where it is not *ready*."""
    parts: tuple[MadePart, ...] = ()
    """Parts that bear its mark, by name; queried only where a step depends on them
    (`handler.planning.member_resources`)."""
    lacking: tuple[PartName, ...] = ()
    """Parts that definitely do not exist in the cloud."""
    passing_since: Instant | None = None
    """Since when this process has seen it PASSING without a break."""
    gone: Record | None = None
    """Its last record, if it was proved gone and is listed again; ``record`` is ``None`` then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One group at one moment, as one pass gathered it."""

    group: GroupId
    at: Instant
    complete: bool
    """The listing was complete."""
    because: str
    """Why it was not."""
    members: tuple[Member, ...]
    """Sorted by sequence, without unlisted members whose record is GONE."""
    balancer_views: Mapping[BalancerId, BalancerView] = field(metadata={"wire": "seatings"})
    """Registrations on every balancer that a member was made with or that the group uses now."""
    untraced: tuple[MemberName, ...] = ()
    """Names of this group that get work from a balancer, without a record or a listed machine, and without proof that
    they do not exist; sorted. Members of a lost store that a cold cache does not list look like this."""
    relisted: tuple[MemberName, ...] = ()
    """Names that are listed although they were proved gone, without proof that they exist; sorted. Not members."""
    profile: str | None = None
    """Digest of the current profile of new members."""
    ahead: int = 0
    """The highest launch sequence of a machine, if above the store's last one; otherwise 0."""
    losses: LossEvidence = NO_LOSSES
    """What is known, besides the listing, about members that seem lost."""
