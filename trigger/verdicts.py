"""What evaluation produces: truths, holds and one advice per policy."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass

from aggregator.frames import Cell
from config.adjustments import Adjustment
from config.units import ConditionId, GroupId, Moment, Monotonic, PolicyId, Seconds
from trigger.reasons import Reason


class Truth(enum.Enum):
    """Kleene's three values. UNKNOWN never fires."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"


class Direction(enum.Enum):
    """Which way a size moves."""

    OUT = "out"
    IN = "in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One condition as one policy judged it (the unheard weigh differently for growth and for shrinking)."""

    condition: ConditionId
    truth: Truth
    cells: tuple[Cell, ...]
    """What it was judged by, in the order of `aggregator.specs.window_keys`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """How long a policy's conditions have been TRUE. Steady time; does not survive a restart."""

    true_since: Monotonic
    last_true: Monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class Streak:
    """How often in a row a policy's conditions were TRUE, evaluation by evaluation. Does not survive a restart."""

    true: int
    judged_at: Monotonic
    """The last evaluation that counted, or reset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How far a streak has come."""

    true: int
    times: int
    """How many are wanted."""
    every: Seconds
    """How far apart they are judged, in whole ticks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The step that is taken, and why."""

    condition: ConditionId
    """Whose threshold is passed."""
    over: float
    """By how much at least, in the unit of the condition; never below 0."""
    adjustment: Adjustment


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What one policy says at one tick, before any guard."""

    policy: PolicyId
    adjustment: Adjustment
    """What it does now: of steps the one that is taken, or the first while none is."""
    choices: tuple[Adjustment, ...]
    """Everything that it could do: the door must know whether it could have asked for fewer members."""
    taken: Taken | None = None
    """``None``: no steps, or no distance."""
    truth: Truth
    verdicts: tuple[Verdict, ...]
    reason: Reason | None
    """NOT_MET, HOLDING or BLIND; ``None``: ready, and the door decides."""
    held: Seconds
    needed: Seconds
    in_a_row: Counted | None = None
    """Where evaluations are counted; ``held`` and ``needed`` are then these in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """All policies of one group at one tick, and the holds to carry to the next tick."""

    group: GroupId
    at: Moment
    advices: tuple[Advice, ...]
    """In the order of the group's policies."""
    holds: Mapping[PolicyId, Hold | Streak]
    """Only policies that hold something."""
    headroom: float = math.inf
    """How many times its load each member bears (`trigger.projection`); looked at only while a policy is ready that may
    shrink the group, and infinite else."""
