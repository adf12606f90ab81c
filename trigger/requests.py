"""The one door's two sides: what is asked, what it is asked about, and the answer."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from config.model.catalogue import QuietScope
from config.model.schedules import Times
from config.units import AlertId, GroupId, Instant, Moment, PolicyId, Seconds
from trigger.reasons import Reason
from trigger.verdicts import Direction, Wish


class RequestCause(enum.Enum):
    """Who asks."""

    POLICY = "policy"
    """A policy of the group whose conditions have held."""
    ALARM = "alarm"
    """An outside trigger, over HTTP."""
    SCHEDULE = "schedule"
    """A policy of the group whose time has come."""
    PERSON = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One wish to change a group's size. Everything that wants another size becomes one of these."""

    id: str
    """Unique per group; the same id again gets the first answer."""
    group: GroupId
    cause: RequestCause
    by: str
    """Policy, alarm or user name, for history."""
    adjustment: Wish
    policy: PolicyId | None = None
    """The policy it carries out, if any: whose quiet time begins."""
    quiet_time: Seconds
    quiet_scope: QuietScope = QuietScope.GROUP
    force: bool = False
    """A person insists: bounds do not clamp."""
    due: Instant | None = None
    """Of a schedule: the time that it carries out."""
    missed: bool = False
    """That time passed too long ago."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What the door must know of the members. Made from the last convergence pass."""

    listed: bool
    """The last listing was complete."""
    marked: int
    """Members of ours on that listing (only used while there is no desired size)."""
    in_service: int
    creates_left: int
    """Creates that the hourly budgets of group and cloud still allow, whichever is less."""
    back_off_until: Instant | None
    """Builds failed in a row: no growth before this."""
    leaving: int = 0
    """Members that serve no more: they drain, or are being deleted, and nobody asks them."""
    superseded: bool = False
    """Another daemon keeps the members (`handler.convergence.claiming`): this one carries out nothing."""
    ahead: GroupId | None = None
    """The group of the same service whose turn it is (`trigger.guards.turns`); ``None``: this one may scale."""
    balancer_not_found: bool = False
    """A balancer of the group does not exist: who still gets work through it is not known."""


