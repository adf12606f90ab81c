"""The port to a balancer. A driver raises exactly `Transient` and `Permanent`. All calls are idempotent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from config.units import MemberName
from handler.world import Seat


class Balancer(Protocol):
    """Seats members and takes them away, always by name. Seats of others are never listed or touched."""

    def seats(self) -> Mapping[MemberName, Seat]:
        """Everyone seated under a name that is a launch id. Never partial: what cannot be read whole raises."""
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
