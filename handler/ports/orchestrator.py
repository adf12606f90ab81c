"""The ports to a cloud: what each driver does, and some do besides. They raise exactly `Transient` and `Permanent`."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from config.errors import Refused
from config.model.access import SecretRef
from config.model.catalogue import Profile
from config.units import GroupId, MemberName, PartName, Seconds
from handler.planning.headroom import Quota
from handler.planning.launches import Claim, LaunchId
from handler.planning.world import Listing, Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One member to be made."""

    id: LaunchId
    profile: Profile
    parts: Mapping[PartName, str] = field(default_factory=lambda: MappingProxyType({}))
    """The cloud's ids of its parts (`handler.ports.parts`), all of them ready."""
    claim: Claim | None = None
    """What a cloud with `Claimable` machines writes on it in the call that makes it; ``None``: nothing."""
    first: bool = False
    """No earlier call was made for it: it is not there yet, wherever its cloud cannot be looked at now."""


Papers = Callable[[MemberName], Mapping[str, str]]
"""What a new member is given that is for it alone, its token for instance, as variables of its environment. They are
secret: a driver hands them to the machine only."""


def no_papers(_: MemberName) -> Mapping[str, str]:
    """For callers that create no members."""
    return {}


def no_secrets(_: SecretRef) -> str:
    """Refuse to read a secret, for callers that reach no cloud.

    Raises:
        Refused: always.
    """
    raise Refused("no secrets can be read here")


class Orchestrator(Protocol):
    """Makes and removes members, always by identity. Calls block; they are made from worker threads."""

    def list(self, group: GroupId) -> Listing:
        """Return the group's machines, by mark, and whether the listing is complete."""
        ...

    def find(self, name: MemberName) -> Server | None:
        """Ask for one machine. ``None`` is a *definite* not-found; anything less certain raises `Transient`."""
        ...

    def create(self, launch: Launch) -> Server:
        """Make a machine that bears ``launch.id`` as name and mark. If it exists already, return it.

        `Transient` may mean that it was made all the same: the caller keeps its intent open. After `Permanent`
        no machine is there.
        """
        ...

    def destroy(self, name: MemberName, *, grace: Seconds) -> None:
        """Begin to remove a machine: it is stopped, by force after ``grace``. Gone already is success."""
        ...

    def list_all(self) -> Listing:
        """List the machines of every group of this installation, by mark, as `list` does those of one.

        Unknown groups are included: garbage is found this way.
        """
        ...

    # Machines that are given to Trimtab, or taken from it

    @property
    def fixed_marks(self) -> str:
        """Why marks can neither be written on machines that are there nor be taken off them; empty: they can.

        Where it is not empty, `foreign_member`, `mark` and `unmark` raise `Permanent` with it.
        """
        ...

    def foreign_member(self, named: str) -> Server | None:
        """Look for a machine that bears no mark of any installation, by the cloud's own id or, if none has it, by name.

        Its ``name`` is the cloud's own. ``None`` is a *definite* not-found.

        Raises:
            Permanent: it bears a mark (the message has it), or several machines have the name (it has their ids).
        """
        ...

    def mark(self, id: str, launch: LaunchId) -> Server:
        """Write a mark on the machine with this cloud id. A machine that bears it already is success.

        From then on it is the member ``launch.name`` to `list`, `find` and `destroy`, whatever else it is called.
        `Transient` may mean that it was done all the same.

        Raises:
            Permanent: there is no such machine, it bears another mark, or this one is refused, and it does not bear it.
        """
        ...

    def unmark(self, name: MemberName) -> None:
        """Remove a member's mark; the machine goes on, without a group. A missing machine is success.

        This also works for machines that were created with a mark: they are never listed or found under it again.
        """
        ...


@runtime_checkable
class Proving(Protocol):
    """A driver whose listing may come from the machine itself, so that a not-found is proof."""

    @property
    def proves_absence(self) -> bool:
        """Whether a definite not-found needs no other evidence, for any number of members."""
        ...


@runtime_checkable
class ListsUnadopted(Protocol):
    """A driver of a cloud where machines for a group can exist before the group has marked them."""

    def standing(self, profile: Profile) -> int:
        """Return how many such machines without a mark exist. Creations mark these before they create new ones.

        Raises:
            DriverError: the number cannot be read.
        """
        ...


@runtime_checkable
class Claimable(Protocol):
    """A driver of a cloud whose machines can bear a claim (`handler.planning.launches.Claim`); listings show it."""

    def claim(self, name: MemberName, claim: Claim) -> None:
        """Write a claim on a member, over an earlier one. A missing member is success.

        Raises:
            Permanent: this account may not write it.
            Transient: it may have been written all the same.
        """
        ...


@runtime_checkable
class Metered(Protocol):
    """An orchestrator whose cloud shows quotas. It raises exactly `Transient` and `Permanent`."""

    def quotas(self, profile: Profile) -> Sequence[Quota]:
        """Return the limits on new members of a profile, and what one member takes of each.

        A limit that the cloud does not show is left out: a creation that meets it fails with that reason. The names of
        limits are the same for every profile, since profiles share them. Nothing is changed.
        """
        ...


_MEANING = {
    signal.SIGXCPU: "its limit cpu_time",
    signal.SIGXFSZ: "its limit file_size",
    signal.SIGKILL: "from outside, for want of memory, or at the end of its grace",
}


@runtime_checkable
class Endings(Protocol):
    """A cloud that may know how a machine ended that it no longer lists."""

    def ending(self, name: MemberName) -> str:
        """Return how the last machine of this name ended, in words; empty: not known."""
        ...


LOG_BYTES = 1 << 16
"""Of a machine's output that is shown: its end."""


@runtime_checkable
class KeepsOutput(Protocol):
    """A cloud that keeps what a machine wrote on its console. It raises exactly `Transient` and `Permanent`."""

    def output(self, name: MemberName, lines: int) -> bytes | None:
        """Return the end of what a member wrote, as it wrote it: about so many lines, at most `LOG_BYTES`.

        ``None``: there is no such machine, or the cloud keeps nothing of it. Nothing is changed.
        """
        ...


def ending_of(status: int) -> str:
    """Return how a process ended, in words.

    >>> ending_of(3), ending_of(-24)
    ('ended by itself with status 3', 'ended by signal 24 (SIGXCPU): its limit cpu_time')

    Args:
        status: its exit status; negative: the signal that ended it.
    """
    if status >= 0:
        return f"ended by itself with status {status}"
    try:
        number = signal.Signals(-status)
    except ValueError:
        return f"ended by signal {-status}"
    meaning = f": {_MEANING[number]}" if number in _MEANING else ""
    return f"ended by signal {-status} ({number.name}){meaning}"


@runtime_checkable
class ReportsObstacles(Protocol):
    """An orchestrator whose cloud also acts by itself. It raises exactly `Transient` and `Permanent`."""

    def obstacles(self, profile: Profile) -> Sequence[str]:
        """Return what prevents new members, or competes for them, and how to fix it.

        A group at its desired size makes no calls, and would notice only when it has to grow. So each pass checks; a
        reading of some seconds ago is good enough. Nothing is changed.
        """
        ...
