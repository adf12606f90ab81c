"""Who acts on the store: this daemon, after its adoption by a person, or the worker that holds the lease."""

from __future__ import annotations

import asyncio
import socket

from config.errors import Refused
from config.units import GroupId
from handler import logs
from handler.engine.engine import Engine
from handler.leasing.workers import NO_WORKERS, ClusterStatus
from handler.operations.lookup import runtime_of
from handler.planning.status import AdoptedGroup, Adoption, StoreStatus
from handler.runtime.clock import boot_id
from handler.runtime.group_runtime import GroupRuntime
from trigger.guards.outdated_requests import confirmed


class StoreAdmin:
    """Shows, adopts and flushes the store; the groups' history records every adoption with the person who asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def status(self) -> StoreStatus:
        """Return whether this daemon acts, and the groups whose stores wait for a person."""
        generation, runtimes = self._engine.parts.converger.generation, self._engine.runtimes.values()
        rival = None if generation is None else generation.rival
        return StoreStatus(
            claim=None if generation is None else generation.own.text,
            superseded="" if rival is None else rival.words,
            unwritten={} if generation is None else generation.unwritten,
            doubted=tuple(sorted(runtime.id for runtime in runtimes if runtime.state.older is not None)),
            host=socket.gethostname(),
            boot=boot_id(),
        )

    async def adopt(self, group: GroupId | None, *, by: str) -> Adoption:
        """Accept the store of one group, or of every group in doubt, as the newest, and have this daemon act.

        Raises:
            Refused: the named group is not in doubt, or another daemon has claimed its members.
        """
        if group is None:
            return Adoption(claim=await self._claim(by), groups=await self._adopt_all(by))
        runtime = runtime_of(self._engine, group)
        if self._engine.parts.converger.rival is not None:
            raise Refused(
                "this daemon has stopped acting for another one that claimed the fleet: adopt the store of all groups"
            )
        if runtime.state.older is None:
            raise Refused(f"{group}: its store is not in doubt; nothing to adopt")
        return Adoption(claim=None, groups=(await self._adopt(runtime, by),))

    async def _claim(self, by: str) -> str | None:
        """Claim above every claim that was seen: from now on this daemon acts, and any other one stops."""
        generation = self._engine.parts.converger.generation
        if generation is None:
            return None
        claim = await asyncio.to_thread(generation.adopt)
        logs.say("store_adopted", claim=claim.text, by=by)
        for runtime in self._engine.runtimes.values():
            runtime.wake.set()
        return claim.text

    async def _adopt_all(self, by: str) -> tuple[AdoptedGroup, ...]:
        doubted = [runtime for runtime in self._engine.runtimes.values() if runtime.state.older is not None]
        return tuple([await self._adopt(runtime, by) for runtime in sorted(doubted, key=lambda runtime: runtime.id)])

    async def flush(self) -> None:
        """Write to the store what is only in memory, for example before a backup."""
        await asyncio.to_thread(self._engine.parts.store.flush)

    async def _adopt(self, runtime: GroupRuntime, by: str) -> AdoptedGroup:
        store = self._engine.parts.store
        async with self._engine.keeper.between(runtime):  # a running pass would find its old data and doubt again
            older, now = runtime.state.older, self._engine.parts.clock()
            if older is None:
                raise Refused(f"{runtime.id}: its store is not in doubt any more")
            await asyncio.to_thread(store.raise_sequence, runtime.id, older.sequence)  # first: else names repeat
            message = f"size {runtime.state.desired}, {older.found} members found"
            await self._engine.queue.change(runtime, confirmed, act="store_adopted", by=by, message=message, at=now)
        return AdoptedGroup(group=runtime.id, desired=runtime.state.desired, stored=older.stored, found=older.found)


class ClusterAdmin:
    """Shows the workers, and hands the lease over."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def status(self) -> ClusterStatus:
        """Return the lease and the workers; of a daemon that is none, that there are none."""
        cluster = self._engine.parts.cluster
        return NO_WORKERS if cluster is None else cluster.status()

    def hand_over(self) -> ClusterStatus:
        """Give the lease back soon, and return who could take it.

        Raises:
            Refused: this daemon is no worker, or no other worker could take over.
        """
        cluster = self._engine.parts.cluster
        if cluster is None:
            raise Refused("this daemon is no worker: it runs without --worker, alone over its store")
        cluster.hand_over()
        return cluster.status()
