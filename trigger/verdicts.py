"""What evaluation produces: truths, holds and one advice per policy."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from aggregator.frames import Cell
from config.model.adjustments import Action, Adjustment, AdjustmentVerb
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
class ConditionVerdict:
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
class PolicyStreak:
    """How often in a row a policy's conditions were TRUE, evaluation by evaluation. Does not survive a restart."""

    true: int
    judged_at: Monotonic
    """The last evaluation that counted, or reset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreakCount:
    """How far a streak has come."""

    true: int
    times: int
    """How many are wanted."""
    every: Seconds
    """How far apart they are judged, in whole ticks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenStep:
    """The step that is taken, and why."""

    condition: ConditionId
    """Whose threshold is passed."""
    over: float
    """By how much at least, in the unit of the condition; never below 0."""
    adjustment: Adjustment


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """As many members as bear the load that was measured, each at the target: `trigger.policies.tracking`."""

    verb: AdjustmentVerb
    """ADD or REMOVE: an aim never goes the other way."""
    load: float
    """In members at their target; if ``relative``, in so many times those in service. Never below 0."""
    relative: bool = False
    level: float
    """The target, in the unit of the counter."""
    at_most: Adjustment | None = None
    """The largest change at once."""


Wish: TypeAlias = Adjustment | Aim
"""Closed union of how a size is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What one policy says at one tick, before any guard."""

    policy: PolicyId
    action: Action
    """What it is declared to do: the door must know whether it could have asked for fewer members."""
    adjustment: Wish | None
    """What it comes to now: of steps the one that is taken, or the first while none is; ``None``: a target that is not
    missed."""
    taken: TakenStep | None = None
    """``None``: no steps, or no distance."""
    truth: Truth
    verdicts: tuple[ConditionVerdict, ...]
    reason: Reason | None
    """NOT_MET, HOLDING or BLIND; ``None``: ready, and the door decides."""
    held: Seconds
    needed: Seconds
    in_a_row: StreakCount | None = None
    """Where evaluations are counted; ``held`` and ``needed`` are then these in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedLoad:
    """How many times its load each member bears: `policies.projection`. Infinite where nobody says, or nobody asks."""

    of_those_in_service: float = math.inf
    of_desired: float = math.inf
    """By what is shared out over the desired size."""


NOBODY_SAYS = ProjectedLoad()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """All policies of one group at one tick, and the holds to carry to the next tick."""

    group: GroupId
    at: Moment
    advices: tuple[Advice, ...]
    """In the order of the group's policies."""
    holds: Mapping[PolicyId, Hold | PolicyStreak]
    """Only policies that hold something."""
    carried: Mapping[PolicyId, Hold | PolicyStreak] = field(default_factory=lambda: MappingProxyType({}))
    """Those of the last tick, which these came from."""
    headroom: ProjectedLoad = NOBODY_SAYS
    """Looked at only while a policy is ready that may shrink the group, and infinite else."""
    size: int | None = None
    """The desired size that conditions per member went by; ``None``: there was none yet."""
