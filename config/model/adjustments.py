"""What a policy does to the size: one adjustment, steps by how far a threshold is passed, or what is calculated.

A target calculates the size from what is measured now, a forecast from what will be.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from config.model.holidays import Holidays
from config.units import ConditionId, Seconds


class AdjustmentVerb(enum.Enum):
    """What an adjustment does to the desired size."""

    ADD = "add"
    REMOVE = "remove"
    SET = "set"


class Rounding(enum.Enum):
    """How a change that is no whole number of members becomes one."""

    CAREFUL = "careful"
    """Trimtab's own. Out: away from zero; in: toward zero, but at least 1; a size that is set: up."""
    AWAY = "away"
    """The change away from zero: Otter."""
    TRUNCATE = "truncate"
    """The change toward zero, but at least 1: AWS, Heat, Senlin, OneFlow."""
    CEIL = "ceil"
    """The size that results, up: Kubernetes, Nomad."""
    FLOOR = "floor"
    """The size that results, down."""
    NEAREST = "nearest"
    """The change to the nearest whole number, halves away from zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    """A change of desired size: a count (or percentage of the desired size), lifted to ``at_least`` members."""

    verb: AdjustmentVerb
    amount: float
    percent: bool = False
    at_least: int = 0
    rounding: Rounding = Rounding.CAREFUL

    @property
    def may_shrink(self) -> bool:
        """Whether carrying it out can remove members: it is then judged as a scale-in."""
        return self.verb is not AdjustmentVerb.ADD


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """From ``over`` beyond the threshold on, until the next step."""

    over: float
    """In the unit of the condition and the direction of its comparison: 15 over ``below: 30`` is 15 or less."""
    adjustment: Adjustment


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Sizes by how far the threshold of one condition is passed. Source: step scaling of AWS."""

    by: ConditionId
    """The condition with that threshold: one of the policy's."""
    steps: tuple[Step, ...]
    """At least one; ``over`` begins with 0 and ascends; all add, or all remove."""

    @property
    def verb(self) -> AdjustmentVerb:
        """What all of them do."""
        return self.steps[0].adjustment.verb

    @property
    def may_shrink(self) -> bool:
        """As of an adjustment."""
        return self.verb is not AdjustmentVerb.ADD


class TargetLoad(enum.Enum):
    """What a target is held against, and so how a measured value becomes a number of members."""

    EACH = "each"
    """A level of each member, such as CPU: the measured members share the load."""
    WHOLE = "whole"
    """One level of the whole group, which falls as members are added: members in service share the load."""
    TOTAL = "total"
    """An amount that members share: each takes this much of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracking:
    """As many members as keep a measured value at its target. Source: target tracking of AWS, Kubernetes, Nomad."""

    by: ConditionId
    """The one condition of its policy: the value is further from the target than is tolerated."""
    verb: AdjustmentVerb
    """ADD or REMOVE: one policy goes one way."""
    level: float
    """The target, in the unit of the counter; above 0. Of a total, the share of one member."""
    load: TargetLoad
    at_most: Adjustment | None = None
    """The largest change at once."""

    @property
    def may_shrink(self) -> bool:
        """As of an adjustment."""
        return self.verb is not AdjustmentVerb.ADD


class Prefer(enum.Enum):
    """What counts among sizes that keep a forecast's promise."""

    LEAN = "lean"
    """Few members."""
    BALANCED = "balanced"
    CALM = "calm"
    """Few changes of direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLevel:
    """By what it is learned what a member carries: as much as keeps a counter at a level. See `trigger.forecast`."""

    by: ConditionId
    """The condition of the forecast's policy that measures the counter."""
    at: float
    """The level, in the unit of the counter; above 0."""
    top: float | None
    """The top of the counter's range; ``None``: it has none."""
    least: float | None
    """No member is taken to carry less, in the unit of the load; ``None``: there is no such bound."""
    most: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """The load of a group, and what one member carries of it."""

    each: float | None
    """So much within its SLO, in the unit of the counter; above 0. ``None``: it is learned by ``level``."""
    per_member: bool
    """The counter has one value for each member; False: one for the whole group."""
    quorum: float
    """0 < quorum ≤ 1: if a smaller share of the members answers, the load is not known."""
    level: KeptLevel | None = None
    """``None``: what a member carries is declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowForecast:
    """As many members as the load will need. The rule is in `trigger.forecast`."""

    by: ConditionId
    """The one condition of its policy: its window measures the load."""
    capacity: Capacity
    slo: float
    """Percent of the load that may be missed; above 0."""
    prefer: Prefer
    history: Seconds
    """For so long the loads that were measured are kept."""
    cap: float | None
    """The most, as a multiple of what the load that is measured now needs; ``None``: no limit."""
    boot: Seconds | None
    """From an order until the member serves; ``None``: learned from the group's members (`trigger.forecast.leads`)."""
    advises: bool
    """It only says what it would do: it asks for nothing, and needs not agree to anything."""
    holidays: Holidays | None = None
    """Days on which the load does not go as usual; ``None``: none are declared."""

    @property
    def verb(self) -> AdjustmentVerb:
        """It names a size, in either direction."""
        return AdjustmentVerb.SET

    @property
    def may_shrink(self) -> bool:
        """As of an adjustment."""
        return True


Action: TypeAlias = Adjustment | Steps | Tracking | FollowForecast
"""Closed union of what a policy may do."""


def outright(action: Action) -> Adjustment | None:
    """Return the change that a request from outside makes, without measurements: of steps the first.

    ``None`` for a target and a forecast: their change depends on measured values.
    """
    match action:
        case Adjustment():
            return action
        case Steps():
            return action.steps[0].adjustment
        case Tracking() | FollowForecast():
            return None
        case _:
            assert_never(action)


def choices(action: Action) -> tuple[Adjustment, ...]:
    """Return every change that an action may make, as far as it is known before anything is measured."""
    match action:
        case Adjustment():
            return (action,)
        case Steps():
            return tuple(step.adjustment for step in action.steps)
        case Tracking() | FollowForecast():
            return ()
        case _:
            assert_never(action)
