"""How fast a group may change, and how much may be created: the brakes on a runaway. Pure."""

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
    """The most members per span of time, in one direction. At least one of ``count`` and ``percent`` is given."""

    count: int | None = None
    percent: float | None = None
    """Of the size before the change; rounded up, so that at least one member may change."""
    per: Seconds
    select: Select = Select.MAX
    """Only where both are given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlapDamping:
    """After so many reversals in a span of time, hold the size high for a while."""

    reversals: int
    within: Seconds
    hold: Seconds


_OUTSTANDING = 10
_PER_HOUR = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """A cloud's budget in numbers."""

    outstanding: int
    """Creates that are not yet in service."""
    per_hour: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much may be created, as it is declared. ``None``: of a cloud the default, of a group as much as its cloud."""

    outstanding: int | None = None
    """Creates that are not yet in service."""
    per_hour: int | None = None

    def granted(self, maximum: int) -> Granted:
        """Return what a cloud allows: what is not declared grows with its groups.

        Args:
            maximum: the sum of ``max`` over all groups that use the cloud.

        >>> Budget().granted(8)
        Granted(outstanding=10, per_hour=60)
        >>> Budget(per_hour=30).granted(101)
        Granted(outstanding=51, per_hour=30)

        Source: DESIGN.md "No runaway".
        """
        outstanding = max(_OUTSTANDING, -(-maximum // 2)) if self.outstanding is None else self.outstanding
        per_hour = max(_PER_HOUR, 2 * maximum) if self.per_hour is None else self.per_hour
        return Granted(outstanding=outstanding, per_hour=per_hour)


STOCK = Budget()
"""The default budget."""
