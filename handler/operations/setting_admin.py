"""Settings of a group: apply other values, by whichever owner has them, and go back to those that were before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from config.errors import Refused, StoreError
from config.units import GroupId
from handler import logs
from handler.engine.declared import Declaration
from handler.engine.declaring import DeclarationProposal, Declaring, Redeclared, redeclared_words
from handler.engine.engine import Engine
from handler.engine.file_text import FileText
from handler.identity.actors import Actor
from handler.identity.grants import Grants
from handler.operations.lookup import runtime_of
from handler.operations.outcomes import SettingsApplied
from handler.operations.setting_changes import (
    SettingChange,
    SettingDraft,
    Wanted,
    require_own,
    returning,
    setting_draft,
    wanted_of,
)
from handler.operations.size_tags import ChangedSince, matches_tag
from handler.operations.tuning_admin import declared_of, whole
from handler.ports.settings import AppliedSettings, SettingsOwner
from handler.tuning.parameters import Parameter, parameters_of

Choose = Callable[[Declaration], Wanted]
"""Returns the values that are wanted, given what is declared; raises `Refused`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """The settings of one group that can be changed, and what was applied last."""

    group: GroupId
    values: Mapping[str, str]
    """By name, as they are written: ``conditions.busy.above`` → ``80``."""
    writable: bool
    """Values of the file can be applied, too."""
    applied: AppliedSettings | None
    """``None``: nothing was applied, or it is not the caller's to see."""


