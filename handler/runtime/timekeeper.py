"""Follows the system's clock when it is set, once everything that is measured by it has moved with it.

See Note [Steps of the clock] in `handler.ports.held_clock`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace

from collector.outages.heard import PolledChannels
from collector.outages.outages import Silence
from config.errors import StoreError
from config.units import GroupId, Instant, MemberName, Seconds
from handler import logs
from handler.planning.desired import Builds
from handler.planning.limits import limited_builds, limited_state
from handler.planning.rolls import Roll
from handler.planning.status import StateSince
from handler.ports.held_clock import LEAST_STEP, ClockDifference, HeldClock
from handler.ports.store import Store
from handler.runtime.converging import Keeper
from handler.runtime.decision_queue import DecisionQueue
from handler.runtime.group_runtime import GroupRuntime, LastPass
from trigger.moving import moved
from trigger.requests import Fleet, GroupState

_PATIENCE: Seconds = 10.0
"""For passes that run, at each look."""
_LOOKS = 6
"""After so many looks in vain the clock is followed although passes run."""


class Timekeeper:
    """Watches the clock of one daemon."""

    def __init__(  # noqa: PLR0913 - the composition root's list
        self,
        *,
        clock: HeldClock,
        boot: str,
        store: Store,
        runtimes: Mapping[GroupId, GroupRuntime],
        keeper: Keeper,
        queue: DecisionQueue,
        follow: Sequence[Callable[[Seconds], None]],
    ) -> None:
        self._clock = clock
        self._boot = boot
        self._store = store
        self._runtimes = runtimes
        self._keeper = keeper
        self._queue = queue
        self._follow = follow
        self._waited = 0

    async def recall(self) -> None:
        """At a start, before any group is read: move what is on disk by what the clock was set meanwhile.

        Raises:
            StoreError: it cannot be read or written.
        """
        before, now = await asyncio.to_thread(self._store.clock), self._difference(0.0)
        step = 0.0 if before is None else before.step_to(now)
        changed = await asyncio.to_thread(self._store.retime, step, self._clock.wall(), now)
        if step or changed:
            logs.warn("clock_set", by=f"{step:+.0f}s", changed=changed, when="while no daemon ran")

    async def look(self) -> None:
        """Follow the system's clock if it was set."""
        step = self._clock.departed()
        if abs(step) < LEAST_STEP:
            self._clock.follow(step)
            return
        async with contextlib.AsyncExitStack() as stack:
            if not await self._stopped(stack):
                return
            await stack.enter_async_context(self._queue.shut())
            await self._move(self._clock.departed())
        for runtime in self._runtimes.values():
            runtime.wake.set()

    async def _stopped(self, stack: contextlib.AsyncExitStack) -> bool:
        """Wait until no pass runs; whether the clock may be followed now."""
        self._waited += 1
        try:
            async with asyncio.timeout(_PATIENCE):
                await stack.enter_async_context(self._between_passes())
        except TimeoutError:
            return self._waited >= _LOOKS
        return True

    @contextlib.asynccontextmanager
    async def _between_passes(self) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as turns:
            for runtime in list(self._runtimes.values()):
                await turns.enter_async_context(self._keeper.between(runtime))
            yield

    async def _move(self, step: Seconds) -> None:
        now = Instant(self._clock.wall() + step)
        try:
            changed = await asyncio.to_thread(self._store.retime, step, now, self._difference(step))
        except StoreError as error:
            logs.warn("clock_not_followed", by=f"{step:+.0f}s", error=str(error))
            return  # the clock stays held, and the next look tries again
        for runtime in self._runtimes.values():
            _move(runtime, step, now)
        for follow in self._follow:
            follow(step)
        self._clock.follow(step)
        self._waited = 0
        logs.warn("clock_set", by=f"{step:+.0f}s", changed=changed, when="while the daemon ran")

    def _difference(self, step: Seconds) -> ClockDifference:
        now = self._clock.moment()
        return ClockDifference(boot=self._boot, seconds=now.wall + step - now.steady)


def _move(runtime: GroupRuntime, step: Seconds, now: Instant) -> None:
    runtime.state = limited_state(moved(runtime.state, GroupState, step), now)
    runtime.kept_builds = limited_builds(moved(runtime.kept_builds, Builds, step), now)
    runtime.silence = moved(runtime.silence, Silence, step)
    runtime.heard = moved(runtime.heard, PolledChannels, step)
    runtime.decided_at = moved(runtime.decided_at, Instant | None, step)
    runtime.converged_at = moved(runtime.converged_at, Instant | None, step)
    runtime.roll = moved(runtime.roll, Roll | None, step)
    runtime.begun = moved(runtime.begun, Mapping[MemberName, StateSince], step)
    runtime.begun_on_disk = moved(runtime.begun_on_disk, Mapping[MemberName, StateSince], step)
    runtime.seen = None if runtime.seen is None else _seen(runtime.seen, step)


def _seen(seen: LastPass, step: Seconds) -> LastPass:
    return replace(seen, at=Instant(seen.at + step), fleet=moved(seen.fleet, Fleet, step))
