"""The desk for the store itself: whether it is believed, and by whose word."""

from __future__ import annotations

import asyncio
import socket

from config.errors import Refused
from config.units import GroupId
from handler import logs
from handler.engine.engine import Engine
from handler.operations.lookup import room_of
from handler.planning.status import Adopted, Adoption, StoreStatus
from handler.runtime.clock import boot_id
from handler.runtime.group_runtime import GroupRuntime
from trigger.guards.outdated_requests import confirmed


class StoreDesk:
    """Every public method is one act; what it changes is recorded in the groups' history with who asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def status(self) -> StoreStatus:
        """Whether this daemon acts, and which groups' stores wait for a person."""
        generation, rooms = self._engine.parts.converger.generation, self._engine.rooms.values()
        rival = None if generation is None else generation.rival
        return StoreStatus(
            claim=None if generation is None else generation.own.text,
            superseded="" if rival is None else rival.words,
            unwritten={} if generation is None else generation.unwritten,
            doubted=tuple(sorted(room.id for room in rooms if room.state.older is not None)),
            host=socket.gethostname(),
            boot=boot_id(),
        )

    async def adopt(self, group: GroupId | None, *, by: str) -> Adoption:
        """Believe the store: of one group, or of every group that is in doubt, and have this daemon act.

        Raises:
            Refused: the group that is named is not in doubt, or another daemon keeps its members.
        """
        if group is None:
            return Adoption(claim=await self._claim(by), groups=await self._adopt_all(by))
        room = room_of(self._engine, group)
        if self._engine.parts.converger.rival is not None:
            raise Refused("this daemon has stopped acting for another one: adopt the whole store, without a group")
        if room.state.older is None:
            raise Refused(f"{group}: its store is not in doubt; nothing to adopt")
        return Adoption(claim=None, groups=(await self._adopt(room, by),))

    async def _claim(self, by: str) -> str | None:
        """Claim above every claim that was seen: from here on this daemon acts, and another one stops."""
        generation = self._engine.parts.converger.generation
        if generation is None:
            return None
        claim = await asyncio.to_thread(generation.adopt)
        logs.say("store_adopted", claim=claim.text, by=by)
        for room in self._engine.rooms.values():
            room.wake.set()
        return claim.text

    async def _adopt_all(self, by: str) -> tuple[Adopted, ...]:
        doubted = [room for room in self._engine.rooms.values() if room.state.older is not None]
        return tuple([await self._adopt(room, by) for room in sorted(doubted, key=lambda room: room.id)])

    async def flush(self) -> None:
        """Write down what is only in memory, for example before a backup."""
        await asyncio.to_thread(self._engine.parts.store.flush)

    async def _adopt(self, room: GroupRuntime, by: str) -> Adopted:
        store = self._engine.parts.store
        async with self._engine.keeper.between(room):  # a pass that goes on would find what it knew and doubt again
            older, now = room.state.older, self._engine.parts.clock()
            if older is None:
                raise Refused(f"{room.id}: its store is not in doubt any more")
            await asyncio.to_thread(store.raise_sequence, room.id, older.sequence)  # first: without it names come twice
            said = f"size {room.state.desired}, {older.found} members found"
            await self._engine.door.change(room, confirmed, act="store_adopted", by=by, message=said, at=now)
        return Adopted(group=room.id, desired=room.state.desired, stored=older.stored, found=older.found)
