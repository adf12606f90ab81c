"""The input of the trigger: for each requested window one aggregate, or the reason why there is none."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from config.model.reductions import Reduction
from config.units import CounterId, GroupId, Moment, Seconds


class WindowKey(NamedTuple):
    """One aggregate: ``counter``, reduced ``across`` members at each tick, then ``aggregate`` over ``window``."""

    counter: CounterId
    across: Reduction
    aggregate: Reduction
    window: Seconds


class Lack(enum.Enum):
    """Why there is no aggregate."""

    NO_SAMPLES = "no_samples"
    """No member answered in the whole window."""
    TOO_FEW = "too_few"
    """The window has not been measured for its whole length yet (a start, a reload, a new member's first rate)."""
    STALE = "stale"
    """The newest value is older than the group's freshness."""
    NO_MEMBERS = "no_members"
    """The group has no member to ask."""
    TOO_FEW_HEARD = "too_few_heard"
    """Fewer members (or ticks) answered than a rank needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """A measured value and its bounds.

    ``low ≤ value ≤ high``: what the value could be if every missing member (and tick) had answered within the counter's
    declared range. Without a range the bounds are infinite as soon as one answer in the window is missing.
    """

    value: float
    """Over the members that answered, in the counter's unit."""
    low: float
    high: float
    samples: int
    """Ticks of the window with at least one answer."""
    needed: int
    """Ticks of the window."""
    heard: int
    """Members that answered at the newest tick."""
    expected: int
    """Members asked and counted at the newest tick."""
    coverage: float
    """Least share of members that answered at any tick of the window; a quorum is compared with it."""
    age: Seconds
    """Time since the newest answer: by the time that the answer carries, else since it arrived."""
    left_out: int = 0
    """Members asked at the newest tick and not counted, since they warm up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Insufficient:
    """The reason why there is no aggregate. No number ever replaces it."""

    because: Lack
    samples: int
    needed: int
    heard: int
    expected: int
    low: float = -math.inf
    """Bounds of the value if every member had answered; finite only if too few members answered for a rank."""
    high: float = math.inf
    left_out: int = 0


Cell = Aggregate | Insufficient


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One group at one tick. Every requested window has a cell."""

    group: GroupId
    at: Moment
    cells: Mapping[WindowKey, Cell]
