"""How much may be created: the brake on a runaway. A cloud's defaults grow with the groups that use it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

_OUTSTANDING = 10
_PER_HOUR = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What a cloud's budget comes to."""

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
"""What is allowed where the file says nothing else."""
