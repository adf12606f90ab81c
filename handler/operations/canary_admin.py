"""Canaries: a setting is replayed beside the declared one, day after day, and proposed if it does better."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from config.errors import Refused
from config.units import GroupId
from handler.engine.engine import Engine
from handler.identity.actors import Actor
from handler.identity.grants import Grants
from handler.operations.lookup import NoSuch, runtime_of
from handler.operations.outcomes import CanaryStatus
from handler.operations.setting_admin import SettingAdmin
from handler.operations.setting_changes import require_own
from handler.operations.tuning_admin import TuningAdmin, declared_of, whole
from handler.ports.canaries import Canary
from handler.ports.settings import SettingsOwner
from handler.tuning.canary import judged
from handler.tuning.easing import eased
from handler.tuning.goals import goal_of
from handler.tuning.parameters import Parameter, parameters_of


class CanaryAdmin:
    """Keeps one for each group."""

    def __init__(self, engine: Engine, tuning: TuningAdmin, settings: SettingAdmin) -> None:
        self._engine, self._tuning, self._settings = engine, tuning, settings
        self.changing = asyncio.Lock()
        """Held while a canary is replaced."""

    async def begin(
        self, group: GroupId, values: Mapping[str, str], goals: Sequence[str], by: Actor, *, switches: bool
    ) -> CanaryStatus:
        """Begin to compare values with the declared ones; another canary of the group ends.

        Raises:
            NoSuch: there is no such group.
            Refused: the values cannot be declared or replayed, a goal is none, or they could not be applied by the
                daemon itself: the API does not own all of them, or one could make a scale-in easier.
            StoreError: the store cannot be written.
        """
        self._tuning.parameters(group)
        change = await self._settings.change(group, values, by.grants)
        if change is None:
            raise Refused("these values are declared: there is nothing to compare")
        goal = goal_of(goals)
        if switches:
            self.require_safe(group, values, change.owner)
        now = self._engine.parts.clock().wall
        canary = Canary(
            at=now,
            by=by.name,
            values=dict(values),
            beside=self.declared(group),
            over=None if goal is None or goal.over == float("inf") else goal.over,
            changes=None if goal is None else goal.changes,
            switches=switches,
            looked_until=now,
            days=(),
            problem="",
        )
        async with self.changing:
            await self.save(group, canary)
        return _status(group, canary)

    async def end(self, group: GroupId, by: Actor) -> None:
        """End a canary. Raises `NoSuch`, `Refused` and `StoreError`."""
        async with self.changing:
            if await self._own(group, by.grants) is None:
                raise NoSuch(f"group {group} has no canary")
            await self.save(group, None)

    async def status(self, group: GroupId, grants: Grants) -> CanaryStatus:
        """Return how a canary stands.

        Raises:
            NoSuch: there is no such group.
            Refused: its values belong to another account.
            StoreError: the store cannot be read.
        """
        return _status(group, await self._own(group, grants))

    def require_safe(self, group: GroupId, values: Mapping[str, str], owner: SettingsOwner) -> None:
        """Raise `Refused` for values that the daemon may not apply by itself."""
        if owner is not SettingsOwner.API:
            raise Refused("the file has some of these values: only values of the API are applied by the daemon itself")
        known = {each.name: each for each in self._parameters(group)}
        changes = {known[name].where: (known[name].today, known[name].read(text)) for name, text in values.items()}
        if unsafe := eased(self._engine.catalogue(), changes):
            raise Refused(
                f"{', '.join(unsafe)}: this could make a scale-in easier or growth harder, so only a person applies it"
            )

    def _parameters(self, group: GroupId) -> tuple[Parameter, ...]:
        declared = declared_of(self._engine, group)
        return parameters_of(whole(declared).data, declared.catalogue, group)

    def declared(self, group: GroupId) -> Mapping[str, str]:
        """Return what is declared of what can be tuned of a group, by name."""
        return {each.name: each.text(each.today) for each in self._parameters(group)}

    def are_declared(self, group: GroupId, values: Mapping[str, str]) -> bool:
        """Tell whether values are what is declared. Raises `NoSuch` and `Refused`."""
        known = {each.name: each for each in self._parameters(group)}
        return all(name in known and known[name].read(text) == known[name].today for name, text in values.items())

    async def _own(self, group: GroupId, grants: Grants) -> Canary | None:
        runtime_of(self._engine, group)
        canary = (await asyncio.to_thread(self._engine.parts.store.canaries)).get(group)
        if canary is not None and group in self._engine.catalogue().groups:
            places = [each.where for each in self._parameters(group) if each.name in canary.values]
            require_own(self._engine.declared(), places, grants)
        return canary

    async def save(self, group: GroupId, canary: Canary | None) -> None:
        """Replace a group's canary, or end it. Raises `StoreError`."""
        await asyncio.to_thread(self._engine.parts.store.save_canary, group, canary)


def _status(group: GroupId, canary: Canary | None) -> CanaryStatus:
    return CanaryStatus(group=group, canary=canary, judgement=None if canary is None else judged(canary))
