"""How fast members may be replaced when their profile has changed."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """So many members, or so many in a hundred of the desired size."""

    number: float
    """0 or more; of members, a whole number."""
    percent: bool = False

    def __str__(self) -> str:
        return f"{self.number:g}{'%' if self.percent else ''}"

    def rounded_up(self, size: int) -> int:
        """How many of ``size`` that is, at least."""
        return math.ceil(round(self.number * size / 100, 6)) if self.percent else int(self.number)

    def rounded_down(self, size: int) -> int:
        """How many of ``size`` that is, at most."""
        return math.floor(round(self.number * size / 100, 6)) if self.percent else int(self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollBudgets:
    """What a roll may cost. Not both are 0."""

    surge: Allowance = Allowance(number=1)
    """Members above the desired size."""
    unavailable: Allowance = Allowance(number=0)
    """Members that may be missing in service because of it."""

    @property
    def is_none(self) -> bool:
        """Whether a roll could never begin."""
        return self.surge.number == 0 and self.unavailable.number == 0

    def of(self, size: int) -> tuple[int, int]:
        """Both in members: shares of surge are rounded up, those of unavailable down.

        Where that leaves neither, one member may be missing: a roll that is allowed to move does.

        >>> RollBudgets(surge=Allowance(number=25, percent=True)).of(10)
        (3, 0)
        >>> RollBudgets(surge=Allowance(number=0), unavailable=Allowance(number=10, percent=True)).of(5)
        (0, 1)
        """
        surge, unavailable = self.surge.rounded_up(size), self.unavailable.rounded_down(size)
        return (surge, unavailable) if surge or unavailable else (0, 1)


NO_HURRY = RollBudgets()
"""One at a time, another one first."""
