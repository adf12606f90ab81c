"""Looks at groups that events ask for: at once, and for each group at most one in ten seconds, however many come.

An event that comes meanwhile is not lost: the group is looked at once more when the time is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from config.units import GroupId, Seconds
from handler.runtime.loops import Guard

APART: Seconds = 10.0
_AT_ONCE = 2


class GroupLooks:
    """Keeps the looks that are under way. Lives on the event loop."""

    def __init__(
        self,
        look: Callable[[GroupId], Awaitable[object]],
        pause: Callable[[Seconds], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._look = look
        self._pause = pause
        self._tasks: dict[GroupId, asyncio.Task[None]] = {}
        self._again: set[GroupId] = set()
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def wanted(self, group: GroupId) -> bool:
        """Have a group looked at; returns whether that begins now, else it follows within ten seconds."""
        if group in self._tasks:
            self._again.add(group)
            return False
        self._tasks[group] = asyncio.create_task(self._keep(group), name="event-look")
        return True

    async def stop(self) -> None:
        """Give up every look."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep(self, group: GroupId) -> None:
        guard = Guard("event_look", group=group)
        try:
            while True:
                self._again.discard(group)
                async with self._turns:
                    await guard.run(lambda: self._look(group))
                await self._pause(APART)
                if group not in self._again:
                    return
        finally:
            del self._tasks[group]