class Pause(enum.Enum):
    """What a person has stopped."""

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
        """Whether nothing at all is decided."""
        return self in {Pause.DECISIONS, Pause.ALL}

    def stops(self, direction: Direction) -> bool:
        """Whether changes in this direction are stopped."""
        return self.halts or self.value == direction.value

    def also(self, other: Pause) -> Pause:
        """What is stopped where both are in force.

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
    """What a person has stopped in all groups at once, whatever each one's own pause is. Wall clock, persisted."""

    pause: Pause
    """Never NO."""
    by: str
    since: Instant
    because: str = ""
    """Why, in the person's words; empty: nobody said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """A running quiet time. Wall clock, persisted."""

    policy: PolicyId | None
    """Whose firing began it."""
    scope: QuietScope
    direction: Direction
    """Which way the size went: one begun by a scale-in does not block a scale-out."""
    until: Instant
    lasts: Seconds | None = None
    """Its declared length; ``None``: a release before this one began it."""


class SignalKind(enum.Enum):
    """What an alert does for as long as it lasts."""

    FLOOR = "floor"
    SHIELD = "shield"
    FREEZE_OUT = "freeze_out"
    FREEZE_IN = "freeze_in"
    BLIND = "blind"
    """The alert's own source has no data: no scale-in by a policy or an alarm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """An alert that lasts. Wall clock, persisted; over at ``until`` even if nobody says so."""

    alert: AlertId
    key: str
    """Of this one alert of this rule (its fingerprint): the same again renews it."""
    kind: SignalKind
    size: int | None = None
    """FLOOR: at least this many members."""
    since: Instant
    until: Instant
    lasts: Seconds | None = None
    """How long it lasts from each time that it is told; ``None``: a release before this one took it in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeChange:
    """A change of desired size by a policy or an alarm. Wall clock, persisted while a guard counts it."""

    at: Instant
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """No tick from ``since`` on advised more than ``size``. Wall clock, persisted while it counts."""

    since: Instant
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What policies advised lately, whatever became of it (`guards.stabilisation`). Kept in mode `advise`, too."""

    ceilings: tuple[Ceiling, ...] = ()
    """Oldest first, each lower than the one before; empty: nobody advises fewer than desired."""
    seen: Instant | None = field(default=None, compare=False)
    """The last tick that they speak for. It moves at every tick, and by itself is no change of state to write down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Until when the times of a schedule are over. Wall clock, persisted; moves with the last word about a time."""

    policy: PolicyId
    times: Times
    """Changed, they begin anew."""
    until: Instant
    """The last time that is over; at first, when the schedule was first seen: nothing is due before that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """A wish that waits for the turn of its group. Wall clock, persisted."""

    request: Request
    since: Instant
    """When the group began to wait: a newer wish takes this one's place in the queue."""
    until: Instant
    """When it is too old to be carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceTurn:
    """Where a group stands among those of its service. Wall clock, persisted."""

    began: Instant | None = None
    """When it last began to scale; ``None``: that has come to its end."""
    queued: Queued | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderStore:
    """The store may be older than the fleet, for example a restored backup. Wall clock, persisted until confirmed."""

    since: Instant
    stored: int
    """The desired size that the store remembered."""
    found: int = 0
    """The most members that listings have shown since; 0: no listing has been compared yet."""
    sequence: int = 0
    """The highest launch sequence that is known to have been given out: none up to it is used again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """What desired size was before members vanished and lowered it. Persisted."""

    size: int
    """Before the first of them."""
    revision: int
    """That the last of them led to: any later one is another decision, and this is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """What the door remembers between decisions. All of it is persisted."""

    desired: int | None = None
    """``None``: not yet; waits for the first complete listing."""
    revision: int = 0
    """Rises with every change of ``desired``; the newest wins."""
    forced: bool = False
    """``desired`` is outside the bounds because a person said so; stays until the next accepted decision."""
    kept: bool = False
    """``desired`` is above max because that many members were found at the first listing; until a person lowers it."""
    quiets: tuple[Quiet, ...] = ()
    grown_at: Instant | None = None
    """When desired size last rose."""
    pause: Pause = Pause.NO
    signals: tuple[Signal, ...] = ()
    """Of alerts that last; sorted by alert, key and kind."""
    orphaned: bool = False
    moves: tuple[SizeChange, ...] = ()
    """Oldest first; only those that a guard of the group still counts."""
    observed: Observed = Observed()
    watched: tuple[Watched, ...] = ()
    """Of every schedule that changes the size, in the order of the group."""
    turn: ServiceTurn = ServiceTurn()
    """In a service; of other groups it says nothing."""
    fresh: bool = False
    """The group was never known before it was declared: its first size may be the declared ``initial`` one."""
    older: OlderStore | None = None
    """The store may be older than the fleet: no member is removed or made until a person confirms
    (`guards.outdated_requests`)."""
    shrunk: Shrunk | None = None
    """Members vanished, and desired size was lowered by them: should they come back, it returns."""
    fleet_pause: FleetPause | None = None
    """The pause of the whole fleet: one for all groups, beside the group's own, which stays as it is."""

    @property
    def earlier(self) -> int | None:
        """What desired size was before members vanished; ``None``: none did, or it was decided anew since."""
        shrunk = self.shrunk
        return None if shrunk is None or shrunk.revision != self.revision else shrunk.size

    @property
    def stopped(self) -> Pause:
        """What is stopped here, by the group's own pause and by that of the fleet together."""
        return self.pause if self.fleet_pause is None else self.pause.also(self.fleet_pause.pause)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clamp:
    """A guard that changed a size, from → to."""

    guard: Reason
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome:
    """What became of one request."""

    request: Request
    reason: Reason
    wanted: int | None
    """The size it asked for, before guards; ``None`` if there was no size to start from."""
    clamps: tuple[Clamp, ...] = ()
    until: Instant | None = None
    """For QUIET, CATCHING_UP, BUILD_BACK_OFF, SHIELDED, FROZEN, ALERT_FLOOR, MAX_CHANGE, FLAPPING and STABILISING: when
    that ends, at the earliest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The door's one answer for one group at one moment."""

    group: GroupId
    at: Moment
    reason: Reason
    desired_from: int | None
    desired_to: int | None
    answers: tuple[RequestOutcome, ...]
    """One per request, in the order asked."""
    winner: RequestOutcome | None
    """Whose wish was carried out (or would have been, in mode `advise`)."""
    advised_to: int | None
    """In mode `advise`: the size that would have become desired."""
    state: GroupState
    """The state to persist: everything but ``desired`` may also change without a new revision."""

    @property
    def changed(self) -> bool:
        """Whether desired size was changed: convergence has something new to do."""
        return self.desired_from != self.desired_to

    @property
    def restarts_holds(self) -> bool:
        """Whether a policy fired: every hold of the group starts again."""
        return self.changed and self.winner is not None
