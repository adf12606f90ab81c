"""The port to a cloud. A driver raises exactly `Transient` and `Permanent`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from config.model import Profile
from config.units import GroupId, MemberName, Seconds
from handler.launches import LaunchId
from handler.world import Listing, Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One member to be made."""

    id: LaunchId
    profile: Profile


Papers = Callable[[MemberName], Mapping[str, str]]
"""What a new member is given that is for it alone, its token for instance, as variables of its environment. They are
secret: a driver hands them to the machine, and to nobody else."""


def no_papers(_: MemberName) -> Mapping[str, str]:
    """For whoever makes no members."""
    return {}


class Orchestrator(Protocol):
    """Makes and removes members, always by identity. Calls block; they are made from worker threads."""

    def list(self, group: GroupId) -> Listing:
        """List the group's machines, by mark; say whether that is all of them."""
        ...

    def find(self, name: MemberName) -> Server | None:
        """Ask for one machine. ``None`` is a *definite* not-found; anything less certain raises `Transient`."""
        ...

    def create(self, launch: Launch) -> Server:
        """Make a machine that bears ``launch.id`` as name and mark. If it exists already, return it.

        `Transient` may mean that it was made all the same: the caller keeps its intent open.
        """
        ...

    def destroy(self, name: MemberName, *, grace: Seconds) -> None:
        """Begin to remove a machine: it is told to stop, and made to after ``grace``. Gone already is success."""
        ...