class SettingAdmin:
    """Proposes changes to the engine, which judges and applies them; keeps what was there before."""

    def __init__(self, engine: Engine, declaring: Declaring) -> None:
        self._engine, self._declaring = engine, declaring
        self._applying = asyncio.Lock()

    async def current(self, group: GroupId, grants: Grants) -> GroupSettings:
        """Return what can be changed of a group.

        Raises:
            NoSuch: there is no such group.
            Refused: it is not declared any more.
            StoreError: the store cannot be read.
        """
        declared = declared_of(self._engine, group)
        applied = await self._applied(group)
        if applied is not None and not _may_see(declared, applied, grants):
            applied = None
        return GroupSettings(
            group=group,
            values={each.name: each.text(each.today) for each in _parameters(declared, group)},
            writable=declared.catalogue.writable,
            applied=applied,
        )

    def writable(self) -> bool:
        """Tell whether values of the file can be applied."""
        return self._engine.catalogue().writable

    async def change(self, group: GroupId, values: Mapping[str, str], grants: Grants) -> SettingChange | None:
        """Return what it takes to declare other values; ``None``: they are declared. Nothing is changed.

        Args:
            group: a group.
            values: by name of a parameter, as a person writes them; what is missing is as declared.
            grants: of the person, who is shown only the groups that are its own.

        Raises:
            NoSuch: there is no such group.
            Refused: why they cannot be declared.
        """
        return await self._foreseen(group, partial(_asked, group, values), grants)

    async def return_change(self, group: GroupId, grants: Grants) -> SettingChange | None:
        """Return what it takes to go back; ``None``: nothing was applied. Nothing is changed.

        Raises:
            NoSuch: there is no such group.
            Refused: something else was changed since.
            StoreError: the store cannot be read.
        """
        applied = await self._applied(group)
        if applied is None:
            return None
        return await self._foreseen(group, lambda declared: returning(declared, applied), grants)

    async def apply(
        self, group: GroupId, values: Mapping[str, str], by: Actor, *, if_match: str | None, dry_run: bool
    ) -> SettingsApplied:
        """Declare other values: all of them or none. With ``dry_run``, only say what would change.

        Raises:
            NoSuch: there is no such group.
            ChangedSince: the file or an entity is not what ``if_match`` says.
            Refused: why they cannot be declared; the file and the entities are as they were.
            StoreError: the store cannot be read or written; likewise.
        """
        choose = partial(_asked, group, values)
        if dry_run:
            return SettingsApplied(group=group, change=await self._foreseen(group, choose, by.grants))
        async with self._applying:
            return await self._apply(group, choose, by, if_match, is_return=False)

    async def go_back(self, group: GroupId, by: Actor, *, if_match: str | None) -> SettingsApplied:
        """Declare the values that were there before others were applied; once more, and those are applied again.

        Raises:
            Refused: nothing was applied, or something else was changed since; or as `apply`.
            NoSuch: as `apply`; so `ChangedSince` and `StoreError`.
        """
        async with self._applying:
            applied = await self._applied(group)
            if applied is None:
                raise Refused(f"no setting of {group} was applied here: there is nothing to go back to")
            return await self._apply(
                group, lambda declared: returning(declared, applied), by, if_match, is_return=not applied.is_return
            )

    async def _foreseen(self, group: GroupId, choose: Choose, grants: Grants) -> SettingChange | None:
        declared = declared_of(self._engine, group)

        def work() -> SettingDraft | None:
            return self._draft(declared, group, choose, FileText.of(declared.path).text, grants)

        draft = await asyncio.to_thread(work)
        if draft is None:
            return None
        return replace(draft.change, groups=tuple(filter(grants.sees, draft.change.groups)))

    def _draft(
        self, declared: Declaration, group: GroupId, choose: Choose, text: str, grants: Grants
    ) -> SettingDraft | None:
        """Return what it takes to declare what is wanted; ``None``: it is declared. Raises `Refused`."""
        wanted = choose(declared)
        if not wanted:
            return None
        require_own(declared, wanted, grants)
        explanation = runtime_of(self._engine, group).explanation
        return setting_draft(declared, group, wanted, text, None if explanation is None else explanation.basis)

    async def _apply(
        self, group: GroupId, choose: Choose, by: Actor, if_match: str | None, *, is_return: bool
    ) -> SettingsApplied:
        change = await self._foreseen(group, choose, by.grants)
        if change is None:
            return SettingsApplied(group=group, change=None, dry_run=False, words="nothing changes")

        def draft(declared: Declaration, text: str) -> SettingDraft:
            found = self._draft(declared, group, choose, text, by.grants)
            if found is None or not matches_tag(if_match, found.change.tag) or _way(found.change) != _way(change):
                raise ChangedSince(
                    f"what is declared of {group} has changed since the caller read it: look again, and nothing is done"
                )
            return found

        match change.owner:
            case SettingsOwner.FILE:
                done, words, revision = await self._write_file(draft, by)
            case SettingsOwner.API:
                done, words, revision = await self._declare(draft, by)
            case SettingsOwner.BOTH if change.by_hand:
                done, words, revision = await self._declare(draft, by)
                words += "; the lines of the file are still to be changed: apply the patch, and reload"
            case SettingsOwner.BOTH:
                done, words, revision = await self._declare_both(draft, by)
            case unknown:
                assert_never(unknown)
        await self._keep(group, done, by, revision, is_return=is_return)
        return SettingsApplied(group=group, change=change, dry_run=False, revision=revision, words=words)

    async def _write_file(
        self, draft: Callable[[Declaration, str], SettingDraft], by: Actor
    ) -> tuple[SettingDraft, str, None]:
        made: list[SettingDraft] = []

        def propose(declared: Declaration, text: str) -> str:
            if not declared.catalogue.writable:
                raise Refused(
                    f"{self._engine.parts.file} has these values, and is not declared writable: change the lines and "
                    "reload, or write writable: true into it"
                )
            made.append(draft(declared, text))
            return made[0].text

        done = await self._declaring.rewrite(propose, by=by.name)
        words = "; ".join(f"{edit.file}:{edit.line}: {edit.words}" for edit in done.edits)
        return made[0], words, None

    async def _declare(
        self, draft: Callable[[Declaration, str], SettingDraft], by: Actor
    ) -> tuple[SettingDraft, str, int]:
        made: list[SettingDraft] = []

        def propose(declared: Declaration) -> DeclarationProposal:
            made.append(draft(declared, FileText.of(declared.path).text))
            return DeclarationProposal(entities=made[0].entities)

        done = await self._declaring.change(propose, by)
        return made[0], *_declared(done, made[0].change)

    async def _declare_both(
        self, draft: Callable[[Declaration, str], SettingDraft], by: Actor
    ) -> tuple[SettingDraft, str, int]:
        made: list[SettingDraft] = []

        def propose(declared: Declaration, text: str) -> tuple[str, DeclarationProposal]:
            made.append(draft(declared, text))
            return made[0].text, DeclarationProposal(entities=made[0].entities)

        done = await self._declaring.change_with_file(propose, by)
        return made[0], *_declared(done, made[0].change)

    async def _keep(
        self, group: GroupId, draft: SettingDraft, by: Actor, revision: int | None, *, is_return: bool
    ) -> None:
        """Keep what was there before. Without it, all is applied, and only going back is not offered."""
        applied = AppliedSettings(
            at=self._engine.parts.clock().wall,
            by=by.name,
            owner=draft.change.owner,
            values=draft.change.values,
            entries=draft.entries,
            revision=revision,
            is_return=is_return,
        )
        try:
            await asyncio.to_thread(self._engine.parts.store.save_applied_settings, group, applied)
        except StoreError as error:
            logs.warn("settings_not_kept", group=group, error=str(error))

    async def _applied(self, group: GroupId) -> AppliedSettings | None:
        runtime_of(self._engine, group)
        return await asyncio.to_thread(self._engine.parts.store.applied_settings, group)


def _declared(done: Redeclared, change: SettingChange) -> tuple[str, int]:
    """Return what was declared in words, and its revision. Raises `Refused` if it was not."""
    if done.problems:
        until = "before the patch of the file is applied, this is not allowed: " if change.by_hand else ""
        raise Refused(until + "; ".join(map(str, done.problems)))
    return redeclared_words(done), done.revision


def _way(change: SettingChange) -> tuple[SettingsOwner, bool]:
    """Return by what is decided how a change is made."""
    return change.owner, change.by_hand


def _asked(group: GroupId, values: Mapping[str, str], declared: Declaration) -> Wanted:
    return wanted_of(_parameters(declared, group), values)


def _parameters(declared: Declaration, group: GroupId) -> tuple[Parameter, ...]:
    if group not in declared.catalogue.groups:
        raise Refused(f"group {group} is no longer declared: there is no setting to change")
    return parameters_of(whole(declared).data, declared.catalogue, group)


def _may_see(declared: Declaration, applied: AppliedSettings, grants: Grants) -> bool:
    try:
        require_own(declared, [value.where for value in applied.values], grants)
    except Refused:
        return False
    return True
