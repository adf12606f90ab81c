"""Pause the fleet: one record on disk, applied to every group in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

from config.units import GroupId, Instant
from handler import logs
from handler.ports.store import Store
from handler.runtime.decision_queue import DecisionQueue
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.loops import whole
from trigger.requests import FleetPause

Change = Callable[[FleetPause | None], FleetPause | None]


class FleetPauseControl:
    """Changes the pause of the fleet between two decisions, never beside one, once it is on disk."""

    def __init__(self, store: Store, queue: DecisionQueue, runtimes: Mapping[GroupId, GroupRuntime]) -> None:
        self._store = store
        self._queue = queue
        self._runtimes = runtimes
        self.pause: FleetPause | None = None

    async def recall(self) -> None:
        """Read what was in force when the daemon stopped. Groups are read with it."""
        self.pause = await asyncio.to_thread(self._store.fleet_pause)

    async def change(self, change: Change, *, act: str, by: str, message: str, at: Instant) -> FleetPause | None:
        """Pause, or let go on; groups are looked at at once.

        Raises:
            StoreError: it could not be written down, so nothing has changed.
        """
        async with self._queue.shut():
            await whole(self._carry_out(change, act=act, by=by, message=message, at=at))
        logs.say("act_on_all", act=act, by=by, message=message or None)
        return self.pause

    async def _carry_out(self, change: Change, *, act: str, by: str, message: str, at: Instant) -> None:
        after = change(self.pause)
        await asyncio.to_thread(self._store.save_fleet_pause, after, act, by, message, at)
        self.pause = after
        for runtime in self._runtimes.values():
            runtime.state = replace(runtime.state, fleet_pause=after)
            runtime.wake.set()
