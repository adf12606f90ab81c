"""The port to a balancer. A driver raises exactly `Transient` and `Permanent`. All calls are idempotent."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from config.errors import DriverError, Transient, Unsent
from config.model.managed import ManagedBalancer, ManagedPart
from config.units import MemberName, Seconds
from handler.planning.launches import LaunchId
from handler.planning.provisioning import PartStatus
from handler.planning.world import Registration


class PartlyRead(Transient):
    """Some processes of a balancer do not answer: its registrations are not known, except with those that do.

    Members can come into service where it answers, and none leaves.
    """

    def __init__(
        self, message: str, *, registrations: Mapping[MemberName, Registration], retry_after: Seconds | None = None
    ) -> None:
        super().__init__(message, retry_after=retry_after)
        self.registrations = registrations


class PartlyUnsent(PartlyRead, Unsent):
    """As `PartlyRead`; to the processes that do not answer nothing was sent now."""


class Balancer(Protocol):
    """Register and deregister members, always by name. Foreign registrations are never listed or touched."""

    def registrations(self) -> Mapping[MemberName, Registration]:
        """Return every registration under a name that is a launch id. Never partial: an incomplete answer raises.

        A balancer is registered, unreadable or not found (`handler.convergence.lost_balancers`): this returns
        registrations, raises `Transient` (`PartlyRead`, if a part of it answers) or `Permanent`, or raises `NotFound`
        with proof.

        The health is ``None`` without a check, and FAILING only for a state that means *this member does not answer*;
        any other state, and any state that is not known, is UNKNOWN:

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
        """Register a member as PARKED. Registered already with this address is success."""
        ...

    def enable(self, member: MemberName) -> None:
        """Have the balancer send it work."""
        ...

    def drain(self, member: MemberName) -> None:
        """Have the balancer send it nothing new. Not registered is success."""
        ...

    def leave(self, member: MemberName) -> None:
        """Deregister it. Not registered is success."""
        ...

    def incarnation(self) -> str:
        """Return a value that changes when the balancer restarts or reloads, and may have lost members."""
        ...


class MemberMove(enum.Enum):
    """The changes of a member's registration: the calls of `Balancer`, by name."""

    JOIN = "join"
    ENABLE = "enable"
    DRAIN = "drain"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationChange:
    """One change of one member's registration."""

    move: MemberMove
    member: MemberName
    at: tuple[str, int] | None = None
    """Address and port, of a member that joins."""


@runtime_checkable
class Batched(Protocol):
    """A balancer that prefers many changes in one call: for example one that every change locks for a while.

    Single calls work, too. One batch holds a pass's changes of the balancer, up to the first step of each member
    elsewhere; what comes after steps at other balancers of this kind is another batch.
    """

    def apply(self, changes: Sequence[RegistrationChange]) -> Sequence[DriverError | None]:
        """Make these changes, each member's in their order; a change that already holds is success.

        Returns:
            For each change, in order, its error; ``None``: it is made. A change that may yet be made is `Transient`. A
            change is not made if an earlier one of the same member failed: it gets the same error.

        Raises:
            DriverError: none of them was answered; some may have been made.
        """
        ...


@runtime_checkable
class Reverting(Protocol):
    """A balancer that may come back with earlier registrations, and send work to gone members."""

    def deregister(self, member: MemberName) -> None:
        """Deregister a member that is proved gone. Not registered is success."""
        ...


@runtime_checkable
class Correcting(Protocol):
    """A balancer that may come back unreadable, and that an acting daemon can repair."""

    def correct(self) -> None:
        """Make it readable, without taking work from a possible member. A readable balancer is left alone.

        Raises:
            Permanent: only a person can.
        """
        ...


@runtime_checkable
class ListsForeignMembers(Protocol):
    """A balancer that can list foreign registrations: read before a group is attached to it."""

    def occupants(self) -> Mapping[tuple[str, int], str]:
        """Return every registration, foreign ones too: (address in its shortest spelling, port) → the name there."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """Everything that is registered with a balancer."""

    registrations: Mapping[MemberName, Registration]
    """As `Balancer.registrations` returns them."""
    foreign: tuple[str, ...] = ()
    """Names of the foreign registrations, sorted."""


@runtime_checkable
class ListsForeignMachines(Protocol):
    """A balancer that lists foreign machines in the same answer as members, without a place for each."""

    def registered(self) -> Registered:
        """Return everything that is registered. Never partial; raises as `Balancer.registrations`."""
        ...


def registered_with(balancer: Balancer, installation: str | None) -> Registered:
    """Return everything that is registered with a balancer.

    A balancer that lists no foreign registrations has none: only Trimtab can register there.

    Args:
        balancer: to be read.
        installation: members of another one are foreign, too; ``None``: those of none are.

    Raises:
        DriverError: it cannot be read whole.
    """
    if isinstance(balancer, ListsForeignMachines):
        found = balancer.registered()
    else:
        registrations = balancer.registrations()
        names = balancer.occupants().values() if isinstance(balancer, ListsForeignMembers) else ()
        foreign = tuple(name for name in names if LaunchId.parse(name) is None)
        found = Registered(registrations=registrations, foreign=foreign)
    launches = ((name, LaunchId.parse(name)) for name in (found.registrations if installation is not None else ()))
    others = (name for name, launch in launches if launch is None or launch.installation != installation)
    return replace(found, foreign=tuple(sorted({*found.foreign, *others})))


@runtime_checkable
class Provisioner(Balancer, Protocol):
    """A balancer of a `config.model.managed.ManagedBalancer`, which is made and deleted part by part.

    Created parts bear a name with the installation and the balancer, so that they are found again after a lost answer.
    Parts that the file names are found by that name or id, and never changed or deleted. Without a pool there are no
    registrations.
    """

    @property
    def declared(self) -> ManagedBalancer:
        """The declaration of the balancer."""
        ...

    def parts(self) -> Mapping[ManagedPart, PartStatus]:
        """Return its existing parts. Never partial: an incomplete answer raises."""
        ...

    def create(self, part: ManagedPart, found: Mapping[ManagedPart, PartStatus]) -> None:
        """Begin to create a part. A part that exists already is success.

        Raises:
            Transient: also while the part that it belongs to is pending.
        """
        ...

    def delete(self, part: ManagedPart, id: str) -> None:
        """Begin to delete a part that Trimtab created. A missing part is success. Raises as `create`."""
        ...

    def is_gone(self, part: ManagedPart, id: str) -> bool:
        """Return whether a part of this id, which Trimtab created, definitely does not exist.

        Raises:
            DriverError: the cloud does not answer, or refuses to.
        """
        ...

    def foreign(self) -> tuple[str, ...]:
        """Return the registrations under names that are no launch ids: they prevent its deletion."""
        ...
