"""Revisions of a group's definition, rollbacks to an earlier profile, and rolls that replace members."""

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
from handler.operations.lookup import NoSuch, runtime_of
from handler.operations.outcomes import RevisionStatus, Steered
from handler.planning.declared import Pinned, Revision, changes, last_good
from handler.planning.desired import Builds, Definition
from handler.planning.rolls import Roll, RollState
from handler.ports.stored import Event, EventKind
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.statuses import progress_of, roll_of

_EDITS = 200
"""The most edits of the file that are shown with the revisions; the newest are kept."""


class RollAdmin:
    """Lists revisions, rolls back and rolls; the group's history records every change and the person who asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def revisions(self, group: GroupId) -> tuple[RevisionStatus, ...]:
        """Return the revisions of a group's definition, newest first."""
        runtime, store = runtime_of(self._engine, group), self._engine.parts.store
        found = await asyncio.to_thread(store.revisions, group)
        made_of = Counter(record.profile for record in await asyncio.to_thread(store.members, group))
        edited = await asyncio.to_thread(store.edits, group, _EDITS)
        before, ends = (*found[1:], None), (math.inf, *(each.at for each in found))
        return tuple(
            replace(
                _status_of(each, old, runtime, made_of[each.definition.profile_digest]),
                edits=tuple(edit for edit in edited if (old is None or each.at <= edit.at) and edit.at < end),
            )
            for each, old, end in zip(found, before, ends, strict=False)
        )

    async def rollback(self, group: GroupId, to: int | None, *, by: str) -> Steered:
        """Make new members from an earlier revision's profile; without ``to``, from the last that converged.

        A roll that runs, or that halted by itself, takes that profile as its target, too.

        Raises:
            NoSuch: there is no such revision any more.
            Refused: there is no earlier profile, or no member could be made from it.
        """
        async with self._changing(group) as runtime:
            found = await asyncio.to_thread(self._engine.parts.store.revisions, group)
            target = _target(found, runtime, to)
            await asyncio.to_thread(self._refuse_impossible, runtime, target)
            now = self._engine.parts.clock().wall
            pinned = None if target.number == runtime.declared else Pinned(revision=target.number, at=now, by=by)
            roll = _turned(runtime.roll, target.definition)
            await self._steer(runtime, "rollback", by, f"to revision {target.number}", pinned, roll)
            self._put(runtime, target.definition.profile)
        goes = "; the roll now replaces members with that profile, too" if roll is not None and roll.runs else ""
        words = f"new members are made from the profile of revision {target.number}{goes}"
        return self._answer(runtime, words)

    async def end_rollback(self, group: GroupId, *, by: str) -> Steered:
        """Make new members from the file's profile again.

        Raises:
            Refused: they are made from it already.
        """
        async with self._changing(group) as runtime:
            if runtime.pinned is None:
                raise Refused(f"group {group} is not rolled back: new members are made from the file's profile already")
            newest = (await asyncio.to_thread(self._engine.parts.store.revisions, group))[0]
            await self._steer(runtime, "rollback_over", by, f"to revision {newest.number}", None, runtime.roll)
            self._put(runtime, newest.definition.profile)
        return self._answer(runtime, "new members are made from the file's profile again")

    async def roll(self, group: GroupId, surge: Allowance | None, unavailable: Allowance | None, *, by: str) -> Steered:
        """Replace every member that was not made from the current profile.

        A roll that was stopped or halted goes on with its earlier budgets.

        Raises:
            Refused: the budgets allow no replacement, or the group may not be changed.
        """
        async with self._changing(group) as runtime:
            if runtime.definition.group.mode is not Mode.ACT:
                raise Refused(
                    f"group {group} is in mode {runtime.definition.group.mode.value}: its members are not changed"
                )
            before = runtime.roll if runtime.roll is not None and runtime.roll.state is not RollState.DONE else None
            budgets = _budgets(before.budgets if before else runtime.definition.group.roll, surge, unavailable)
            roll = self._begun(runtime, before, budgets, by)
            message = f"surge {budgets.surge}, unavailable {budgets.unavailable}"
            await self._steer(runtime, "roll", by, message, runtime.pinned, roll)
        left = progress_of(runtime).remaining if runtime.seen is not None else None
        return self._answer(runtime, "no member is left to replace" if left == 0 else f"rolling, {message}")

    async def stop_roll(self, group: GroupId, *, by: str) -> Steered:
        """Replace no more members; a member that is leaving goes on leaving.

        Raises:
            Refused: no roll is under way.
        """
        async with self._changing(group) as runtime:
            if runtime.roll is None or not runtime.roll.runs:
                raise Refused(f"no roll of group {group} is under way")
            stopped = runtime.roll.ended(RollState.STOPPED, f"by {by}", self._engine.parts.clock().wall)
            await self._steer(runtime, "roll_stopped", by, "", runtime.pinned, stopped)
        return self._answer(runtime, "no more members are replaced; trimtab roll continues the roll")

    @contextlib.asynccontextmanager
    async def _changing(self, group: GroupId) -> AsyncIterator[GroupRuntime]:
        """Keep reloads and passes of the group out between the checks and the write."""
        runtime = runtime_of(self._engine, group)
        async with self._engine.changing, self._engine.keeper.between(runtime):
            if runtime.state.orphaned or runtime.deleting:
                raise Refused(f"group {group} is no longer declared: it gets no new members")
            yield runtime

    def _begun(self, runtime: GroupRuntime, before: Roll | None, budgets: RollBudgets, by: str) -> Roll:
        target = runtime.definition.profile_digest
        if before is not None:
            return replace(before, budgets=budgets, by=by).resumed(target)
        return Roll(target=target, budgets=budgets, started_at=self._engine.parts.clock().wall, by=by)

    async def _steer(
        self, runtime: GroupRuntime, act: str, by: str, message: str, pinned: Pinned | None, roll: Roll | None
    ) -> None:
        """Store the change, then keep it in memory; forget failed builds, since they were of another profile."""
        now, store = self._engine.parts.clock().wall, self._engine.parts.store
        line = Event(at=now, group=runtime.id, kind=EventKind.NOTE, name=act, by=by, message=message)
        await asyncio.to_thread(store.steer, line, pinned, roll)
        runtime.pinned, runtime.roll = pinned, roll
        if runtime.builds.failed:
            await asyncio.to_thread(store.save_builds, runtime.id, Builds())
            runtime.kept_builds = Builds()

    def _put(self, runtime: GroupRuntime, profile: Profile) -> None:
        runtime.definition = replace(runtime.definition, profile=profile)

    def _refuse_impossible(self, runtime: GroupRuntime, target: Revision) -> None:
        """Raise `Refused` if no member could be made from a revision's profile. Blocks."""
        profile, what = target.definition.profile, f"revision {target.number} of group {runtime.id}"
        if profile.cloud != runtime.definition.cloud.id:
            raise Refused(f"{what} is on cloud {profile.cloud}, and members do not move between clouds")
        for ref in secrets_in(profile):
            try:
                self._engine.parts.inbox.read_secret(ref)
            except Refused as error:
                raise Refused(f"{what} needs a secret that cannot be read: {error}") from error

    def _answer(self, runtime: GroupRuntime, words: str) -> Steered:
        return Steered(group=runtime.id, words=words, roll=roll_of(runtime))


