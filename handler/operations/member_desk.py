"""The desk for members: what people may ask to be done to one of them, by name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from config.errors import Refused
from config.model.catalogue import Adjustment, AdjustmentVerb
from config.units import GroupId, MemberName
from handler.engine.engine import Engine
from handler.operations.lookup import nearest, record_of, room_of
from handler.operations.manual_requests import wish_of
from handler.operations.member_actions import chosen, to_protect, to_replace, to_unprotect
from handler.operations.outcomes import NoSuch
from handler.planning.member_details import CloseUp, close_up
from handler.planning.step_outcomes import StepOutcome
from handler.planning.world import Record
from handler.runtime.converging import hands_off
from handler.runtime.decision_queue import DecisionTask
from handler.runtime.group_runtime import GroupRuntime
from trigger.requests import Decision


class MemberDesk:
    """Every public method is one act; each is recorded in the group's history with who asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def replace(self, group: GroupId, member: MemberName, *, by: str) -> None:
        """Have another member in this one's place: the new one comes first."""
        await self._alter(group, member, "replace", by, to_replace)

    async def dismiss(self, group: GroupId, member: MemberName, *, force: bool, by: str) -> Decision:
        """Lower the size by one, and have this very member leave for it."""
        room, parts = room_of(self._engine, group), self._engine.parts
        async with self._engine.keeper.between(room):
            found = await asyncio.to_thread(record_of, parts.store, group, member)
            now = parts.clock()
            leaving = (chosen(found, now.wall, force=force),)
            request = wish_of(room, Adjustment(verb=AdjustmentVerb.REMOVE, amount=1), now, by=by, force=force)
            return await self._engine.door.ask(DecisionTask(room=room, at=now, requests=(request,), leaving=leaving))

    async def protect(self, group: GroupId, member: MemberName, *, protected: bool, by: str) -> None:
        """Never choose this member as surplus (or do so again)."""
        act = "protect" if protected else "unprotect"
        await self._alter(group, member, act, by, to_protect if protected else to_unprotect)

    async def observe(self, group: GroupId, member: MemberName) -> CloseUp:
        """Look now, and say all that is known of one member, why, and what a pass would do about it."""
        room = room_of(self._engine, group)
        return await asyncio.to_thread(self._seen, room, member)

    async def converge(self, group: GroupId, member: MemberName, *, by: str) -> tuple[StepOutcome, ...]:
        """Make a pass for one member alone; what is seen of it is believed. Answers what was done.

        Raises:
            Refused: nothing may be done to members of this group now.
        """
        room, store = room_of(self._engine, group), self._engine.parts.store
        if hands_off(room):
            raise Refused(f"{group} is paused, ORPHANED or not in mode act: nothing is done to its members")
        await asyncio.to_thread(self._seen, room, member)
        await asyncio.to_thread(store.note, group, "converge", by, str(member), self._engine.parts.clock().wall)
        done = await self._engine.keeper.converge(room, member)
        room.wake.set()
        return done.outcomes

    def _seen(self, room: GroupRuntime, member: MemberName) -> CloseUp:
        snapshot = self._engine.parts.converger.snapshot(room.stored())
        if (seen := close_up(member, snapshot)) is None:
            known = [each.name for each in snapshot.world.members]
            raise NoSuch(f"group {room.id} has no member {member}{nearest(member, known)}")
        return seen

    async def _alter(
        self, group: GroupId, member: MemberName, act: str, by: str, change: Callable[[Record], Record]
    ) -> None:
        room, store = room_of(self._engine, group), self._engine.parts.store
        now = self._engine.parts.clock().wall

        def altered() -> None:
            store.save((change(record_of(store, group, member)),), room.definition.cloud.id)
            store.note(group, act, by, str(member), now)

        await self._engine.keeper.alter(room, altered)
