"""Canaries: a setting is replayed beside the declared one, day after day, and proposed if it does better."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from config.errors import Refused
from config.units import GroupId, Instant
from handler import logs
from handler.engine.engine import Engine
from handler.identity.actors import Actor, Origin, Way
from handler.identity.grants import Grants
from handler.identity.rights import Verb
from handler.operations.lookup import NoSuch, runtime_of
from handler.operations.outcomes import CanaryStatus
from handler.operations.registry import perform
from handler.operations.setting_changes import require_own
from handler.operations.setting_operations import ApplySettings
from handler.operations.tuning_admin import declared_of, whole
from handler.ports.canaries import Canary, CanaryDay, FleetFigures
from handler.ports.settings import SettingsOwner
from handler.runtime.housekeeping import Job
from handler.tuning.canary import Verdict, compared, due, judged
from handler.tuning.easing import eased
from handler.tuning.goals import goal_of
from handler.tuning.outcomes import Outcome
from handler.tuning.parameters import Parameter, parameters_of

if TYPE_CHECKING:
    from handler.operations.facade import Operations

_LOOKED_AT = 23
"""Minutes past the hour: days end at midnight UTC, and are whole in the recording soon after."""
_ASKER = "(canary)"
"""No user's name: what it asks ends no person's question."""


class CanaryAdmin:
    """Keeps one for each group, and looks at the day that ended."""

    def __init__(self, engine: Engine, operations: Operations) -> None:
        self._engine, self._operations = engine, operations
        self._changing = asyncio.Lock()
        engine.housekeeping.add(Job(name="canaries", minute=_LOOKED_AT, work=self.look))

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
        self._operations.tuning.parameters(group)
        change = await self._operations.settings.change(group, values, by.grants)
        if change is None:
            raise Refused("these values are declared: there is nothing to compare")
        goal = goal_of(goals)
        if switches:
            self._require_safe(group, values, change.owner)
        now = self._engine.parts.clock().wall
        canary = Canary(
            at=now,
            by=by.name,
            values=dict(values),
            beside=self._declared(group),
            over=None if goal is None or goal.over == float("inf") else goal.over,
            changes=None if goal is None else goal.changes,
            switches=switches,
            looked_until=now,
            days=(),
            problem="",
        )
        async with self._changing:
            await self._save(group, canary)
        return _status(group, canary)

    async def end(self, group: GroupId, by: Actor) -> None:
        """End a canary. Raises `NoSuch`, `Refused` and `StoreError`."""
        async with self._changing:
            if await self._own(group, by.grants) is None:
                raise NoSuch(f"group {group} has no canary")
            await self._save(group, None)

    async def status(self, group: GroupId, grants: Grants) -> CanaryStatus:
        """Return how a canary stands.

        Raises:
            NoSuch: there is no such group.
            Refused: its values belong to another account.
            StoreError: the store cannot be read.
        """
        return _status(group, await self._own(group, grants))

    async def look(self) -> None:
        """Compare the day that ended, of every canary that has not seen it."""
        for group in await asyncio.to_thread(self._engine.parts.store.canaries):
            async with self._changing:  # a person waits for one replay at most
                canary = (await asyncio.to_thread(self._engine.parts.store.canaries)).get(group)
                day = None if canary is None else due(canary, self._engine.parts.clock().wall)
                if canary is not None and day is not None:
                    await self._look(group, canary, *day)

    async def _look(self, group: GroupId, canary: Canary, begin: Instant, end: Instant) -> None:
        try:
            beside = self._declared(group)
            if beside != canary.beside:
                canary = replace(canary, beside=beside, days=())
            answer = await self._operations.tuning.what_if(group, begin, end, canary.values, _ASKER)
        except (Refused, NoSuch) as error:
            after = compared(canary, end, None, str(error))
        else:
            figures = (_figures(answer.declared), _figures(answer.asked))
            day = CanaryDay(begin=answer.begin, end=answer.end, declared=figures[0], tried=figures[1])
            after = compared(canary, end, day)
        judgement = judged(after)
        logs.say("canary", group=group, verdict=judgement.verdict.value, because=after.problem or judgement.because)
        switches = after.switches and judgement.verdict is Verdict.SWITCH
        await self._save(group, await self._switched(group, after) if switches else after)

    async def _switched(self, group: GroupId, canary: Canary) -> Canary | None:
        """Apply the values, in the daemon's name and within the group's account; ``None``: they are declared now."""
        account = runtime_of(self._engine, group).account
        grants = Grants(frozenset({Verb.TUNE}), frozenset({group}), frozenset({account}))
        by = Actor(name=f"canary of {canary.by}", origin=Origin(way=Way.DAEMON), account=account, grants=grants)
        try:
            change = await self._operations.settings.change(group, canary.values, grants)
            if change is not None:
                self._require_safe(group, canary.values, change.owner)
                await perform(
                    self._operations, ApplySettings(group=group, values=canary.values, if_match=change.tag), by
                )
        except (Refused, NoSuch) as error:
            return replace(canary, problem=f"the values were not applied: {error}")
        return None

    def _require_safe(self, group: GroupId, values: Mapping[str, str], owner: SettingsOwner | None) -> None:
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

    def _declared(self, group: GroupId) -> Mapping[str, str]:
        return {each.name: each.text(each.today) for each in self._parameters(group)}

    async def _own(self, group: GroupId, grants: Grants) -> Canary | None:
        runtime_of(self._engine, group)
        canary = (await asyncio.to_thread(self._engine.parts.store.canaries)).get(group)
        if canary is not None and group in self._engine.catalogue().groups:
            places = [each.where for each in self._parameters(group) if each.name in canary.values]
            require_own(self._engine.declared(), places, grants)
        return canary

    async def _save(self, group: GroupId, canary: Canary | None) -> None:
        await asyncio.to_thread(self._engine.parts.store.save_canary, group, canary)


def _status(group: GroupId, canary: Canary | None) -> CanaryStatus:
    return CanaryStatus(group=group, canary=canary, judgement=None if canary is None else judged(canary))


def _figures(outcome: Outcome) -> FleetFigures:
    return FleetFigures(hours=outcome.hours, over=outcome.over, changes=outcome.changes)
