"""The inputs and outputs of `trigger.decide.decide`: requests, fleet and state, and the decision."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from config.model.catalogue import QuietScope
from config.model.schedules import Times
from config.units import AlertId, GroupId, Instant, Moment, PolicyId, Seconds
from trigger.reasons import Reason
from trigger.verdicts import Direction, RequestedChange


class RequestCause(enum.Enum):
    """The source of a request."""

    POLICY = "policy"
    """A policy of the group whose conditions have held."""
    ALARM = "alarm"
    """An outside trigger, over HTTP."""
    SCHEDULE = "schedule"
    """A schedule of the group that is due."""
    PERSON = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request for another size of a group. Every source of size changes makes one of these."""

    id: str
    """Unique per group; the same id again gets the first answer."""
    group: GroupId
    cause: RequestCause
    by: str
    """Policy, alarm or user name, for history."""
    adjustment: RequestedChange
    policy: PolicyId | None = None
    """The policy that it carries out, if any; its quiet time begins."""
    quiet_time: Seconds
    quiet_scope: QuietScope = QuietScope.GROUP
    force: bool = False
    """Of a person: the bounds do not clamp the size."""
    due: Instant | None = None
    """Of a schedule: the time that it carries out."""
    missed: bool = False
    """That time passed too long ago."""
    expects: int | None = None
    """The revision of the size that the caller has read: at any other the request is refused; ``None``: any will do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The facts about the members that a decision needs. Made from the last convergence pass."""

    listed: bool
    """The last listing was complete."""
    marked: int
    """Members of ours on that listing (only used while there is no desired size)."""
    in_service: int
    creates_left: int
    """Creates that the hourly budgets of group and cloud still allow, whichever is less."""
    back_off_until: Instant | None
    """Several builds failed in a row: no growth before this."""
    leaving: int = 0
    """Members out of service: they drain or are being deleted, and are no longer polled."""
    superseded: bool = False
    """Another daemon manages the members (`handler.convergence.claiming`): this one carries out nothing."""
    ahead: GroupId | None = None
    """The group of the same service whose turn it is (`trigger.guards.turns`); ``None``: this one may scale."""
    balancer_not_found: bool = False
    """A balancer of the group does not exist: it is unknown which members still get work through it."""
    profile: str | None = None
    """Digest of the profile that all members in service are made of; empty: they are of several, or one is not known;
    ``None``: no members in service are known. Forecasts learn by it what members carry."""


