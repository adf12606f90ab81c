"""Look at the day that ended, of each canary: replay it, judge it, and apply its values where that is asked for."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from config.errors import Refused, StoreError
from config.units import GroupId, Instant
from handler import logs
from handler.engine.engine import Engine
from handler.identity.actors import Actor, Origin, Way
from handler.identity.grants import Grants
from handler.identity.rights import Verb
from handler.operations.facade import Operations
from handler.operations.lookup import NoSuch, runtime_of
from handler.operations.registry import perform
from handler.operations.setting_operations import ApplySettings
from handler.ports.canaries import Canary, CanaryDay, FleetFigures
from handler.runtime.housekeeping import Job
from handler.tuning.canary import Verdict, compared, due, judged
from handler.tuning.outcomes import Outcome

_LOOKED_AT = 23
"""Minutes past the hour: days end at midnight UTC, and are whole in the recording soon after."""
_ASKER = "(canary)"
"""No user's name: what it asks ends no person's question."""


class CanaryDays:
    """The daemon's own visitor of canaries; it acts through operations, as a person does."""

    def __init__(self, engine: Engine, operations: Operations) -> None:
        self._engine, self._operations = engine, operations
        self._canaries = operations.canaries

    def job(self) -> Job:
        """Return the job that looks at them each hour."""
        return Job(name="canaries", minute=_LOOKED_AT, work=self.look)

    async def look(self) -> None:
        """Compare the day that ended, of every canary that has not seen it."""
        for group in await asyncio.to_thread(self._engine.parts.store.canaries):
            async with self._canaries.changing:  # a person waits for one replay at most
                canary = (await asyncio.to_thread(self._engine.parts.store.canaries)).get(group)
                day = None if canary is None else due(canary, self._engine.parts.clock().wall)
                if canary is not None and day is not None:
                    await self._look_while_there(group, canary, *day)

    async def _look_while_there(self, group: GroupId, canary: Canary, begin: Instant, end: Instant) -> None:
        """Compare a day; a canary that goes with its group meanwhile ends that, and no other one's day."""
        try:
            await self._look(group, canary, begin, end)
        except (NoSuch, StoreError) as error:
            if await self._is_there(group):
                raise
            logs.say("canary", group=group, verdict="gone", because=str(error))

    async def _is_there(self, group: GroupId) -> bool:
        return group in await asyncio.to_thread(self._engine.parts.store.canaries)

    async def _look(self, group: GroupId, canary: Canary, begin: Instant, end: Instant) -> None:
        try:
            if canary.switches and self._canaries.are_declared(group, canary.values):
                logs.say("canary", group=group, verdict=Verdict.SWITCH.value, because="its values are declared")
                await self._canaries.save(group, None)  # applied, and the daemon ended before it wrote that down
                return
            beside = self._canaries.declared(group)
            if beside != canary.beside:
                canary = replace(canary, beside=beside, days=())
            answer = await self._operations.tuning.what_if(group, begin, end, canary.values, _ASKER)
            if (now := self._canaries.declared(group)) != beside:
                canary = replace(canary, beside=now, days=())
                raise Refused("a value of the group was declared otherwise while the day was replayed")
        except (Refused, NoSuch) as error:
            after = compared(canary, end, None, str(error))
        else:
            figures = (_figures(answer.declared), _figures(answer.asked))
            day = CanaryDay(begin=answer.begin, end=answer.end, declared=figures[0], tried=figures[1])
            after = compared(canary, end, day)
        if not await self._is_there(group):  # a new group may have its name by now
            raise NoSuch(f"group {group} was deleted while the day was replayed")
        judgement = judged(after)
        logs.say("canary", group=group, verdict=judgement.verdict.value, because=after.problem or judgement.because)
        switches = after.switches and judgement.verdict is Verdict.SWITCH
        await self._canaries.save(group, await self._switched(group, after) if switches else after)

    async def _switched(self, group: GroupId, canary: Canary) -> Canary | None:
        """Apply the values, in the daemon's name and within the group's account; ``None``: they are declared now."""
        account = runtime_of(self._engine, group).account
        grants = Grants(frozenset({Verb.TUNE}), frozenset({group}), frozenset({account}))
        by = Actor(name=f"canary of {canary.by}", origin=Origin(way=Way.DAEMON), account=account, grants=grants)
        try:
            change = await self._operations.settings.change(group, canary.values, grants)
            if change is not None:
                self._canaries.require_safe(group, canary.values, change.owner)
                await perform(
                    self._operations, ApplySettings(group=group, values=canary.values, if_match=change.tag), by
                )
        except (Refused, NoSuch) as error:
            return replace(canary, problem=f"the values were not applied: {error}")
        return None


def _figures(outcome: Outcome) -> FleetFigures:
    return FleetFigures(hours=outcome.hours, over=outcome.over, changes=outcome.changes)
