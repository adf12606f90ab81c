"""The values that the store keeps: groups, ticks, answers, events of history, and pauses as read from these."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from config.model.effects import FrozenDirection
from config.model.pacing import Granted
from config.units import (
    ROOT_ACCOUNT,
    AccountId,
    CloudId,
    GroupId,
    Instant,
    MemberName,
    Seconds,
    format_span,
    parse_span,
)
from handler.planning.attachments import Attachment
from handler.planning.declared import Converged, Pinned
from handler.planning.desired import Builds, Definition
from handler.planning.rolls import Roll
from handler.planning.status import StateSince
from handler.planning.step_outcomes import StepResult
from handler.planning.world import Record
from trigger.explain.explanation import Explanation, Measured
from trigger.explain.recorded_inputs import RecordedInputs
from trigger.reasons import Reason
from trigger.requests import Clamp, GroupState, Pause
from trigger.verdicts import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGroup:
    """One group as it survives: state, last definition, and what convergence has learnt."""

    id: GroupId
    state: GroupState
    definition: Definition
    """That is in force: as declared last, but for the profile if an earlier one is pinned."""
    deleting: bool
    failed_builds: int
    """Builds failed in a row."""
    back_off_until: Instant | None
    account: AccountId = ROOT_ACCOUNT
    """That it belongs to."""
    builds_of: str | None = None
    """What those builds were made with (`handler.planning.desired.Builds`)."""
    attachments: tuple[Attachment, ...] = ()
    """Of the definition's balancers, those that a person attached."""
    declared: int = 1
    """Number of the newest revision of its definition."""
    pinned: Pinned | None = None
    """The earlier revision whose profile new members use."""
    roll: Roll | None = None
    """The last one."""
    converged: Converged | None = None
    """What it was when a pass last found nothing to do."""
    edited_at: Instant | None = None
    """When the file was last edited in what the group goes by; ``None``: not since that is written down."""
    begun: Mapping[MemberName, StateSince] = field(default_factory=dict)
    """Since when its members are in their states; not of those for which it was never written down."""
    beside: int = 0
    """The sum of ``max`` over the other groups that use its cloud; not stored, since the file has it."""

    @property
    def granted(self) -> Granted:
        """What the budget of its cloud comes to with all groups that use it."""
        return self.definition.cloud.budget.granted(self.definition.group.maximum + self.beside)

    @property
    def in_force(self) -> int:
        """Number of the revision whose profile new members use."""
        return self.declared if self.pinned is None else self.pinned.revision

    @property
    def builds(self) -> Builds:
        """How builds of the definition in force go."""
        kept = Builds(failed=self.failed_builds, back_off_until=self.back_off_until, of=self.builds_of)
        return kept.that_count(self.definition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Creates:
    """How much of the budgets is used."""

    group_outstanding: int
    group_past_hour: int
    cloud_outstanding: int
    cloud_past_hour: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTick:
    """One group's tick or request, stored in one transaction."""

    group: GroupId
    at: Instant
    explanation: Explanation
    state: GroupState | None
    """The new state if it changed; desired size and its cause become history in the same transaction."""
    before: GroupState | None = None
    """The state on disk, if known: only differences are written."""
    evaluated: bool = True
    """False: requests came between two ticks. Unless they changed the size, no span is theirs; their answers are."""
    members: tuple[Record, ...] = ()
    """Members that leave, or were given, for the new size: written in the same transaction."""
    cloud: CloudId | None = None
    """The cloud of these members; required if there are any."""
    given: RecordedInputs | None = None
    """What the decision was given from elsewhere; ``None``: the same as the one before."""


class RepeatedTick(NamedTuple):
    """One group's tick of the shape of its last one, at which nothing else happened."""

    group: GroupId
    at: Instant
    values: tuple[float | None, ...]
    """Of each aggregate, in the order of `Explanation.measured`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    """The first answer to a request id: the same id again gets this and does nothing."""

    request: str
    at: Instant
    reason: Reason
    desired_from: int | None
    desired_to: int | None


class EventKind(enum.Enum):
    """What a line of history is about."""

    DECISION = "decision"
    """A change of desired size, or an answer to a request from outside."""
    STEP = "step"
    NOTE = "note"
    """Pause, resume, protect, reload, start, orphaned: acts of people and of the daemon."""


EVERY_KIND: Collection[EventKind] = frozenset(EventKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of a group's history."""

    at: Instant
    group: GroupId
    kind: EventKind
    name: str
    """Reason, step or act."""
    by: str
    """The cause and the person, or the member."""
    desired_from: int | None = None
    desired_to: int | None = None
    clamps: tuple[Clamp, ...] = ()
    result: StepResult | None = None
    """Steps: ``None`` while under way (or if Trimtab was killed there)."""
    message: str = ""
    took: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TickSpan:
    """Ticks in a row with one and the same answer."""

    group: GroupId
    first_at: Instant
    last_at: Instant
    ticks: int
    first: Explanation
    """As it was at the first tick of the span."""
    least: tuple[float | None, ...]
    """The least value seen in the span of each aggregate, in the order of `Explanation.measured`."""
    greatest: tuple[float | None, ...]

    @property
    def moved(self) -> tuple[tuple[Measured, float, float], ...]:
        """Aggregates whose value did not stay the same, as they were at the first tick: least and greatest."""
        pairs = zip(self.first.measured, self.least, self.greatest, strict=False)  # older rows have no terms
        return tuple(
            (each, least, greatest)
            for each, least, greatest in pairs
            if least is not None and greatest is not None and least < greatest
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The time that one member was in service."""

    begin: Instant
    end: Instant
    """When it began to leave, or was gone; infinite: neither is written down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSpans:
    """How long one member that came into service took."""

    profile: str | None
    """Digest of the profile that it was made of; ``None``: not known."""
    boot: Seconds
    """From its intent until it was in service."""
    drain: Seconds | None
    """From the beginning of its draining until it was gone; ``None``: it was not drained, or is not gone."""


_MESSAGES: Mapping[Pause, str] = MappingProxyType(
    {Pause.ALL: "", Pause.DECISIONS: "decisions only", Pause.OUT: "scale-out only", Pause.IN: "scale-in only"}
)


def pause_message(pause: Pause) -> str:
    """Return the message of an event that begins or ends this pause; empty for a resume of everything.

    >>> pause_message(Pause.DECISIONS)
    'decisions only'
    """
    return _MESSAGES.get(pause, "")


def pause_of(message: str) -> Pause:
    """Return the pause that an event is about; without a mention in the message, the pause of everything."""
    return next((pause for pause, known in _MESSAGES.items() if known == message), Pause.ALL)


def direction_of(message: str) -> Direction | None:
    """Return the direction that a resume is about; ``None``: both."""
    pause = pause_of(message)
    return None if pause.halts else Direction(pause.value)


def fleet_pause_message(pause: Pause, because: str) -> str:
    """Return the message of an event that pauses the fleet: what is stopped, and why.

    >>> fleet_pause_message(Pause.ALL, "storage moves")
    'everything; storage moves'
    """
    return "; ".join(text for text in (pause_message(pause) or "everything", because) if text)


def freeze_message(direction: FrozenDirection, lasts: Seconds, because: str) -> str:
    """Return the message of an event that freezes a group: the direction, for how long, and why.

    >>> freeze_message(FrozenDirection.IN, 7200.0, "the fair")
    'in for 2h; the fair'
    """
    return "; ".join(text for text in (f"{direction.value} for {format_span(lasts)}", because) if text)


def freeze_of(message: str) -> tuple[FrozenDirection, Seconds, str]:
    """What such an event froze, for how long, and why.

    >>> freeze_of("both for 1h30m; a release; then another")
    (<FrozenDirection.BOTH: 'both'>, 5400.0, 'a release; then another')

    Raises:
        ValueError: it is no such message.
    """
    what, _, because = message.partition("; ")
    direction, _, lasts = what.partition(" for ")
    return FrozenDirection(direction), parse_span(lasts), because


def fleet_pause_of(message: str) -> tuple[Pause, str]:
    """What such an event stopped, and why."""
    pause, _, because = message.partition("; ")
    return pause_of(pause), because
