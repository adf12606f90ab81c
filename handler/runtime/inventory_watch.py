"""Watches groups with nothing to do by one inventory of their cloud an interval, instead of a pass of each.

A group is handed over when a pass leaves nothing to do, and taken back by anything that wakes it: a decision, a reload,
a person, or machines that differ. An inventory that does not come, or is partial, vouches for no group: each then looks
for itself at its next interval, as if there were no inventory.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from statistics import median_low

from config.model.catalogue import Cloud
from config.units import GroupId, Instant, Moment, Seconds
from handler.convergence.idle_groups import IdleGroup, IdleState
from handler.convergence.inventories import Compared
from handler.convergence.inventory import AskedListing
from handler.planning.world import Listing
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.loops import Guard, on_beat, whole

_LOOK: Seconds = 0.25
"""How often it is checked which clouds are due."""
_AT_ONCE = 8
"""Clouds that are read side by side."""
_TOGETHER = 50
"""Groups that get their news before other work on the event loop gets a turn."""
_VOUCHED = 1.5
"""Intervals for which one look at a group stands."""
_QUICK = 0.75
"""A group whose interval is shorter than so many of its cloud's usual ones is not watched: it looks for itself."""

Compare = Callable[[Cloud, Sequence[IdleGroup]], Compared]


@dataclass(slots=True)
class _Watched:
    """A group that is watched."""

    runtime: GroupRuntime
    idle: IdleGroup
    until: float
    """How long the last look at it stands, by the steady clock."""
    seen_at: Instant
    """When that look was asked for."""


class InventoryWatch:
    """Lives on the event loop; inventories are read in threads of its own.

    Args:
        compare: reads an inventory of a cloud (`handler.convergence.converge.Converger.compare`).
        clock: what time it is.
        same: called for each group that an inventory shows as it was.
    """

    def __init__(self, *, compare: Compare, clock: Callable[[], Moment], same: Callable[[GroupRuntime], None]) -> None:
        self._compare = compare
        self._clock = clock
        self._same = same
        self._watched: dict[GroupId, _Watched] = {}
        self._due: dict[Cloud, float] = {}
        """When each cloud is to be read next, by the steady clock."""
        self._reading: dict[Cloud, asyncio.Task[None]] = {}
        self._guards: dict[Cloud, Guard] = {}
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="inventory")
        self._loop: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to read."""
        if self._loop is None:
            self._loop = asyncio.create_task(self._run(), name="inventory")

    async def stop(self) -> None:
        """End after the readings under way."""
        tasks = [*self._reading.values(), *([] if self._loop is None else [self._loop])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(self._threads.shutdown, wait=True)

    def watch(self, runtime: GroupRuntime, idle: IdleGroup | None) -> None:
        """Watch a group after a pass; ``None``: the pass left something to do."""
        if idle is None:
            self._watched.pop(runtime.id, None)
            return
        interval, steady = runtime.definition.group.interval, self._clock().steady
        self._watched[runtime.id] = _Watched(runtime, idle, steady + _VOUCHED * interval, idle.since)
        self._due.setdefault(idle.definition.cloud, steady + interval)

    def vouches(self, runtime: GroupRuntime) -> bool:
        """Return whether a group needs no pass now."""
        watched = self._watched.get(runtime.id)
        return watched is not None and self._clock().steady < watched.until and _stands(watched)

    def kept(self, runtime: GroupRuntime) -> AskedListing | None:
        """Return the last look at a group whose only change since is that it is to have more members."""
        watched = self._watched.get(runtime.id)
        if (
            watched is None
            or self._clock().steady >= watched.until
            or runtime.definition is not watched.idle.definition
        ):
            return None
        size, before = runtime.state.desired, watched.idle.state.desired
        rolls = runtime.roll is not None and runtime.roll.runs
        if size is None or before is None or size <= before or rolls or runtime.deleting or runtime.accept_vanished:
            return None
        servers = tuple(watched.idle.servers.values())
        return AskedListing(asked_at=watched.seen_at, listing=Listing(servers=servers, complete=True), kept=True)

    def follow(self, _: Seconds) -> None:
        """Watch no group until its next pass: the clock was set."""
        self._watched.clear()

    async def _run(self) -> None:
        while True:
            await on_beat(_LOOK)
            self._begin()

    def _begin(self) -> None:
        """Begin to read the clouds that are due."""
        now = self._clock().steady
        due = {cloud for cloud, at in self._due.items() if at <= now and cloud not in self._reading}
        if not due:
            return
        groups: defaultdict[Cloud, list[_Watched]] = defaultdict(list)
        for watched in self._watched.values():
            if watched.idle.definition.cloud in due and _stands(watched):
                groups[watched.idle.definition.cloud].append(watched)
        for cloud in due:
            if not groups[cloud]:
                del self._due[cloud]
                continue
            usual = median_low(each.idle.definition.group.interval for each in groups[cloud])
            self._due[cloud] = now + usual
            some = [each for each in groups[cloud] if each.idle.definition.group.interval >= _QUICK * usual]
            self._reading[cloud] = asyncio.create_task(self._read(cloud, some), name=f"inventory-{cloud.id}")

    async def _read(self, cloud: Cloud, groups: Sequence[_Watched]) -> None:
        try:
            guard = self._guards.setdefault(cloud, Guard("inventory", cloud=cloud.id))
            await guard.run(partial(self._compared, cloud, groups))
        finally:
            del self._reading[cloud]

    async def _compared(self, cloud: Cloud, groups: Sequence[_Watched]) -> None:
        idle = [each.idle for each in groups]
        loop = asyncio.get_running_loop()

        async def read() -> Compared:
            return await loop.run_in_executor(self._threads, self._compare, cloud, idle)

        compared = await whole(read())
        for number, each in enumerate(groups, 1):
            self._note_outcome(each, compared.found.get(each.runtime.id, IdleState.SILENT), compared.asked_at)
            if number % _TOGETHER == 0:
                await asyncio.sleep(0)

    def _note_outcome(self, each: _Watched, what: IdleState, asked_at: Instant) -> None:
        """Take in what an inventory shows of a group, unless a pass or a change came between."""
        if self._watched.get(each.runtime.id) is not each or not _stands(each):
            return
        if what is IdleState.SAME:
            now = self._clock()
            each.seen_at = asked_at
            each.until = now.steady + _VOUCHED * each.runtime.definition.group.interval
            if each.idle.state.desired is not None:
                each.runtime.converged_at = now.wall
            self._same(each.runtime)
        elif what is IdleState.OTHER:
            del self._watched[each.runtime.id]
            each.runtime.wake.set()


def _stands(watched: _Watched) -> bool:
    """Return whether the group is still what its last pass went by, and nothing has woken it."""
    runtime, idle = watched.runtime, watched.idle
    same = runtime.definition is idle.definition and idle.goes_by(runtime.state)
    rolls = runtime.roll is not None and runtime.roll.runs
    return same and not (runtime.deleting or runtime.accept_vanished or rolls or runtime.wake.is_set())
