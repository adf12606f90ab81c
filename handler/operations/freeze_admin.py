"""Freezes of groups by persons; the history records each with its end."""

from __future__ import annotations

from config.errors import Refused
from config.model.effects import FrozenDirection
from config.units import GroupId, Seconds
from handler.engine.engine import Engine
from handler.operations.lookup import runtime_of
from handler.ports.stored import freeze_message
from trigger.policies.manual_freezes import frozen, unfrozen
from trigger.requests import GroupState


class FreezeAdmin:
    """Begins and ends freezes. Whatever else freezes a group, an alert or a declared window, goes on beside them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def freeze(
        self, group: GroupId, direction: FrozenDirection, lasts: Seconds, *, because: str = "", by: str
    ) -> None:
        """Keep policies and alarms from changing a group's size for so many seconds.

        Raises:
            NoSuch: there is no such group.
        """
        runtime, now = runtime_of(self._engine, group), self._engine.parts.clock()
        await self._engine.queue.change(
            runtime,
            lambda state: frozen(state, direction, lasts, by=by, because=because, now=now.wall),
            act="freeze",
            by=by,
            message=freeze_message(direction, lasts, because),
            at=now,
        )

    async def unfreeze(self, group: GroupId, direction: FrozenDirection, *, by: str) -> None:
        """End a person's freeze of a direction, or of both.

        Raises:
            NoSuch: there is no such group.
            Refused: no person has frozen it so.
        """

        def ended(state: GroupState) -> GroupState:
            after = unfrozen(state, direction)
            if after.signals == state.signals:
                raise Refused(
                    f"no person has frozen {group} in this direction (alerts and declared windows end by themselves)"
                )
            return after

        runtime, now = runtime_of(self._engine, group), self._engine.parts.clock()
        await self._engine.queue.change(runtime, ended, act="unfreeze", by=by, message=direction.value, at=now)
