"""Looks at groups that events ask for: at once, and for each group at most one in ten seconds, however many come.

An event that comes meanwhile is not lost: the group is looked at once more when the time is over. Whatever brings an
event, a webhook or a message bus, only the look that follows says how the group is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from config.units import GroupId, Seconds
from handler.ingest.capabilities.events import CloudNews
from handler.planning.launches import LaunchId
from handler.runtime.group_runtime import GroupRuntime, LastPass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LooksBegun:
    """The groups that an event concerns."""

    now: tuple[GroupId, ...]
    """They are looked at at once."""
    soon: tuple[GroupId, ...]
    """They were looked at within the last ten seconds, and are again when those are over."""


class EventLooks:
    """Has the groups looked at that an event concerns. Lives on the event loop.

    Args:
        runtimes: the groups that there are, as they are now.
        look: looks at one of them.
    """

    def __init__(
        self, runtimes: Mapping[GroupId, GroupRuntime], look: Callable[[GroupRuntime], Awaitable[object]]
    ) -> None:
        self._runtimes = runtimes
        self._look = look
        self._looks = GroupLooks(self._look_at)
        self._seen: dict[GroupId, _Seen] = {}

    def take(self, news: CloudNews, groups: Iterable[GroupId]) -> LooksBegun:
        """Have those of ``groups`` looked at that an event concerns; groups that are gone are passed over."""
        there = (self._runtimes[group] for group in groups if group in self._runtimes)
        begun = {runtime.id: self._looks.wanted(runtime.id) for runtime in self._concerned(news, there)}
        return LooksBegun(
            now=tuple(group for group, at_once in begun.items() if at_once),
            soon=tuple(group for group, at_once in begun.items() if not at_once),
        )

    async def stop(self) -> None:
        """Give up every look."""
        await self._looks.stop()

    def forget(self, group: GroupId) -> None:
        """A group is gone."""
        self._seen.pop(group, None)

    def _concerned(self, news: CloudNews, runtimes: Iterable[GroupRuntime]) -> list[GroupRuntime]:
        """Return the groups that an event may be about: by name, by a name that Trimtab gave, or by what was seen."""
        launched = None if news.member is None else LaunchId.parse(news.member)
        group = news.group if launched is None or news.group is not None else launched.group
        if group is not None:
            return [runtime for runtime in runtimes if runtime.id == group]
        if news.member is None and news.machine is None:
            return list(runtimes)
        return [runtime for runtime in runtimes if self._has(runtime, news)]

    def _has(self, runtime: GroupRuntime, news: CloudNews) -> bool:
        seen = self._seen_of(runtime)
        return seen is not None and (news.member in seen.names or news.machine in seen.machines)

    def _seen_of(self, runtime: GroupRuntime) -> _Seen | None:
        """Return what the group's last pass saw; a bus has events of all machines of its cloud, many in a second."""
        if runtime.seen is None:
            return None
        known = self._seen.get(runtime.id)
        if known is None or known.done is not runtime.seen:
            known = self._seen[runtime.id] = _Seen.by(runtime.seen)
        return known

    async def _look_at(self, group: GroupId) -> None:
        if group in self._runtimes:  # it may be gone by its turn
            await self._look(self._runtimes[group])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """The members of a group that a pass has seen, by which events know them."""

    done: LastPass
    names: frozenset[str]
    machines: frozenset[str]
    """Their ids in the cloud."""

    @classmethod
    def by(cls, done: LastPass) -> _Seen:
        members = done.world.members
        machines = frozenset(member.server.id for member in members if member.server is not None)
        return cls(done=done, names=frozenset(member.name for member in members), machines=machines)
