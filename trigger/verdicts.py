"""The results of evaluation: truths, holds and one advice per policy."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from aggregator.frames import Cell
from config.model.adjustments import Action, Adjustment, AdjustmentVerb, FollowForecast
from config.units import ConditionId, GroupId, Moment, Monotonic, PolicyId, Seconds
from trigger.reasons import Reason


class Truth(enum.Enum):
    """Kleene's three values. UNKNOWN never fires."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"


class Direction(enum.Enum):
    """The direction of a change of size."""

    OUT = "out"
    IN = "in"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionVerdict:
    """One condition as one policy judged it (missing answers count differently for growth and for shrinking)."""

    condition: ConditionId
    truth: Truth
    cells: tuple[Cell, ...]
    """The judged cells, in the order of `aggregator.specs.window_keys`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """How long a policy's conditions have been TRUE. Steady time; means nothing after a reboot."""

    true_since: Monotonic
    last_true: Monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyStreak:
    """How often in a row a policy's conditions were TRUE, evaluation by evaluation. Steady time, as in a `Hold`."""

    true: int
    judged_at: Monotonic
    """The last evaluation that counted, or reset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreakCount:
    """The progress of a streak."""

    true: int
    times: int
    """How many the policy needs."""
    every: Seconds
    """Time between two evaluations, in whole ticks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenStep:
    """The step that a policy takes, and why."""

    condition: ConditionId
    """The condition whose threshold is passed."""
    over: float
    """Least distance beyond the threshold, in the unit of the condition; never below 0."""
    adjustment: Adjustment


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """The number of members that can carry the measured load, each at the target: `trigger.policies.tracking`."""

    verb: AdjustmentVerb
    """ADD or REMOVE: an aim never changes the size in the other direction."""
    load: float
    """In members at their target; if ``relative``, as a multiple of those in service. Never below 0."""
    relative: bool = False
    level: float
    """The target, in the unit of the counter."""
    at_most: Adjustment | None = None
    """The largest change at once."""


class ReserveCause(enum.Enum):
    """Why a forecast keeps a reserve."""

    GAPS = "gaps"
    """Data is missing again and again."""
    LEARNING = "learning"
    """What members carry is not known for long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What a forecast says of one group at one step: `trigger.forecast`. Loads are in members at their capacity."""

    needed: int
    """Fewer members would be too few within a boot time; 0: nothing is known."""
    may_shrink_to: int | None
    """So many are enough for a while; at least ``needed``. ``None``: no data, and the group does not shrink."""
    load: float | None
    """Measured now; ``None``: no data."""
    coming: float
    """The load that is forecast for when a member ordered now serves."""
    at_most: float
    """The same with its headroom."""
    within: Seconds
    """How far ahead that is."""
    spread: float
    """The usual error of ``coming``, as a share of it."""
    missed: float
    """Percent of the load that the headroom that is followed would have missed lately."""
    days: float
    """Over so many days that is."""
    carries: float | None = None
    """What a member carries, in the unit of the load, as it was learned; ``None``: it is declared."""
    carries_steps: int = 0
    """Steps of 30 seconds that this was learned from."""
    reserve: ReserveCause | None = None
    """Why both sizes have a reserve (`trigger.forecast.reserves`); ``None``: they have none."""


RequestedChange: TypeAlias = Adjustment | Aim | Foreseen
"""Closed union of the ways to ask for a size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The advice of one policy at one tick, before any guard."""

    policy: PolicyId
    action: Action
    """Its declared action: `decide` has to know whether the policy could ask for fewer members."""
    adjustment: RequestedChange | None
    """Its adjustment now: the step that is taken, or the first while none is; ``None``: a target that is not missed,
    or a forecast that is not made yet."""
    taken: TakenStep | None = None
    """``None``: no steps, or no distance."""
    truth: Truth
    verdicts: tuple[ConditionVerdict, ...]
    reason: Reason | None
    """NOT_MET, HOLDING, BLIND, or ADVISED of one that only advises; ``None``: it is ready, and `decide` answers."""
    held: Seconds
    needed: Seconds
    in_a_row: StreakCount | None = None
    """For a policy that counts evaluations; ``held`` and ``needed`` are then its counts in seconds."""

    @property
    def advises(self) -> bool:
        """Whether the policy only says what it would do: nothing else depends on it."""
        return isinstance(self.action, FollowForecast) and self.action.advises


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedLoad:
    """The factor by which each member's load may grow: `policies.projection`. Infinite where no policy limits it."""

    of_those_in_service: float = math.inf
    of_desired: float = math.inf
    """By thresholds that are divided by the desired size."""


NO_PROJECTION = ProjectedLoad()


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
    """The holds of the last tick, from which these came."""
    headroom: ProjectedLoad = NO_PROJECTION
    """Computed only if a policy that may shrink the group is ready; infinite otherwise."""
    size: int | None = None
    """The desired size that conditions per member use; ``None``: there was none yet."""