class Pause(enum.Enum):
    """The part of a group's decisions that a person has paused."""

    NO = "no"
    DECISIONS = "decisions"
    """No decisions; repair goes on."""
    ALL = "all"
    OUT = "out"
    """No scale-outs; all else goes on."""
    IN = "in"
    """No scale-ins; all else goes on."""

    @property
    def halts(self) -> bool:
        """Whether the pause stops all decisions."""
        return self in {Pause.DECISIONS, Pause.ALL}

    def stops(self, direction: Direction) -> bool:
        """Whether the pause stops changes in this direction."""
        return self.halts or self.value == direction.value

    def also(self, other: Pause) -> Pause:
        """Combine two pauses that are both in force.

        >>> Pause.OUT.also(Pause.IN)
        <Pause.DECISIONS: 'decisions'>
        """
        if self is other or other is Pause.NO:
            return self
        if self is Pause.NO:
            return other
        return Pause.ALL if Pause.ALL in {self, other} else Pause.DECISIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPause:
    """A person's pause of all groups at once, beside each group's own pause. Wall clock, persisted."""

    pause: Pause
    """Never NO."""
    by: str
    since: Instant
    because: str = ""
    """Why, in the person's words; empty: no reason given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """A running quiet time. Wall clock, persisted."""

    policy: PolicyId | None
    """The policy that began it; ``None``: a person or an alarm."""
    scope: QuietScope
    direction: Direction
    """The direction of the change: a quiet time after a scale-in does not block a scale-out."""
    until: Instant
    lasts: Seconds | None = None
    """Its declared length; ``None``: an older release began it."""


class SignalKind(enum.Enum):
    """The effect of an alert, or of a person's freeze, while it lasts."""

    FLOOR = "floor"
    SHIELD = "shield"
    FREEZE_OUT = "freeze_out"
    FREEZE_IN = "freeze_in"
    BLIND = "blind"
    """The alert's own source has no data: no scale-in by a policy or an alarm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """An alert that lasts, or a person's freeze. Wall clock, persisted; ends at ``until``, whatever messages come."""

    alert: AlertId
    """Empty: a person's freeze."""
    key: str
    """Fingerprint of this alert among those of its rule; another delivery with this key renews it."""
    kind: SignalKind
    size: int | None = None
    """FLOOR: at least this many members."""
    since: Instant
    until: Instant
    lasts: Seconds | None = None
    """How long it lasts after each delivery; ``None``: an older release stored it."""
    by: str = ""
    """The person whose freeze it is; empty: an alert's."""
    because: str = ""
    """Why, in the person's words; empty: no reason given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeChange:
    """A change of desired size by a policy or an alarm. Wall clock, persisted while a guard counts it."""

    at: Instant
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """Since ``since`` no tick advised more than ``size``. Wall clock, persisted while it counts."""

    since: Instant
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The sizes that policies advised lately, followed or not (`guards.stabilisation`). Kept in mode `advise`, too."""

    ceilings: tuple[Ceiling, ...] = ()
    """Oldest first, each lower than the one before; empty: no policy advises fewer than desired."""
    seen: Instant | None = field(default=None, compare=False)
    """The last tick that the ceilings include. It changes at every tick, so this change alone is not stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The last handled time of a schedule. Wall clock, persisted; moves when a request for a time is closed."""

    policy: PolicyId
    times: Times
    """If they change, the record begins anew."""
    until: Instant
    """The last handled time; at first the time when the schedule was first seen: nothing before that is due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """A request that waits for the turn of its group. Wall clock, persisted."""

    request: Request
    since: Instant
    """When the group began to wait; a newer request takes this one's place in the queue."""
    until: Instant
    """When it expires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceTurn:
    """The state of a group among those of its service. Wall clock, persisted."""

    began: Instant | None = None
    """When it began to scale; ``None``: it does not scale."""
    queued: Queued | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderStore:
    """The store may be older than the fleet, for example a restored backup. Wall clock, persisted until confirmed."""

    since: Instant
    stored: int
    """The desired size in the store."""
    found: int = 0
    """The most members that listings have shown since; 0: no listing has been compared yet."""
    sequence: int = 0
    """The highest known launch sequence: no launch uses a number up to it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """The desired size before vanished members lowered it. Persisted."""

    size: int
    """Before the first member vanished."""
    revision: int
    """After the last member vanished; any later revision ends this record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """The state of a group between decisions. All of it is persisted."""

    desired: int | None = None
    """``None``: not yet; waits for the first complete listing."""
    revision: int = 0
    """Rises with every change of ``desired``; the newest wins."""
    forced: bool = False
    """A person forced ``desired`` outside the bounds; stays until the next accepted decision."""
    kept: bool = False
    """The first listing showed more members than max, and ``desired`` keeps them until a person lowers it."""
    quiets: tuple[Quiet, ...] = ()
    grown_at: Instant | None = None
    """When desired size last rose."""
    pause: Pause = Pause.NO
    signals: tuple[Signal, ...] = ()
    """Of alerts that last, and freezes of persons; sorted by alert, key and kind."""
    orphaned: bool = False
    moves: tuple[SizeChange, ...] = ()
    """Oldest first; only those that a guard of the group still counts."""
    observed: Observed = Observed()
    watched: tuple[Watched, ...] = ()
    """Of every schedule that changes the size, in the order of the group."""
    turn: ServiceTurn = ServiceTurn()
    """Used only in a service."""
    fresh: bool = False
    """The group is new: its first size may be the declared ``initial`` one."""
    older: OlderStore | None = None
    """The store may be older than the fleet: no member is created or deleted until a person confirms it
    (`guards.outdated_requests`)."""
    shrunk: Shrunk | None = None
    """Vanished members lowered the desired size; it rises again if they come back."""
    fleet_pause: FleetPause | None = None
    """The pause of all groups, beside the group's own pause, which it does not change."""

    @property
    def earlier(self) -> int | None:
        """The desired size before members vanished; ``None``: none did, or a later decision changed it."""
        shrunk = self.shrunk
        return None if shrunk is None or shrunk.revision != self.revision else shrunk.size

    @property
    def stopped(self) -> Pause:
        """The group's own pause and that of the fleet together."""
        return self.pause if self.fleet_pause is None else self.pause.also(self.fleet_pause.pause)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clamp:
    """A guard that changed a size, from → to."""

    guard: Reason
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome:
    """The answer to one request."""

    request: Request
    reason: Reason
    wanted: int | None
    """The requested size, before guards; ``None`` if there was no size to start from."""
    clamps: tuple[Clamp, ...] = ()
    until: Instant | None = None
    """For QUIET, CATCHING_UP, BUILD_BACK_OFF, SHIELDED, FROZEN, ALERT_FLOOR, MAX_CHANGE, FLAPPING and STABILISING: when
    that ends, at the earliest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The decision for one group at one moment."""

    group: GroupId
    at: Moment
    reason: Reason
    desired_from: int | None
    desired_to: int | None
    answers: tuple[RequestOutcome, ...]
    """One per request, in their order."""
    winner: RequestOutcome | None
    """The request that was carried out (or would have been, in mode `advise`)."""
    advised_to: int | None
    """In mode `advise`: the size that would have become desired."""
    state: GroupState
    """The state to persist: everything but ``desired`` may also change without a new revision."""

    @property
    def changed(self) -> bool:
        """Whether desired size was changed, so that convergence has something to do."""
        return self.desired_from != self.desired_to

    @property
    def restarts_holds(self) -> bool:
        """Whether a policy fired: every hold of the group starts again."""
        return self.changed and self.winner is not None
