"""The port to a balancer. A driver raises exactly `Transient` and `Permanent`. All calls are idempotent."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from config.errors import DriverError
from config.model.managed import ManagedBalancer, ManagedPart
from config.units import MemberName
from handler.planning.provisioning import PartStatus
from handler.planning.world import Seat


class Balancer(Protocol):
    """Seats members and takes them away, always by name. Seats of others are never listed or touched."""

    def seats(self) -> Mapping[MemberName, Seat]:
        """Everyone seated under a name that is a launch id. Never partial: what cannot be read whole raises.

        A balancer is registered, unreadable or not found (`handler.convergence.lost_balancers`): it returns seats,
        raises `Transient` or `Permanent`, or raises `NotFound` with proof.

        A seat's health is ``None`` where nobody checks it, and only a word that means *this member does not answer* is
        FAILING; any other word, and any word that is not known, is UNKNOWN:

        ==================================  =================  =====================  ================================
        ..                                  HEALTHY            FAILING                ``None``
        ==================================  =================  =====================  ================================
        HAProxy ``status``                  ``UP``             ``DOWN``               ``no check``
        Octavia ``operating_status``        ``ONLINE``         ``ERROR``              ``NO_MONITOR``
        NetScaler ``svrstate``              ``UP``             ``DOWN``               without a monitor
        ==================================  =================  =====================  ================================
        """
        ...

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Seat a member PARKED. Seated already with this address is success."""
        ...

    def enable(self, member: MemberName) -> None:
        """Give it work."""
        ...

    def drain(self, member: MemberName) -> None:
        """Give it nothing new. Not seated is success."""
        ...

    def leave(self, member: MemberName) -> None:
        """Forget it. Not seated is success."""
        ...

    def incarnation(self) -> str:
        """Changes when the balancer has restarted or reloaded and may have forgotten members."""
        ...


class MemberMove(enum.Enum):
    """What may be changed of a member's seat: the calls of `Balancer`, by name."""

    JOIN = "join"
    ENABLE = "enable"
    DRAIN = "drain"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationChange:
    """One change of one member's seat."""

    move: MemberMove
    member: MemberName
    at: tuple[str, int] | None = None
    """Address and port, of a member that joins."""


@runtime_checkable
class Batched(Protocol):
    """A balancer that rather takes many changes in one go: one that is locked for a while by each, for example.

    It can be steered call by call all the same. What is handed over together is a pass's changes of it, up to the point
    where each member first needs something else.
    """

    def apply(self, changes: Sequence[RegistrationChange]) -> Sequence[DriverError | None]:
        """Make these changes, each member's in their order; what is so already is success.

        Returns:
            For each change, in order, what went wrong; ``None``: it is made. A change is not made if one of the same
            member before it was not: its answer is that one's.

        Raises:
            DriverError: none of them was answered; some may have been made.
        """
        ...


@runtime_checkable
class Reverting(Protocol):
    """A balancer that may come back with the seats of an earlier time, and give work where nobody is any more."""

    def unseat(self, member: MemberName) -> None:
        """Take its seat from a member that is proved gone. Not seated is success."""
        ...


@runtime_checkable
class Mending(Protocol):
    """A balancer that may come back as nobody can read it, and that whoever acts can put right by itself."""

    def mend(self) -> None:
        """Make it readable, without taking work from anybody who may be a member. What can be read is left alone.

        Raises:
            Permanent: only a person can.
        """
        ...


@runtime_checkable
class ListsForeignMembers(Protocol):
    """A balancer that can tell who else sits there: asked before a whole group is put behind it."""

    def occupants(self) -> Mapping[tuple[str, int], str]:
        """Everyone seated, whoever that is: (address in its shortest spelling, port) → the name there."""
        ...


@runtime_checkable
class Provisioner(Balancer, Protocol):
    """A balancer of a `config.model.managed.ManagedBalancer`, which is made and deleted part by part.

    What is made bears a name that tells installation and balancer, so that it is found again after an answer that was
    lost. What the file names by itself is found by that name or id, and never changed nor deleted. Where there is no
    pool yet nobody has a seat.
    """

    @property
    def declared(self) -> ManagedBalancer:
        """What it is to be."""
        ...

    def parts(self) -> Mapping[ManagedPart, PartStatus]:
        """What there is of it. Never partial: what cannot be read whole raises."""
        ...

    def create(self, part: ManagedPart, found: Mapping[ManagedPart, PartStatus]) -> None:
        """Begin to make a part of what is there already. There already is success.

        Raises:
            Transient: also while what it belongs to is pending.
        """
        ...

    def delete(self, part: ManagedPart, id: str) -> None:
        """Begin to delete a part that was made here. Not there is success. Raises as `create`."""
        ...

    def is_gone(self, part: ManagedPart, id: str) -> bool:
        """Whether the cloud says definitely that a part of this id, which was made here, does not exist.

        Raises:
            DriverError: it does not say, or refuses to.
        """
        ...

    def strangers(self) -> tuple[str, ...]:
        """Who sits in it under a name that is no launch id: they keep it from being deleted."""
        ...
