"""How fast, and how often to and fro, a group may change: what its own policies and alarms may not exceed."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from config.units import Seconds


class Select(enum.Enum):
    """Which of two limits counts."""

    MAX = "max"
    """The one that allows more: a percentage alone would hold small groups still."""
    MIN = "min"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """So many members in any span of time, in one direction. At least one of ``count`` and ``percent`` is given."""

    count: int | None = None
    percent: float | None = None
    """Of the size before; rounded up, so that it is never nobody."""
    per: Seconds
    select: Select = Select.MAX
    """Only where both are given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlapDamping:
    """After so many reversals in a span of time, hold the size high for a while."""

    reversals: int
    within: Seconds
    hold: Seconds
