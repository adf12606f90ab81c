"""Pauses of one group, and of the fleet: a group acts only where neither stops it."""

from __future__ import annotations

from collections.abc import Callable

from config.errors import Refused
from config.units import GroupId
from handler.engine.engine import Engine
from handler.operations.lookup import runtime_of
from handler.operations.manual_requests import stopping
from handler.planning.desired import Builds
from handler.ports.stored import fleet_pause_message, pause_message
from handler.runtime.group_runtime import GroupRuntime
from trigger.guards.pauses import fleet_paused, fleet_resumed, paused, resumed
from trigger.requests import FleetPause, GroupState, Pause
from trigger.verdicts import Direction


class PauseAdmin:
    """Pauses and resumes; the history records the person who asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def pause(self, group: GroupId, *, decisions_only: bool, direction: Direction | None = None, by: str) -> None:
        """Stop decisions, and (unless ``decisions_only``) convergence; or only changes in one direction."""
        pause = stopping(decisions_only, direction)
        await self._set_pause(
            group, lambda state: paused(state, pause), act="pause", message=pause_message(pause), by=by
        )

    async def resume(self, group: GroupId, *, direction: Direction | None = None, by: str) -> None:
        """End a pause, or only that of one direction.

        Raises:
            Refused: one direction is to end, but everything is paused.
        """

        def go_on(state: GroupState) -> GroupState:
            if direction is None:
                return paused(state, Pause.NO)
            if state.pause is Pause.ALL:
                raise Refused(
                    f"{group} is paused in both directions, and its convergence too: resume it without a direction"
                )
            return resumed(state, direction)

        message = "" if direction is None else pause_message(Pause(direction.value))
        runtime = runtime_of(self._engine, group)
        if runtime.state.pause is Pause.ALL and direction is None:
            await self._forget_failed_builds(runtime)
        await self._set_pause(group, go_on, act="resume", message=message, by=by)

    async def _forget_failed_builds(self, runtime: GroupRuntime) -> None:
        """End the wait after failed builds: what stopped them, a key of the cloud for one, may be put right by now."""
        if runtime.kept_builds != Builds():
            store = self._engine.parts.store
            await self._engine.keeper.alter(runtime, lambda: store.save_builds(runtime.id, Builds()))
            runtime.kept_builds = Builds()

    async def _set_pause(
        self, group: GroupId, transition: Callable[[GroupState], GroupState], *, act: str, message: str, by: str
    ) -> None:
        runtime = runtime_of(self._engine, group)
        await self._engine.queue.change(
            runtime, transition, act=act, by=by, message=message, at=self._engine.parts.clock()
        )
        runtime.wake.set()

    def fleet_pause(self) -> FleetPause | None:
        """Return the pause of all groups; ``None``: there is none."""
        return self._engine.fleet_pause_control.pause

    async def pause_all(
        self, *, decisions_only: bool, direction: Direction | None = None, because: str = "", by: str
    ) -> FleetPause | None:
        """Pause all groups, as `pause` does one; each group keeps its own pause as well."""
        pause, now = stopping(decisions_only, direction), self._engine.parts.clock().wall
        return await self._engine.fleet_pause_control.change(
            lambda before: fleet_paused(before, pause, by=by, because=because, now=now),
            act="pause_all",
            by=by,
            message=fleet_pause_message(pause, because),
            at=now,
        )

    async def resume_all(self, *, direction: Direction | None = None, by: str) -> FleetPause | None:
        """End the pause of all groups, or only that of one direction.

        Raises:
            Refused: one direction is to end, but everything is paused.
        """

        def go_on(before: FleetPause | None) -> FleetPause | None:
            if direction is not None and before is not None and before.pause is Pause.ALL:
                raise Refused(
                    "the fleet is paused in both directions, and its convergence too: resume it without a direction"
                )
            return fleet_resumed(before, direction)

        message = "" if direction is None else pause_message(Pause(direction.value))
        now = self._engine.parts.clock().wall
        return await self._engine.fleet_pause_control.change(go_on, act="resume_all", by=by, message=message, at=now)
