"""The steps that a plan is made of, as facts about what must be so; and what became of each.

Steps carry out in the order of the plan. Those marked *store* change only what we remember.
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
    """A machine must exist. A new one (``member`` is ``None``) gets its launch id when the intent is written."""

    member: MemberName | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MakePart:
    """A part of a member must exist, under the member's mark; that it may exist is written down before the call."""

    member: MemberName
    part: PartName


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovePart:
    """A part of a member must not exist."""

    member: MemberName
    part: PartName


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePart:
    """A part of a member that has gone must bear our mark no more (``on_delete: retain``)."""

    member: MemberName
    part: PartName


PartStep = MakePart | RemovePart | ReleasePart


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeUp:
    """*store*: a machine with our mark that the store did not know becomes a member again."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """*store*: an intended machine was found; its creation is done."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """The balancer must know the member, without giving it work yet."""

    member: MemberName
    balancer: BalancerId


@dataclass(frozen=True, slots=True, kw_only=True)
class Enable:
    """The balancer must give the member work."""

    member: MemberName
    balancer: BalancerId


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterService:
    """*store*: the member serves on every balancer that it was made with."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSeat:
    """*store*: by which id the balancer knows the member."""

    member: MemberName
    balancer: BalancerId
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkLeaving:
    """*store*: the member has been chosen to leave. Durable before anything is done to it."""

    member: MemberName
    why: Leaving
    because: str = field(default="", compare=False)
    """Why this one, in words; what is done is the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """The balancer must give the member nothing new. The start is written down before the call."""

    member: MemberName
    balancer: BalancerId


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """The balancer must forget the member."""

    member: MemberName
    balancer: BalancerId


@dataclass(frozen=True, slots=True, kw_only=True)
class Detach:
    """*store*: the member has left the balancer, and stays without it."""

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
    """The machine must not bear the member's mark any more, and goes on."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteAbsence:
    """*store*: a complete listing did not show the member; not yet a proof that it is gone."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class NotePresence:
    """*store*: the member is on the listing again."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteHealth:
    """*store*: the member's time of failing the health checks of its balancers begins, or is over."""

    member: MemberName
    failing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteReturn:
    """*store*: the member is back, and nothing that was made in its place is left."""

    member: MemberName


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """*store*: the member is gone, and there is evidence of it."""

    member: MemberName