def _status_of(revision: Revision, before: Revision | None, runtime: GroupRuntime, members: int) -> RevisionStatus:
    return RevisionStatus(
        number=revision.number,
        at=revision.at,
        profile=revision.definition.profile_digest,
        changes=() if before is None else changes(before.definition, revision.definition),
        members=members,
        converged_at=revision.converged_at,
        declared=revision.number == runtime.declared,
        in_force=revision.number == runtime.stored().in_force,
        edits=(),
    )


def _target(found: Sequence[Revision], runtime: GroupRuntime, to: int | None) -> Revision:
    """Return the revision that is named, or without a name the last good one."""
    how = f"trimtab definitions {runtime.id} lists them"
    in_force = runtime.stored().in_force
    if to is None:
        good = last_good(found, in_force)
        if good is None:
            raise Refused(
                f"no definition of group {runtime.id} before revision {in_force} has converged with another profile: "
                f"name one with --to; {how}"
            )
        return good
    target = next((each for each in found if each.number == to), None)
    if target is None:
        raise NoSuch(f"group {runtime.id} has no revision {to}; {how}")
    if target.definition.profile == runtime.definition.profile:
        raise Refused(f"new members of group {runtime.id} are made from the profile of revision {to} already")
    return target


def _turned(roll: Roll | None, definition: Definition) -> Roll | None:
    """Return the roll with the definition in force as its target; a roll that a person stopped stays as it is."""
    if roll is None or roll.state not in {RollState.RUNNING, RollState.HALTED}:
        return roll
    return roll.resumed(definition.profile_digest)


def _budgets(declared: RollBudgets, surge: Allowance | None, unavailable: Allowance | None) -> RollBudgets:
    """Return a roll's budgets; one that is not given is as declared.

    Raises:
        Refused: the budgets allow no replacement.
    """
    budgets = RollBudgets(surge=surge or declared.surge, unavailable=unavailable or declared.unavailable)
    if budgets.is_none:
        raise Refused(NEITHER)
    return budgets
