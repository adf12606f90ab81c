"""The steps of a plan, each stated as the fact that must hold after it.

Steps are carried out in the order of the plan. Those marked *store* change only the store.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from config.units import BalancerId, GroupId, MemberName, PartName
from handler.planning.evidence import Doubt
from handler.planning.world import Attempts, Leaving


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """A machine must exist. A new one (``member`` is ``None``) gets its launch id when its intent is stored."""

    member: MemberName | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MakePart:
    """A part of a member must exist, under the member's mark; that it may exist is stored before the call."""

    member: MemberName
    part: PartName


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovePart:
    """A part of a member must not exist."""

    member: MemberName
    part: PartName


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePart:
    """A part of a gone member must no longer bear our mark (``on_delete: retain``)."""

    member: MemberName
    part: PartName


PartStep = MakePart | RemovePart | ReleasePart


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeUp:
    """*store*: a machine with our mark and without a record becomes a member again."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """*store*: an intended machine was found; its creation is complete."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """The member must be registered with the balancer, without getting work yet."""

    member: MemberName
    balancer: BalancerId


@dataclass(frozen=True, slots=True, kw_only=True)
class Enable:
    """The balancer must send the member work."""

    member: MemberName
    balancer: BalancerId


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterService:
    """*store*: the member serves on every balancer that it was made with."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRegistration:
    """*store*: the balancer's id of the member's registration."""

    member: MemberName
    balancer: BalancerId
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkLeaving:
    """*store*: the member has been chosen to leave. Stored before any call for it."""

    member: MemberName
    why: Leaving
    because: str = field(default="", compare=False)
    """Why this member, in words; the step is the same whatever it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """The balancer must send the member nothing new. The start is stored before the call."""

    member: MemberName
    balancer: BalancerId


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """The member must not be registered with the balancer."""

    member: MemberName
    balancer: BalancerId


@dataclass(frozen=True, slots=True, kw_only=True)
class Detach:
    """*store*: the member has left the balancer, and stays in the group without it."""

    member: MemberName
    balancer: BalancerId


@dataclass(frozen=True, slots=True, kw_only=True)
class Destroy:
    """The machine must not exist."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkMachine:
    """A machine that was given to the group must bear the member's mark."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmark:
    """The machine must no longer bear the member's mark, and goes on running."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteAbsence:
    """*store*: a complete listing lacks the member, which does not yet prove that it is gone."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class NotePresence:
    """*store*: the member is on the listing again."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteHealth:
    """*store*: the member's time of failing its health checks begins, or is over."""

    member: MemberName
    failing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteReturn:
    """*store*: the member is back, and none of its replacements is left."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """*store*: the member is gone, with evidence."""

    member: MemberName


Step = (
    Create
    | PartStep
    | TakeUp
    | Confirm
    | Join
    | Enable
    | EnterService
    | NoteRegistration
    | MarkLeaving
    | Drain
    | Leave
    | Detach
    | Destroy
    | MarkMachine
    | Unmark
    | NoteAbsence
    | NotePresence
    | NoteHealth
    | NoteReturn
    | Forget
)


KINDS: Final[Mapping[type[Step], str]] = {
    Create: "create",
    MakePart: "make_part",
    RemovePart: "remove_part",
    ReleasePart: "release_part",
    TakeUp: "take_up",
    Confirm: "confirm",
    Join: "join",
    Enable: "enable",
    EnterService: "enter_service",
    NoteRegistration: "note_seat",
    MarkLeaving: "mark_leaving",
    Drain: "drain",
    Leave: "leave",
    Detach: "detach",
    Destroy: "destroy",
    MarkMachine: "mark",
    Unmark: "unmark",
    NoteAbsence: "note_absence",
    NotePresence: "note_presence",
    NoteHealth: "note_health",
    NoteReturn: "note_return",
    Forget: "forget",
}
"""The name of each step in answers, metrics, history and the log, independent of its class name."""


CloudCall = Create | PartStep | MarkMachine | Unmark | Destroy
"""Steps that call the cloud."""

BalancerCall = Join | Enable | Drain | Leave
"""Steps that change a balancer."""


class Wait(enum.Enum):
    """Why a plan without steps is not converged, or why it does less than the desired size needs."""

    __hash__ = object.__hash__  # looked up for every member of a plan; an enum's own hashes its name

    BUILDING = "building"
    PASSING = "passing"
    """Members reboot, migrate or are resized: counted as present."""
    NOT_READY = "not_ready"
    DRAINING = "draining"
    DELETING = "deleting"
    RELEASING = "releasing"
    """Evicted members still bear their marks."""
    UNCONFIRMED = "unconfirmed"
    """Members are missing from the listing without other evidence, or listed in an unknown state: counted as
    present."""
    PARTIAL = "partial"
    """The listing was partial: no member is destroyed as surplus or taken as gone."""
    DISTRUST = "distrust"
    """The listing is complete and not believed (`handler.planning.listing_sanity`): no member is chosen as surplus."""
    BALANCER_UNKNOWN = "balancer_unknown"
    """A balancer could not be read: no member leaves it, so none of its members is destroyed."""
    BALANCER_NOT_FOUND = "balancer_not_found"
    """A balancer does not exist: members cannot be registered there, and leave without being drained there."""
    VANISHED = "vanished"
    """Members are proved gone where that lowers the desired size: one transaction stores both after this pass."""
    MANY_VANISHED = "many_vanished"
    """Members seem lost without enough evidence (`handler.convergence.evidence`): they count until there is enough, or
    until a person orders convergence."""
    RETURNING = "returning"
    """Members that were taken as gone are back: their replacements leave once they serve."""
    UNREPAIRED = "unrepaired"
    """Members are lost, and the group's ``repair`` leaves them to a person: counted until convergence is ordered."""
    FAILING = "failing"
    """Members fail health checks, but not for long enough yet, or missing members are replaced first."""
    MANY_FAILING = "many_failing"
    """More members fail health checks at once than is believed: none is replaced for that."""
    BALANCER_BUSY = "balancer_busy"
    """Another group is changing a shared balancer: this group is next."""
    BACK_OFF = "back_off"
    """Failed calls are not retried yet."""
    RATE_LIMIT = "rate_limit"
    """The cloud's declared rate of calls is used up, or the cloud asked for time."""
    FULL = "full"
    """The cloud refused a creation because it is full."""
    QUOTA = "quota"
    """The cloud's quotas, which were read before, allow no more members: no creation was tried."""
    ENOUGH = "enough"
    """The limit of one pass is reached: the next pass follows at once."""
    BUDGET = "budget"
    BUILD_BACK_OFF = "build_back_off"
    PROTECTED = "protected"
    """Members that should leave are protected."""
    ROLLING = "rolling"
    """A roll will replace these members later."""
    OLDER_STORE = "older_store"
    """The store may be older than the fleet: no member is removed, replaced or created before a person confirms it."""
    NO_DESIRED = "no_desired"
    """No complete listing has been read yet."""
    PAUSED = "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The steps to take now. Pure data; equal worlds give equal plans, whatever the order of their members."""

    group: GroupId
    revision: int
    steps: tuple[Step, ...]
    waits: tuple[tuple[Wait, int], ...]
    """(reason, number of members), in the order of `Wait`. No steps and no waits: converged."""
    doubts: tuple[Doubt, ...] = ()
    """Why the listing is not believed; empty: it is."""
    vanished: tuple[MemberName, ...] = ()
    """Members proved gone in service where that lowers the desired size (``on_vanish: shrink``), by sequence: they get
    no step before the transaction that marks them as leaving and lowers the size."""
    returned: tuple[MemberName, ...] = ()
    """Members that are back after they lowered the desired size, by sequence: they get no step before the transaction
    that records them again and raises the size."""
    unproved: tuple[MemberName, ...] = ()
    """Members that only the cloud reports as lost, sorted: they count as present."""
    believed: tuple[MemberName, ...] = ()
    """Members whose loss is believed, sorted: they do not count."""
    evened: bool = False
    """There are no more members than desired: no replacement of a returned member is left."""
    held: tuple[Attempts, ...] = ()
    """Calls that would be due without their recent failures."""
    overdue: tuple[MemberName, ...] = ()
    """Members that have been between two states for longer than the group's build timeout; by sequence."""
    quota: str = ""
    """The cloud's limit that stops new members, in the cloud's words; empty: none does."""
    budget: str = ""
    """The budget of creates that limits growth, and what it allows, in words; empty: none does."""
    stuck: tuple[MemberName, ...] = ()
    """Members whose removal is STUCK (`planning.removals`), by sequence: no step waits for them, and they do not
    count."""
    repair_stopped: str = ""
    """Why members that fail health checks are not replaced, for people; empty: nothing prevents it."""

    @property
    def converged(self) -> bool:
        """Whether there is nothing to do and nothing to wait for."""
        return not self.steps and not self.waits

    @property
    def makes(self) -> bool:
        """Whether it creates anything that counts against a cloud's quotas."""
        return any(isinstance(step, Create | MakePart) for step in self.steps)

    def waiting(self, wait: Wait, members: int) -> Plan:
        """Return the plan in which so many more members wait."""
        waits = Counter(dict(self.waits))
        waits[wait] += members
        return replace(self, waits=tuple((each, waits[each]) for each in Wait if waits[each])) if members else self

    def of(self, member: MemberName) -> Plan:
        """Return the part of the plan for one member: no other is touched, and none is created."""
        own = tuple(step for step in self.steps if step.member == member)
        return replace(
            self,
            steps=own,
            vanished=tuple(name for name in self.vanished if name == member),
            returned=tuple(name for name in self.returned if name == member),
            believed=tuple(name for name in self.believed if name == member),
            evened=False,
        )
