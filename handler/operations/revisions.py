"""What a person is told of revisions, rollbacks and rolls; as values, and as a port."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from config.model.rolling import Allowance
from config.units import GroupId, Instant
from handler.planning.status import RollStatus
from handler.ports.edits import GroupEdit


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionStatus:
    """One revision of a group's definition."""

    number: int
    at: Instant
    """When it was first in force."""
    profile: str
    """Digest of what members are made of under it."""
    changes: tuple[str, ...]
    """What differs from the revision before, in words; nothing of the oldest that is kept."""
    members: int
    """Members that are made of its profile."""
    converged_at: Instant | None
    """When every member was made of it and nothing was left to do; ``None``: never so far."""
    declared: bool
    """It is what the file says now."""
    in_force: bool
    """New members are made of its profile."""
    edits: tuple[GroupEdit, ...]
    """What was edited in the file while it was the newest, in all that the group goes by; newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """What became of a rollback or a roll."""

    group: GroupId
    words: str
    roll: RollStatus | None
    """The group's roll, as it stands now."""


class Rolling(Protocol):
    """Every method raises as the daemon's do."""

    async def revisions(self, group: GroupId) -> tuple[RevisionStatus, ...]:
        """What a group declared, the newest first."""
        ...

    async def rollback(self, group: GroupId, to: int | None, *, by: str) -> Steered:
        """Have new members made of an earlier revision's profile; without ``to``, of the last that converged."""
        ...

    async def end_rollback(self, group: GroupId, *, by: str) -> Steered:
        """Have new members made of what the file says again."""
        ...

    async def roll(self, group: GroupId, surge: Allowance | None, unavailable: Allowance | None, *, by: str) -> Steered:
        """Have every member replaced that is not made of the profile of now; what is not said is as declared."""
        ...

    async def stop_roll(self, group: GroupId, *, by: str) -> Steered:
        """Replace nobody else."""
        ...
