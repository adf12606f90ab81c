"""Actions of people on one member, by its name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from config.errors import DriverError, Refused
from config.model.catalogue import Adjustment, AdjustmentVerb
from config.units import GroupId, MemberName
from handler.engine.engine import Engine
from handler.operations.lookup import NoSuch, last_record_of, nearest, record_of, refuse_unkept, runtime_of
from handler.operations.manual_requests import refuse_late, request_of
from handler.operations.member_actions import chosen, to_protect, to_replace, to_unprotect
from handler.operations.member_log import NO_OUTPUT, MemberLog, log_of
from handler.planning.member_details import CloseUp, close_up
from handler.planning.step_outcomes import StepOutcome
from handler.planning.world import Record
from handler.ports.orchestrator import KeepsOutput
from handler.ports.stored import Event
from handler.runtime.converging import hands_off
from handler.runtime.decision_task import DecisionTask
from handler.runtime.group_runtime import GroupRuntime
from trigger.requests import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedMember:
    """What the store has of one member."""

    record: Record | None
    """``None``: its cloud lists it, and it is not recorded yet."""
    events: tuple[Event, ...]
    """Its steps, and notes that name it, newest first."""


class MemberAdmin:
    """Every public method is one operation; the group's history records it with the person who asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def replace(self, group: GroupId, member: MemberName, *, by: str) -> None:
        """Replace a member: the new one is in service before this one leaves.

        Raises:
            Refused: it is not in service, or the group's members are not changed.
        """
        refuse_unkept(runtime_of(self._engine, group))
        await self._alter(group, member, "replace", by, to_replace)

    async def dismiss(self, group: GroupId, member: MemberName, *, force: bool, by: str) -> Decision:
        """Lower the size by one and have this member leave, or do neither.

        Raises:
            Refused: another group of the service scales first, or as `handler.operations.member_actions.chosen`.
        """
        runtime, parts = runtime_of(self._engine, group), self._engine.parts
        async with self._engine.keeper.between(runtime):
            found = await asyncio.to_thread(record_of, parts.store, group, member)
            now = parts.clock()
            leaving = (chosen(found, now.wall, force=force),)
            request = request_of(runtime, Adjustment(verb=AdjustmentVerb.REMOVE, amount=1), now, by=by, force=force)
            decision = await self._engine.queue.ask(
                DecisionTask(runtime=runtime, at=now, requests=(request,), leaving=leaving)
            )
        refuse_late(decision, request, f"delete {member}")
        return decision

    async def protect(self, group: GroupId, member: MemberName, *, protected: bool, by: str) -> None:
        """Protect this member from being chosen as surplus, or end its protection."""
        act = "protect" if protected else "unprotect"
        await self._alter(group, member, act, by, to_protect if protected else to_unprotect)

    async def observe(self, group: GroupId, member: MemberName) -> CloseUp:
        """Gather now; return what is known of one member, why, and what a pass would do about it."""
        runtime = runtime_of(self._engine, group)
        return await self._engine.keeper.look(runtime, lambda: self._seen(runtime, member))

    async def recorded(self, group: GroupId, member: MemberName, limit: int) -> RecordedMember:
        """Return what the store has of one member, also of one that is gone; at most ``limit`` events.

        Raises:
            NoSuch: the group has no such member, and none is remembered.
            StoreError: the store cannot be read.
        """
        runtime, store = runtime_of(self._engine, group), self._engine.parts.store
        seen = () if runtime.seen is None else runtime.seen.world.members

        def read() -> RecordedMember:
            try:
                record = last_record_of(store, group, member)
            except NoSuch:
                if member not in {each.name for each in seen}:
                    raise
                return RecordedMember(record=None, events=())
            events = store.member_history(group, member, since=record.intended_at, limit=limit)
            return RecordedMember(record=record, events=events)

        return await asyncio.to_thread(read)

    async def log(self, group: GroupId, member: MemberName, lines: int) -> MemberLog:
        """Return the end of what a member wrote on its console, also of one that has left, if that is still kept.

        Raises:
            NoSuch: the group has and had no such member.
            Refused: its cloud shows no output, or does not show it now, with the reason.
        """
        runtime, parts = runtime_of(self._engine, group), self._engine.parts

        def read() -> MemberLog:
            last_record_of(parts.store, group, member)
            cloud = runtime.definition.cloud
            driver = parts.converger.cloud(cloud)
            if not isinstance(driver, KeepsOutput):
                raise Refused(f"cloud {cloud.id} shows no output of its machines: {NO_OUTPUT}")
            try:
                output = driver.output(member, lines)
            except DriverError as error:
                raise Refused(f"the output of {member} cannot be read: {error}") from error
            if output is None:
                raise Refused(f"cloud {cloud.id} has no output of {member}: it is gone, or none was kept")
            return log_of(group, member, output, lines)

        return await asyncio.to_thread(read)

    async def converge(self, group: GroupId, member: MemberName, *, by: str) -> tuple[StepOutcome, ...]:
        """Make a pass for one member alone, without waiting for more evidence; return what was done.

        Raises:
            Refused: the group's members may not be changed now.
        """
        runtime, store = runtime_of(self._engine, group), self._engine.parts.store
        if hands_off(runtime):
            raise Refused(f"{group} is paused, ORPHANED or not in mode act: its members are not changed")
        await self._engine.keeper.look(runtime, lambda: self._seen(runtime, member))
        await asyncio.to_thread(store.note, group, "converge", by, str(member), self._engine.parts.clock().wall)
        done = await self._engine.keeper.converge(runtime, member)
        runtime.wake.set()
        return done.outcomes

    def _seen(self, runtime: GroupRuntime, member: MemberName) -> CloseUp:
        snapshot = self._engine.parts.converger.snapshot(runtime.stored())
        if (seen := close_up(member, snapshot)) is None:
            known = [each.name for each in snapshot.world.members]
            raise NoSuch(f"group {runtime.id} has no member {member}{nearest(member, known)}")
        return seen

    async def _alter(
        self, group: GroupId, member: MemberName, act: str, by: str, change: Callable[[Record], Record]
    ) -> None:
        runtime, store = runtime_of(self._engine, group), self._engine.parts.store
        now = self._engine.parts.clock().wall

        def altered() -> None:
            store.save((change(record_of(store, group, member)),), runtime.definition.cloud.id)
            store.note(group, act, by, str(member), now)

        await self._engine.keeper.alter(runtime, altered)
