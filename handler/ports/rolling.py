"""What is remembered of what groups declared, of rollbacks and of rolls; as a port."""

from __future__ import annotations

from typing import Protocol

from config.units import GroupId
from handler.planning.declared import Converged, Pinned, Revision
from handler.planning.rolls import Roll
from handler.ports.stored import Event


class RollingStore(Protocol):
    """Revisions of definitions, which one is in force, and the roll of each group."""

    def revisions(self, group: GroupId) -> tuple[Revision, ...]:
        """What a group declared, the newest first."""
        ...

    def steer(self, act: Event, pinned: Pinned | None, roll: Roll | None) -> None:
        """Write down which revision is pinned and how the roll stands, and why, in one transaction.

        Raises:
            StoreError: there is no such group, or it cannot be written.
        """
        ...

    def save_roll(self, group: GroupId, roll: Roll) -> None:
        """Write down how a roll stands; no line of history."""
        ...

    def save_converged(self, group: GroupId, converged: Converged, *, wholly: bool) -> None:
        """Write down that nothing was left to do; with ``wholly`` also that every member is made of that revision."""
        ...
