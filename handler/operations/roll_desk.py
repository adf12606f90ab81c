"""The desk for definitions: what was declared, going back to an earlier profile, and replacing members for one."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from config.document.rolling import NEITHER
from config.errors import Refused
from config.model.access import secrets_in
from config.model.catalogue import Mode, Profile
from config.model.rolling import Allowance, RollBudgets
from config.units import GroupId
from handler.engine.engine import Engine
from handler.operations.lookup import room_of
from handler.operations.outcomes import NoSuch, RevisionStatus, Steered
from handler.planning.declared import Pinned, Revision, changes, last_good
from handler.planning.desired import Builds, Definition
from handler.planning.rolls import Roll, RollState
from handler.ports.stored import Event, EventKind
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.statuses import progress_of, roll_of

_EDITS = 200
"""Edits of the file that are told with the revisions: the newest."""


class RollDesk:
    """Every change is recorded in the group's history with who asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def revisions(self, group: GroupId) -> tuple[RevisionStatus, ...]:
        """What a group declared, the newest first."""
        room, store = room_of(self._engine, group), self._engine.parts.store
        found = await asyncio.to_thread(store.revisions, group)
        made_of = Counter(record.profile for record in await asyncio.to_thread(store.members, group))
        edited = await asyncio.to_thread(store.edits, group, _EDITS)
        before, ends = (*found[1:], None), (math.inf, *(each.at for each in found))
        return tuple(
            replace(
                _told(each, old, room, made_of[each.definition.profile_digest]),
                edits=tuple(edit for edit in edited if (old is None or each.at <= edit.at) and edit.at < end),
            )
            for each, old, end in zip(found, before, ends, strict=False)
        )

    async def rollback(self, group: GroupId, to: int | None, *, by: str) -> Steered:
        """Have new members made of an earlier revision's profile; without ``to``, of the last that converged.

        A roll that runs, or halted by itself, goes there, too.

        Raises:
            NoSuch: there is no such revision any more.
            Refused: there is nothing to go back to, or nobody could be made of it.
        """
        async with self._changing(group) as room:
            found = await asyncio.to_thread(self._engine.parts.store.revisions, group)
            target = _target(found, room, to)
            await asyncio.to_thread(self._refuse_impossible, room, target)
            now = self._engine.parts.clock().wall
            pinned = None if target.number == room.declared else Pinned(revision=target.number, at=now, by=by)
            roll = _turned(room.roll, target.definition)
            await self._steer(room, "rollback", by, f"to revision {target.number}", pinned, roll)
            self._put(room, target.definition.profile)
        goes = "; the roll goes there, too" if roll is not None and roll.runs else ""
        words = f"new members are made of the profile of revision {target.number}{goes}"
        return self._answer(room, words)

    async def end_rollback(self, group: GroupId, *, by: str) -> Steered:
        """Have new members made of what the file says again.

        Raises:
            Refused: they are.
        """
        async with self._changing(group) as room:
            if room.pinned is None:
                raise Refused(f"group {group} is not rolled back: new members are made of what the file says")
            newest = (await asyncio.to_thread(self._engine.parts.store.revisions, group))[0]
            await self._steer(room, "rollback_over", by, f"to revision {newest.number}", None, room.roll)
            self._put(room, newest.definition.profile)
        return self._answer(room, "new members are made of what the file says again")

    async def roll(self, group: GroupId, surge: Allowance | None, unavailable: Allowance | None, *, by: str) -> Steered:
        """Have every member replaced that is not made of the profile of now.

        One that was stopped, or halted, goes on, with the budgets that it had.

        Raises:
            Refused: nobody could ever be replaced, or nothing may be done to the group.
        """
        async with self._changing(group) as room:
            if room.definition.group.mode is not Mode.ACT:
                raise Refused(f"group {group} is in mode {room.definition.group.mode.value}: nothing is done to it")
            before = room.roll if room.roll is not None and room.roll.state is not RollState.DONE else None
            budgets = _budgets(before.budgets if before else room.definition.group.roll, surge, unavailable)
            roll = self._begun(room, before, budgets, by)
            said = f"surge {budgets.surge}, unavailable {budgets.unavailable}"
            await self._steer(room, "roll", by, said, room.pinned, roll)
        left = progress_of(room).remaining if room.seen is not None else None
        return self._answer(room, "nobody is left to be replaced" if left == 0 else f"rolling, {said}")

    async def stop_roll(self, group: GroupId, *, by: str) -> Steered:
        """Replace nobody else; whoever leaves already goes on leaving.

        Raises:
            Refused: no roll is under way.
        """
        async with self._changing(group) as room:
            if room.roll is None or not room.roll.runs:
                raise Refused(f"no roll of group {group} is under way")
            stopped = room.roll.ended(RollState.STOPPED, f"by {by}", self._engine.parts.clock().wall)
            await self._steer(room, "roll_stopped", by, "", room.pinned, stopped)
        return self._answer(room, "nobody else is replaced; trimtab roll goes on")

    @contextlib.asynccontextmanager
    async def _changing(self, group: GroupId) -> AsyncIterator[GroupRuntime]:
        """Let neither a reload nor a pass of the group come between looking and writing."""
        room = room_of(self._engine, group)
        async with self._engine.changing, self._engine.keeper.between(room):
            if room.state.orphaned or room.deleting:
                raise Refused(f"group {group} is no longer declared: no new members are made of anything")
            yield room

    def _begun(self, room: GroupRuntime, before: Roll | None, budgets: RollBudgets, by: str) -> Roll:
        target = room.definition.profile_digest
        if before is not None:
            return replace(before, budgets=budgets, by=by).resumed(target)
        return Roll(target=target, budgets=budgets, started_at=self._engine.parts.clock().wall, by=by)

    async def _steer(
        self, room: GroupRuntime, act: str, by: str, message: str, pinned: Pinned | None, roll: Roll | None
    ) -> None:
        """Write it down, then keep it; what failed before was something else, and holds nothing back any more."""
        now, store = self._engine.parts.clock().wall, self._engine.parts.store
        line = Event(at=now, group=room.id, kind=EventKind.NOTE, name=act, by=by, message=message)
        await asyncio.to_thread(store.steer, line, pinned, roll)
        room.pinned, room.roll = pinned, roll
        if room.builds.failed:
            await asyncio.to_thread(store.save_builds, room.id, Builds())
            room.kept_builds = Builds()

    def _put(self, room: GroupRuntime, profile: Profile) -> None:
        room.definition = replace(room.definition, profile=profile)

    def _refuse_impossible(self, room: GroupRuntime, target: Revision) -> None:
        """Raise `Refused` if nobody could be made of a revision's profile. Blocks."""
        profile, what = target.definition.profile, f"revision {target.number} of group {room.id}"
        if profile.cloud != room.definition.cloud.id:
            raise Refused(f"{what} is on cloud {profile.cloud}, and members do not move between clouds")
        for ref in secrets_in(profile):
            try:
                self._engine.parts.inbox.read_secret(ref)
            except Refused as error:
                raise Refused(f"{what} needs a secret that cannot be read: {error}") from error

    def _answer(self, room: GroupRuntime, words: str) -> Steered:
        return Steered(group=room.id, words=words, roll=roll_of(room))


