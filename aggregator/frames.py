"""What the trigger is shown: one aggregate per window that anyone asked for, or why there is none."""

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
    """Nobody was heard in the whole window."""
    TOO_FEW = "too_few"
    """The window has not been watched for its whole length yet (a start, a reload, a new member's first rate)."""
    STALE = "stale"
    """The newest value is older than the group's freshness."""
    NO_MEMBERS = "no_members"
    """There is nobody to ask."""
    TOO_FEW_HEARD = "too_few_heard"
    """Fewer members (or ticks) were heard than a rank counts to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """A value that was really measured, and how sure it is.

    ``low ≤ value ≤ high``: what the value could be if every unheard member (and tick) had answered, by the counter's
    declared range. Without a range they are infinite as soon as anybody in the window was unheard.
    """

    value: float
    """Over those who were heard, in the counter's unit."""
    low: float
    high: float
    samples: int
    """Ticks of the window with at least one answer."""
    needed: int
    """Ticks of the window."""
    heard: int
    """Members heard at the newest tick."""
    expected: int
    """Members asked and counted at the newest tick."""
    coverage: float
    """Least share of members heard at any tick of the window: what a quorum is compared with."""
    age: Seconds
    """Since the newest answer, by the time that it carries, or else since it arrived."""
    left_out: int = 0
    """Members asked at the newest tick and not counted, since they warm up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Insufficient:
    """No aggregate, and why. Never replaced by a number."""

    because: Lack
    samples: int
    needed: int
    heard: int
    expected: int
    low: float = -math.inf
    """What the value would be within, had everybody answered; finite at most where too few did for a rank."""
    high: float = math.inf
    left_out: int = 0


Cell = Aggregate | Insufficient


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One group at one tick. Total: every window asked for has a cell."""

    group: GroupId
    at: Moment
    cells: Mapping[WindowKey, Cell]
