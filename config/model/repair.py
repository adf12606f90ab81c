"""Automatic repair of a group's members, as the core sees it."""

from __future__ import annotations

from dataclasses import dataclass

from config.units import Fraction, Seconds

_A_FIFTH = Fraction(0.2)


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRepair:
    """When a member that fails the health checks of its balancers is replaced, and when it is kept."""

    after: Seconds = 120.0
    """How long it must have failed."""
    warm_up: Seconds = 300.0
    """After a member came into service it is not judged for this long; elsewhere called the grace period."""
    at_most: int | None = None
    """If more members fail at once, none is replaced and a person must act. ``None``: ``at_most_share`` decides."""
    at_most_share: Fraction = _A_FIFTH
    """The same, of the desired size."""

    def budget(self, size: int) -> int:
        """How many members of a group of that size may be out of work for their health at once; at least one.

        >>> [HealthRepair().budget(size) for size in (1, 4, 10, 19)]
        [1, 1, 2, 3]
        """
        if self.at_most is not None:
            return self.at_most
        return max(int(size * self.at_most_share + 1e-9), 1)  # 30 % of 10 is 3, whatever binary fractions say


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Which members are replaced, each by the cause; those of another cause are left alone, and count."""

    vanished: bool = True
    """They served, and are gone."""
    broken: bool = True
    """They served, and their cloud says ERROR or STOPPED."""
    unbuilt: bool = True
    """They never came into service: in error, gone, too late, or never ready."""
    unhealthy: HealthRepair | None = None
    """They run and fail health checks; ``None``: no member is replaced for that."""
    passing: Seconds | None = None
    """Members that served, and have been changing state for this long, count as broken; ``None``: they are only
    reported as slow."""


DEFAULTS = Repair()
"""Of a group that says nothing."""