def _told(revision: Revision, before: Revision | None, room: GroupRuntime, members: int) -> RevisionStatus:
    return RevisionStatus(
        number=revision.number,
        at=revision.at,
        profile=revision.definition.profile_digest,
        changes=() if before is None else changes(before.definition, revision.definition),
        members=members,
        converged_at=revision.converged_at,
        declared=revision.number == room.declared,
        in_force=revision.number == room.stored().in_force,
        edits=(),
    )


def _target(found: Sequence[Revision], room: GroupRuntime, to: int | None) -> Revision:
    """Which revision is meant."""
    how = f"trimtab definitions {room.id} lists them"
    in_force = room.stored().in_force
    if to is None:
        good = last_good(found, in_force)
        if good is None:
            raise Refused(
                f"no definition of group {room.id} before revision {in_force} has converged with another profile: "
                f"name one with --to; {how}"
            )
        return good
    target = next((each for each in found if each.number == to), None)
    if target is None:
        raise NoSuch(f"group {room.id} has no revision {to}; {how}")
    if target.definition.profile == room.definition.profile:
        raise Refused(f"new members of group {room.id} are made of the profile of revision {to} already")
    return target


def _turned(roll: Roll | None, definition: Definition) -> Roll | None:
    """The roll, gone back to what is in force now; one that a person stopped stays so."""
    if roll is None or roll.state not in {RollState.RUNNING, RollState.HALTED}:
        return roll
    return roll.resumed(definition.profile_digest)


def _budgets(declared: RollBudgets, surge: Allowance | None, unavailable: Allowance | None) -> RollBudgets:
    """What a roll may cost: what is not said is as it is declared.

    Raises:
        Refused: nobody could ever be replaced.
    """
    budgets = RollBudgets(surge=surge or declared.surge, unavailable=unavailable or declared.unavailable)
    if budgets.is_none:
        raise Refused(NEITHER)
    return budgets
