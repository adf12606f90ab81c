"""Adoption of existing machines into a group, and eviction of members from it.

One transaction writes the size and the member's record: after a crash at any moment either both are stored or neither.
Convergence does the rest: it writes the mark, or removes it.
"""

from __future__ import annotations

import asyncio

from config.errors import DriverError, Refused
from config.model.catalogue import Adjustment, AdjustmentVerb
from config.units import GroupId, MemberName
from handler.engine.engine import Engine
from handler.operations.lookup import NoSuch, record_of, refuse_unkept, runtime_of
from handler.operations.manual_requests import refuse_forced, refuse_late, request_of
from handler.operations.member_actions import evicted, given
from handler.planning.launches import LaunchId
from handler.planning.world import Server
from handler.ports.orchestrator import Orchestrator
from handler.runtime.decision_task import DecisionTask
from handler.runtime.group_runtime import GroupRuntime
from trigger.requests import Decision


class MemberAdoption:
    """Adopts and evicts. One adoption at a time, so that no machine joins two groups."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turn = asyncio.Lock()

    async def adopt(self, group: GroupId, named: str, *, force: bool, by: str) -> Decision:
        """Raise the size by one and have this machine join, or do neither.

        Raises:
            NoSuch: the cloud has no such machine.
            Refused: it has a mark, is being adopted already, does not run, or cannot be marked in this cloud; another
                group of the service scales first; or the account's quota has no room for it.
        """
        runtime, parts = runtime_of(self._engine, group), self._engine.parts
        cloud = self._cloud(runtime)
        async with self._turn:
            server = await asyncio.to_thread(self._foreign_member, cloud, runtime, named)
            async with self._engine.keeper.between(runtime):
                last = await asyncio.to_thread(parts.store.last_sequence, group)
                launch = LaunchId(installation=parts.converger.installation, group=group, sequence=last + 1)
                if force:
                    await refuse_forced(self._engine, runtime, (runtime.state.desired or 0) + 1, "adopt", by)
                now = parts.clock()
                record = given(launch, server, runtime.definition, now.wall)
                request = request_of(runtime, Adjustment(verb=AdjustmentVerb.ADD, amount=1), now, by=by, force=force)
                question = DecisionTask(runtime=runtime, at=now, requests=(request,), joining=(record,))
                decision = await self._engine.queue.ask(question)
        refuse_late(decision, request, f"adopt {named}")
        await self._note(decision, group, "adopt", by, f"{server.name} ({server.id}) as {record.name}")
        return decision

    async def evict(self, group: GroupId, member: MemberName, *, force: bool, by: str) -> Decision:
        """Lower the size by one and have this member leave without deleting its machine, or do neither.

        Raises:
            Refused: its mark cannot be removed in this cloud, another group of the service scales first, or as
                `handler.operations.member_actions.evicted`.
        """
        runtime, parts = runtime_of(self._engine, group), self._engine.parts
        self._cloud(runtime)
        async with self._engine.keeper.between(runtime):
            found = await asyncio.to_thread(record_of, parts.store, group, member)
            now = parts.clock()
            leaving = (evicted(found, now.wall, force=force),)
            request = request_of(runtime, Adjustment(verb=AdjustmentVerb.REMOVE, amount=1), now, by=by, force=force)
            decision = await self._engine.queue.ask(
                DecisionTask(runtime=runtime, at=now, requests=(request,), leaving=leaving)
            )
        refuse_late(decision, request, f"evict {member}")
        await self._note(decision, group, "evict", by, str(member))
        return decision

    async def exchange(self, group: GroupId, member: MemberName, *, force: bool, by: str) -> None:
        """Evict a member and keep the size, so that convergence makes another one. Raises as `evict`."""
        runtime, store = runtime_of(self._engine, group), self._engine.parts.store
        self._cloud(runtime)
        refuse_unkept(runtime)
        now = self._engine.parts.clock().wall

        def altered() -> None:
            record = evicted(record_of(store, group, member), now, force=force)
            store.save((record,), runtime.definition.cloud.id)
            store.note(group, "evict", by, f"{member}, to be replaced", now)

        await self._engine.keeper.alter(runtime, altered)

    def _cloud(self, runtime: GroupRuntime) -> Orchestrator:
        """Return the group's cloud; raise `Refused` if marks cannot be written there."""
        cloud = self._engine.parts.converger.cloud(runtime.definition.cloud)
        if cloud.fixed_marks:
            raise Refused(cloud.fixed_marks)
        return cloud

    def _foreign_member(self, cloud: Orchestrator, runtime: GroupRuntime, named: str) -> Server:
        try:
            server = cloud.foreign_member(named)
        except DriverError as error:
            raise Refused(str(error)) from error
        where = runtime.definition.cloud.id
        if server is None:
            raise NoSuch(f"cloud {where} has no machine {named}")
        for other in self._engine.runtimes.values():
            for record in self._engine.parts.store.members(other.id):
                if record.given and record.server_id == server.id and other.definition.cloud.id == where:
                    raise Refused(f"{named} is being adopted already, as {record.name}")
        return server

    async def _note(self, decision: Decision, group: GroupId, act: str, by: str, message: str) -> None:
        if decision.winner is not None and decision.changed:  # mode advise changes nothing
            store, now = self._engine.parts.store, self._engine.parts.clock().wall
            await asyncio.to_thread(store.note, group, act, by, message, now)
