"""The persisted state of a roll: its budgets, its progress, and its changes of state. Pure."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from config.model.rolling import RollBudgets
from config.units import Instant

FAILED_AT_MOST = 3
"""Failed builds in a row of the roll's profile that stop it."""


class RollState(enum.Enum):
    """The state of a roll."""

    RUNNING = "running"
    STOPPED = "stopped"
    """A person stopped it; it can go on."""
    HALTED = "halted"
    """It stopped by itself, with a reason; it can go on."""
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roll:
    """A replacement of all members of other profiles. At most one per group; the last one is kept."""

    target: str
    """Digest of the profile that it rolls to."""
    budgets: RollBudgets
    started_at: Instant
    by: str
    state: RollState = RollState.RUNNING
    because: str = ""
    """Why it does not run, in words."""
    failed: int = 0
    """Failed builds of its profile in a row."""
    ended_at: Instant | None = None
    """Since when it does not run."""

    @property
    def runs(self) -> bool:
        """Return whether it replaces members now."""
        return self.state is RollState.RUNNING

    def ended(self, state: RollState, because: str, at: Instant) -> Roll:
        """Return the roll, no longer running."""
        return replace(self, state=state, because=because, ended_at=at)

    def aimed(self, target: str) -> Roll:
        """Return the roll for another profile, with no failed builds counted."""
        return self if target == self.target else replace(self, target=target, failed=0)

    def resumed(self, target: str) -> Roll:
        """Return the roll, running (again), with no failed builds counted."""
        return replace(self, target=target, state=RollState.RUNNING, because="", failed=0, ended_at=None)


def halted_by(failed: int, target: str) -> str:
    """Return why a roll stops by itself, in words; empty: it goes on."""
    return f"{failed} builds of profile {short(target)} failed in a row" if failed >= FAILED_AT_MOST else ""


def short(digest: str) -> str:
    """Return a digest shortened for people.

    >>> short("0123456789abcdef")
    '0123456789ab'
    """
    return digest[:12]
