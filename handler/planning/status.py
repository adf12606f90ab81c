"""The status of a group for people and dashboards: values for API, CLI and metrics."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from config.model.catalogue import Mode
from config.units import CloudId, GroupId, Instant, MemberName, PolicyId
from handler.planning.rolls import RollState
from handler.planning.steps import Wait
from trigger.forecast.leads import LearnedTime
from trigger.policies.manual_freezes import ManualFreeze
from trigger.reasons import Reason
from trigger.requests import FleetPause, OlderStore, Pause, Queued, Quiet


class GroupCondition(enum.Enum):
    """The state of a group. The first that applies counts; `severity` ranks them by urgency."""

    DELETING = "deleting"
    ORPHANED = "orphaned"
    ERROR = "error"
    """A step failed permanently, or no member is in service and none can be made."""
    WARNING = "warning"
    """A step is being retried, the listing is partial, builds back off, or members do not answer."""
    PAUSED = "paused"
    STARTING = "starting"
    """No complete listing yet."""
    SCALING = "scaling"
    COOLDOWN = "cooldown"
    RUNNING = "running"


BY_SEVERITY = (
    GroupCondition.ERROR,
    GroupCondition.WARNING,
    GroupCondition.ORPHANED,
    GroupCondition.DELETING,
    GroupCondition.PAUSED,
    GroupCondition.STARTING,
    GroupCondition.SCALING,
    GroupCondition.COOLDOWN,
    GroupCondition.RUNNING,
)
"""The most urgent come first."""


def severity(condition: GroupCondition) -> int:
    """Return the place of a state in lists of groups: 0 is the most urgent.

    States that pass by themselves share the last place: a list must not change its order whenever a group scales.

    >>> severity(GroupCondition.ERROR), severity(GroupCondition.SCALING), severity(GroupCondition.RUNNING)
    (0, 5, 5)
    """
    return min(BY_SEVERITY.index(condition), BY_SEVERITY.index(GroupCondition.STARTING))


class MemberState(enum.Enum):
    """The states of ``trimtab_group_members{state}``."""

    BUILDING = "building"
    JOINING = "joining"
    IN_SERVICE = "in_service"
    DRAINING = "draining"
    LEAVING = "leaving"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    STUCK = "stuck"
    """Left, and cannot be removed: garbage, not size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSince:
    """A member's state, and its beginning."""

    state: MemberState
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberStatus:
    """One member for a person."""

    name: MemberName
    state: MemberState
    address: str | None
    since: Instant
    """When it was intended."""
    state_since: Instant
    """When its state began, as far as is known; no later than it was first seen in it."""
    protected: bool
    warming: bool
    raw_state: str
    unheard_since: Instant | None
    """Since when its counters are without data, if they are."""
    in_service_at: Instant | None
    """When it came into service, if it has."""
    unready: str = ""
    """The probe's answer, where it is not *ready*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackStatus:
    """New members use an earlier revision's profile."""

    revision: int
    at: Instant
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollStatus:
    """A roll for a person."""

    state: RollState
    because: str
    """Why it does not run, in words; empty while it does."""
    target: str
    """Digest of the profile that it is for."""
    surge: str
    unavailable: str
    """As ordered: members, or a share of the desired size."""
    started_at: Instant
    by: str
    ended_at: Instant | None
    done: int
    """Members in service that use the current profile."""
    remaining: int
    """Members that are yet to be replaced."""
    protected: tuple[MemberName, ...]
    """Members of another profile that stay as they are."""
    leaving: int = 0
    """Members of another profile that are leaving, and still exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    """Whether this daemon controls the fleet, and which groups' stores wait for a person."""

    claim: str | None
    """Store generation of this daemon, as members bear it; ``None``: it claims nothing."""
    superseded: str
    """Why this daemon has stopped acting; empty: it acts."""
    unwritten: Mapping[CloudId, str]
    """Clouds on whose members the claim cannot be written, and why."""
    doubted: tuple[GroupId, ...]
    """Groups whose store may be older than their members; sorted."""
    host: str
    """Name of this machine, and the id of its boot: shown to people only; no decision depends on them."""
    boot: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """The result of a person's confirmation of the store."""

    claim: str | None
    """The claim of this daemon now; ``None``: none, or only one group was named."""
    groups: tuple[AdoptedGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedGroup:
    """A group whose store a person has confirmed."""

    group: GroupId
    desired: int | None
    """The size that is kept from now on."""
    stored: int
    """The size in the store before listings were compared with it."""
    found: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatus:
    """One group for a person."""

    group: GroupId
    condition: GroupCondition
    messages: tuple[str, ...]
    """Why, in words, when it is ERROR or WARNING."""
    mode: Mode
    pause: Pause
    """The group's own."""
    fleet_pause: FleetPause | None
    """The pause of the fleet, the same for every group."""
    desired: int | None
    minimum: int
    maximum: int
    forced: bool
    revision: int
    members: tuple[MemberStatus, ...]
    reason: Reason
    """Of the last tick."""
    policies: Mapping[PolicyId, Reason]
    quiets: tuple[Quiet, ...]
    freezes: tuple[ManualFreeze, ...]
    """What persons froze; alerts and declared windows are not among them."""
    queued: Queued | None
    """The request that waits for the group's turn in its service."""
    waits: tuple[tuple[Wait, int], ...]
    decided_at: Instant | None
    converged_at: Instant | None
    """When a pass last found nothing to do."""
    listed: bool | None
    """Whether the last listing was complete; ``None``: none was read yet."""
    pending: bool = False
    """Its size, its definition or its roll has changed since a pass last found nothing to do."""
    definition: int = 1
    """Revision that new members are made of."""
    rollback: RollbackStatus | None = None
    """Why that is not the newest, if it is not."""
    quota: str = ""
    """The cloud's limit that stops new members, in the cloud's words; empty: none does."""
    unbelieved: tuple[str, ...] = ()
    """Rejected answers of the last poll, since their values are impossible: the counter, the member, and why."""
    budget: str = ""
    """Which budget of creates holds growth back, and what it allows; empty: none does."""
    old: int = 0
    """Members that do not use the current profile, as far as known."""
    roll: RollStatus | None = None
    """The last one."""
    older_store: OlderStore | None = None
    """The store may be older than the fleet, until a person confirms it."""
    boot: LearnedTime | None = None
    """How long its members take until they serve; ``None``: none has come into service yet."""
    drain: LearnedTime | None = None
    """How long they take to drain and be gone; ``None``: none has yet."""

    @property
    def in_service(self) -> int | None:
        """Members in service; ``None``: they have not been listed yet."""
        return None if self.listed is None else sum(each.state is MemberState.IN_SERVICE for each in self.members)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOutline:
    """One group in a list of a thousand: its members are only counted. The fields mean the same as in `GroupStatus`."""

    group: GroupId
    condition: GroupCondition
    messages: tuple[str, ...]
    mode: Mode
    desired: int | None
    minimum: int
    maximum: int
    counts: Mapping[MemberState, int] | None
    """Members in each state; ``None``: they have not been listed yet."""
    reason: Reason

    def of(self, *states: MemberState) -> int:
        """Return how many members are in these states, as far as they are listed."""
        return sum(self.counts.get(state, 0) for state in states) if self.counts is not None else 0

    @property
    def in_service(self) -> int | None:
        """Members in service; ``None``: they have not been listed yet."""
        return None if self.counts is None else self.of(MemberState.IN_SERVICE)
