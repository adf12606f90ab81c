"""The groups of a service, in memory: whose turn it is before a group decides."""

from __future__ import annotations

from collections.abc import Mapping

from config.units import GroupId, Instant
from handler.runtime.rooms import Room
from trigger.guards.turns import Peer, ahead, peer
from trigger.requests import GroupState


class Services:
    """Knows who belongs together; `arrange` after every change of the file or of the groups."""

    def __init__(self, rooms: Mapping[GroupId, Room]) -> None:
        self._rooms = rooms
        self._together: dict[str, tuple[Room, ...]] = {}

    def arrange(self) -> None:
        """Look anew at which service each group names."""
        found: dict[str, list[Room]] = {}
        for room in self._rooms.values():
            service = room.definition.group.service
            if service is not None:
                found.setdefault(service, []).append(room)
        self._together = {service: tuple(rooms) for service, rooms in found.items()}

    def ahead(self, room: Room, states: Mapping[GroupId, GroupState], now: Instant) -> GroupId | None:
        """Which group of the same service comes before this one.

        Args:
            room: who wants to know.
            states: of groups that were decided about in the same breath; of all others memory counts.
            now: this moment.
        """
        service = room.definition.group.service
        if service is None:
            return None
        others = [_peer(other, states, now) for other in self._together.get(service, ()) if other is not room]
        return ahead(_peer(room, states, now), others)


def _peer(room: Room, states: Mapping[GroupId, GroupState], now: Instant) -> Peer:
    return peer(room.definition.group, states.get(room.id, room.state), room.fleet(), now)
