"""Why a group did what it did at one moment, as a value that can be stored, compared and said in words."""

from __future__ import annotations

from dataclasses import dataclass

from aggregator.frames import Lack
from config.model import Compare, Mode, Reduce
from config.units import ConditionId, CounterId, GroupId, Instant, PolicyId, Seconds
from trigger.reasons import Reason
from trigger.requests import Cause, Clamp, Pause, Quiet
from trigger.verdicts import Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionExplanation:
    """One condition as one policy judged it: what was measured, by how many, how old, against what."""

    condition: ConditionId
    counter: CounterId
    unit: str
    across: Reduce
    aggregate: Reduce
    window: Seconds
    compare: Compare
    threshold: float
    truth: Truth
    value: float | None
    """``None``: nothing to show; ``lack`` says why."""
    low: float | None
    """What the value could be if the unheard had answered; ``None`` where that is unbounded or there is no value."""
    high: float | None
    heard: int
    expected: int
    age: Seconds | None
    lack: Lack | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyExplanation:
    """One policy: its conditions, how long they have held, and the one reason."""

    policy: PolicyId
    truth: Truth
    reason: Reason
    held: Seconds
    needed: Seconds
    conditions: tuple[ConditionExplanation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerExplanation:
    """One request and what the door said to it."""

    request: str
    cause: Cause
    by: str
    reason: Reason
    wanted: int | None
    clamps: tuple[Clamp, ...]
    until: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One group at one tick."""

    group: GroupId
    at: Instant
    digest: str
    """Configuration hash."""
    mode: Mode
    pause: Pause
    reason: Reason
    desired_from: int | None
    desired_to: int | None
    advised_to: int | None
    minimum: int
    maximum: int
    in_service: int
    policies: tuple[PolicyExplanation, ...]
    answers: tuple[AnswerExplanation, ...]
    quiets: tuple[Quiet, ...]
