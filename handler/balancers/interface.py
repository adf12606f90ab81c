"""The port to a balancer. A driver raises exactly `Transient` and `Permanent`. All calls are idempotent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from config.units import MemberName
from handler.world import Seat


class Balancer(Protocol):
    """Seats members and takes them away, always by name. Seats of others are never listed or touched."""

    def seats(self) -> Mapping[MemberName, Seat]:
        """Everyone seated under a name that is a launch id. Never partial: what cannot be read whole raises.

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


@runtime_checkable
class Attendance(Protocol):
    """A balancer that can tell who else sits there: asked before a whole group is put behind it."""

    def occupants(self) -> Mapping[tuple[str, int], str]:
        """Everyone seated, whoever that is: (address in its shortest spelling, port) → the name there."""
        ...