Step = (
    Create
    | PartStep
    | TakeUp
    | Confirm
    | Join
    | Enable
    | EnterService
    | NoteSeat
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
    NoteSeat: "note_seat",
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
"""What each step is called in answers, metrics and the log, whatever its class is called later."""


CloudCall = Create | PartStep | MarkMachine | Unmark | Destroy
"""Steps that ask something of the cloud."""

BalancerCall = Join | Enable | Drain | Leave
"""Steps that change a balancer."""


class Wait(enum.Enum):
    """Why a plan without steps is not finished, or why it does less than the desired size asks for."""

    BUILDING = "building"
    PASSING = "passing"
    """Members reboot, migrate or are resized: counted as present."""
    NOT_READY = "not_ready"
    DRAINING = "draining"
    DELETING = "deleting"
    RELEASING = "releasing"
    """Evicted members still bear their marks."""
    UNCONFIRMED = "unconfirmed"
    """Members are missing from the listing without a witness, or listed in a state that says nothing: counted as
    present."""
    PARTIAL = "partial"
    """The listing was partial: nothing is destroyed for surplus, nothing is taken as gone."""
    DISTRUST = "distrust"
    """The listing is complete and not believed (`handler.planning.listing_sanity`): nobody is chosen for surplus."""
    BALANCER_UNKNOWN = "balancer_unknown"
    """A balancer could not be read: nobody leaves it, so nobody behind it is destroyed."""
    BALANCER_NOT_FOUND = "balancer_not_found"
    """A balancer does not exist: members cannot be registered there, and leave without being drained there."""
    VANISHED = "vanished"
    """Members are proved gone where that lowers desired size: both are written down at once, after this pass."""
    MANY_VANISHED = "many_vanished"
    """Members seem lost, and there is too little evidence of it (`handler.convergence.evidence`): they count until
    there is, or until a person orders convergence."""
    RETURNING = "returning"
    """Members that were taken for gone are back: those that were made in their place leave once they serve."""
    UNREPAIRED = "unrepaired"
    """Members are lost, and the group's ``repair`` leaves that to a person: counted until convergence is ordered."""
    FAILING = "failing"
    """Members fail health checks, not for long enough yet, or others are missing that are replaced before them."""
    MANY_FAILING = "many_failing"
    """More members fail health checks at once than is believed: nobody is replaced for that."""
    BALANCER_BUSY = "balancer_busy"
    """Another group changes a balancer that both share: this one's turn is next."""
    BACK_OFF = "back_off"
    """Calls that failed are not made again yet."""
    RATE_LIMIT = "rate_limit"
    """The cloud may not be asked for more now: what its declaration allows is used up, or it asked for time."""
    FULL = "full"
    """The cloud refused a creation since it has no room for more."""
    QUOTA = "quota"
    """The cloud's quotas leave no room for more: that was read, and nothing was asked for."""
    ENOUGH = "enough"
    """A pass does no more of that: the next one follows at once."""
    BUDGET = "budget"
    BUILD_BACK_OFF = "build_back_off"
    PROTECTED = "protected"
    """Members that ought to leave are protected."""
    ROLLING = "rolling"
    """A roll is to replace these members, too: their turn comes."""
    OLDER_STORE = "older_store"
    """The store may be older than the fleet: nothing is removed, replaced or made before a person confirms it."""
    NO_DESIRED = "no_desired"
    """No complete listing has been seen yet."""
    PAUSED = "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do now. Pure data; equal worlds give equal plans, whatever the order of their members."""

    group: GroupId
    revision: int
    steps: tuple[Step, ...]
    waits: tuple[tuple[Wait, int], ...]
    """(reason, how many members), in the order of `Wait`. No steps and no waits: converged."""
    doubts: tuple[Doubt, ...] = ()
    """Why the listing is not believed; empty: it is."""
    vanished: tuple[MemberName, ...] = ()
    """Proved gone in service, where that lowers desired size (``on_vanish: shrink``), by sequence: nothing is done
    about them before they are marked as leaving in the transaction that lowers it."""
    returned: tuple[MemberName, ...] = ()
    """Back after they had lowered desired size, by sequence: nothing is done about them before they are taken up in the
    transaction that raises it again."""
    unproved: tuple[MemberName, ...] = ()
    """Lost by the cloud's word alone, sorted: they count as present."""
    believed: tuple[MemberName, ...] = ()
    """Lost, and believed to be: they do not count, sorted."""
    evened: bool = False
    """There are as many members as there are to be, or fewer: nothing is left to do about those that came back."""
    held: tuple[Attempts, ...] = ()
    """Calls that are due but for failures not long ago."""
    overdue: tuple[MemberName, ...] = ()
    """Members that take longer from one state to another than the group gives a build; by sequence."""
    quota: str = ""
    """Which limit of the cloud leaves no room for more, in the cloud's words; empty: none is in the way."""
    budget: str = ""
    """Which budget of creates holds growth back, and what it allows, in words; empty: none does."""
    stuck: tuple[MemberName, ...] = ()
    """Whose removal is STUCK (`planning.removals`), by sequence: nobody waits for them, and they are no size."""

    repair_stopped: str = ""
    """Why members that fail health checks are not replaced, for people; empty: nothing stops that."""

    @property
    def converged(self) -> bool:
        """Nothing to do and nothing to wait for."""
        return not self.steps and not self.waits

    @property
    def makes(self) -> bool:
        """Something is to be made that a cloud counts."""
        return any(isinstance(step, Create | MakePart) for step in self.steps)

    def waiting(self, wait: Wait, members: int) -> Plan:
        """The same plan, in which so many more members wait."""
        told = Counter(dict(self.waits))
        told[wait] += members
        return replace(self, waits=tuple((each, told[each]) for each in Wait if told[each])) if members else self

    def of(self, member: MemberName) -> Plan:
        """The part of it that is about one member: no other is touched, and no new one is made."""
        own = tuple(step for step in self.steps if step.member == member)
        return replace(
            self,
            steps=own,
            vanished=tuple(name for name in self.vanished if name == member),
            returned=tuple(name for name in self.returned if name == member),
            believed=tuple(name for name in self.believed if name == member),
            evened=False,
        )
