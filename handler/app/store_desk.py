"""The desk for the store itself: whether it is believed, and by whose word. Implements `handler.web.daemon.Stores`."""

from __future__ import annotations

import asyncio

from config.errors import Refused
from config.units import GroupId
from handler.app.engine import Engine
from handler.app.finding import room_of
from handler.app.rooms import Room
from handler.status import Adopted
from trigger.older import confirmed


class StoreDesk:
    """Every public method is one act; what it changes is recorded in the groups' history with who asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def adopt(self, group: GroupId | None, *, by: str) -> tuple[Adopted, ...]:
        """Believe the store: of one group, or of every group that is in doubt.

        Raises:
            Refused: the group that is named is not in doubt.
        """
        rooms = [room_of(self._engine, group)] if group is not None else list(self._engine.rooms.values())
        doubted = [room for room in rooms if room.state.older is not None]
        if group is not None and not doubted:
            raise Refused(f"{group}: its store is not in doubt; nothing to adopt")
        return tuple([await self._adopt(room, by) for room in sorted(doubted, key=lambda room: room.id)])

    async def flush(self) -> None:
        """Write down what is only in memory, for example before a backup."""
        await asyncio.to_thread(self._engine.parts.store.flush)

    async def _adopt(self, room: Room, by: str) -> Adopted:
        store, older, now = self._engine.parts.store, room.state.older, self._engine.parts.clock()
        if older is None:
            raise Refused(f"{room.id}: its store is not in doubt any more")
        await asyncio.to_thread(store.raise_sequence, room.id, older.sequence)  # first: without it names come twice
        said = f"size {room.state.desired}, {older.found} members found"
        await self._engine.door.change(room, confirmed, act="store_adopted", by=by, message=said, at=now)
        room.wake.set()
        return Adopted(group=room.id, desired=room.state.desired, stored=older.stored, found=older.found)
