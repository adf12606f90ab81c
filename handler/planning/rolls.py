"""A roll as it survives: what it may cost, how it stands, and how it goes on. Pure."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from config.model.rolling import RollBudgets
from config.units import Instant

FAILED_AT_MOST = 3
"""Builds of the profile that a roll is for: so many failed in a row end it."""


class RollState(enum.Enum):
    """How a roll stands."""

    RUNNING = "running"
    STOPPED = "stopped"
    """A person stopped it; it can go on."""
    HALTED = "halted"
    """It stopped by itself, and says why; it can go on."""
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roll:
    """All members of a group are to be made of one profile. At most one a group; the last one is kept."""

    target: str
    """Digest of the profile that it is for."""
    budgets: RollBudgets
    started_at: Instant
    by: str
    state: RollState = RollState.RUNNING
    because: str = ""
    """Why it does not run, in words."""
    failed: int = 0
    """Builds of its profile that failed in a row."""
    ended_at: Instant | None = None
    """Since when it does not run."""

    @property
    def runs(self) -> bool:
        """Whether it replaces members now."""
        return self.state is RollState.RUNNING

    def ended(self, state: RollState, because: str, at: Instant) -> Roll:
        """The same, not running any more."""
        return replace(self, state=state, because=because, ended_at=at)

    def aimed(self, target: str) -> Roll:
        """The same for another profile: what failed before was another one's."""
        return self if target == self.target else replace(self, target=target, failed=0)

    def resumed(self, target: str) -> Roll:
        """The same, running (again), with all builds still to fail."""
        return replace(self, target=target, state=RollState.RUNNING, because="", failed=0, ended_at=None)


def halted_by(failed: int, target: str) -> str:
    """Why a roll stops by itself, in words; empty while it does not."""
    return f"{failed} builds of profile {short(target)} failed in a row" if failed >= FAILED_AT_MOST else ""


def short(digest: str) -> str:
    """A digest as people read it.

    >>> short("0123456789abcdef")
    '0123456789ab'
    """
    return digest[:12]
