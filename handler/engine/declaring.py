"""Bring declarations into force: the file again, or a change over the API. There is one way to apply a catalogue."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from config.document.entities import Entity
from config.document.places import read_places
from config.errors import DeclarationError, Problem, Refused, TrimtabError
from config.load import read
from config.model.edits import Edit
from config.model.where import Where
from config.units import AccountId, GroupId
from handler import logs
from handler.engine.assembly import Reloaded, reloaded, words_of
from handler.engine.declared import Declaration, changed, taken_again
from handler.engine.engine import Engine
from handler.engine.exclusive import refuse_foreign
from handler.engine.file_text import FileText
from handler.identity.actors import Actor, Origin
from handler.ports.declarations import DeclaredOverApi, EntityChange, EntityRevision, changes_between
from handler.runtime.definitions import definitions, edited_by

_LOGGED_AT_MOST = 20
"""Problems of a refused file that the log repeats; the reload's answer has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclarationProposal:
    """What a request wants to be declared over the API."""

    entities: Mapping[Where, Entity]
    """All of them, as they are to be."""
    restored: int | None = None
    """The revision that they are taken from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AffectedGroup:
    """What a change of the declaration does to one group that runs, or will."""

    group: GroupId
    act: str
    """``added``, ``changed`` or ``removed``."""
    members: int
    desired_from: int | None
    desired_to: int | None
    """The bounds move it at once; ``None``: not known before the first listing, or the group is removed."""
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Redeclared:
    """What a change over the API did or would do; with problems, nothing."""

    problems: tuple[Problem, ...] = ()
    dry_run: bool
    revision: int
    """The newest revision, this change included unless it is a dry run or changes nothing."""
    changes: tuple[EntityChange, ...] = ()
    edits: tuple[Edit, ...] = ()
    """What differs in the whole declaration."""
    groups: tuple[AffectedGroup, ...] = ()


def redeclared_words(done: Redeclared) -> str:
    """Return what a change did as one line: its revision, and each edit as ``key: before → after``."""
    if not done.changes:
        return "nothing changes"
    revision = "dry run" if done.dry_run else f"revision {done.revision}"
    return f"{revision}: {words_of(done.edits)}"


class Declaring:
    """Changes of the declaration, one at a time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def reload(self, *, by: str) -> Reloaded:
        """Take the file again: all or nothing. A refused file leaves the old catalogue in force.

        Raises:
            Refused: a file that was applied is in force, and not this machine's own.
        """
        engine = self._engine
        async with engine.changing:
            before = engine.declared()
            before.refuse_applied()
            try:
                after = await asyncio.to_thread(lambda: taken_again(read(engine.parts.file), before))
                found = await engine.take(after, by=by)
            except DeclarationError as error:
                engine.reports.metrics.refused()
                logs.warn("reload_refused", problems=len(error.problems))
                for problem in error.problems[:_LOGGED_AT_MOST]:
                    logs.warn("reload_problem", at=f"{problem.file}:{problem.line}", message=problem.message)
                return Reloaded(problems=error.problems, added=(), changed=(), orphaned=(), edits=())
            await engine.ingest.hooks.reload()
        return reloaded(before.catalogue, after.catalogue, found)

    async def rewrite(self, propose: Callable[[Declaration, str], str], *, by: str) -> Reloaded:
        """Write another text into the file, and bring it into force; or neither.

        Args:
            propose: returns the new text, given what is declared and the present text; called in a thread.
            by: the history keeps the name.

        Raises:
            Refused: the new text is refused, the file cannot be written or was edited meanwhile; or whatever
                ``propose`` raises. The file is as it was.
            StoreError: the store cannot be read or written; likewise.
        """
        engine, path = self._engine, self._engine.parts.file
        async with engine.changing:
            before = engine.declared()
            before.refuse_applied()
            there = await asyncio.to_thread(FileText.of, path)

            def checked() -> tuple[str, Declaration]:
                text = propose(before, there.text)
                after = taken_again(read_places(text, str(path)), before)
                engine.parts.refuse(after.catalogue)
                definitions(after.catalogue, engine.parts.store, path)
                return text, after

            try:
                text, after = await asyncio.to_thread(checked)
                async with _rewritten(there, text):
                    found = await engine.take(after, by=by)
            except DeclarationError as error:
                raise Refused(str(error)) from error
            await engine.ingest.hooks.reload()
        return reloaded(before.catalogue, after.catalogue, found)

    async def change(
        self,
        propose: Callable[[Declaration], DeclarationProposal],
        by: Actor,
        *,
        members: bool = False,
        dry_run: bool = False,
    ) -> Redeclared:
        """Change what is declared over the API: all of it or nothing, as one revision.

        Args:
            propose: returns what is to be declared, given what is; it may read the store, in a thread.
            by: the revision keeps its name, and where the request came from.
            members: groups that are deleted may have members, which are removed.
            dry_run: only say what would change.

        Raises:
            Refused: a group that has members would be deleted, an account would have more than its quota, or an
                exclusive group a balancer with foreign machines; or whatever ``propose`` raises.
            StoreError: the store cannot be read or written, and nothing has changed.
        """
        engine = self._engine
        async with engine.changing:
            before = engine.declared()
            proposal = await asyncio.to_thread(propose, before)
            return await self._changed(before, proposal, by, members=members, dry_run=dry_run)

    async def change_with_file(
        self, propose: Callable[[Declaration, str], tuple[str, DeclarationProposal]], by: Actor
    ) -> Redeclared:
        """Write another text into the file, and change what is declared over the API as one revision; or neither.

        The file is written first, and what it says must be allowed also without the revision: a daemon that dies
        between the two starts again.

        Args:
            propose: returns the new text and what is to be declared, given what is declared and the present text;
                called in a thread.
            by: the history and the revision keep its name.

        Raises:
            Refused: as `rewrite` and `change`.
            StoreError: the store cannot be read or written, and nothing has changed.
        """
        engine, path = self._engine, self._engine.parts.file
        async with engine.changing:
            before = engine.declared()
            before.refuse_applied()
            there = await asyncio.to_thread(FileText.of, path)

            def checked() -> tuple[str, DeclarationProposal, Declaration]:
                text, proposal = propose(before, there.text)
                between = taken_again(read_places(text, str(path)), before)
                engine.parts.refuse(between.catalogue)
                definitions(between.catalogue, engine.parts.store, path)
                return text, proposal, between

            try:
                text, proposal, between = await asyncio.to_thread(checked)
            except DeclarationError as error:
                raise Refused(f"the new file must be allowed also without the revision, and is not: {error}") from error
            done = await self._changed(between, proposal, by, around=_rewritten(there, text))
            await engine.ingest.hooks.reload()
        return done

    async def _changed(
        self,
        before: Declaration,
        proposal: DeclarationProposal,
        by: Actor,
        *,
        members: bool = False,
        dry_run: bool = False,
        around: contextlib.AbstractAsyncContextManager[None] | None = None,
    ) -> Redeclared:
        """Change what is declared over the API; ``around`` is entered once that is known to be allowed."""
        engine, number = self._engine, before.revision + 1
        changes = tuple(
            change if change.after is None else replace(change, after=replace(change.after, revision=number))
            for change in changes_between(before.entities, proposal.entities)
        )
        if not changes:
            return Redeclared(dry_run=dry_run, revision=before.revision)
        owners = self._owners(before, changes)
        try:
            after = await asyncio.to_thread(
                partial(changed, before, changes, owners, sees_all=by.grants.groups is None)
            )
            for account in owners:
                engine.quotas.refuse_more(account, after)
            await asyncio.to_thread(self._refuse_foreign, before, after)
            async with around or contextlib.nullcontext():
                edits = await self._applied(before, after, changes, proposal, by, members=members, dry_run=dry_run)
        except DeclarationError as error:
            return Redeclared(problems=error.problems, dry_run=dry_run, revision=before.revision)
        return Redeclared(
            dry_run=dry_run,
            revision=before.revision if dry_run else after.revision,
            changes=changes,
            edits=edits,
            groups=tuple(self._affected(before, after, edits)),
        )

    def _owners(self, before: Declaration, changes: Collection[EntityChange]) -> Mapping[AccountId, Collection[str]]:
        """Return the accounts of what is changed, with what of the root account's each may name.

        Raises:
            Refused: an account is gone, and an earlier revision would bring back what it had.
        """
        entities = (change.after or change.before for change in changes)
        found = {entity.account for entity in entities if entity is not None}
        return {account: self._engine.users.accounts.account(account).uses for account in found}

    def _refuse_foreign(self, before: Declaration, after: Declaration) -> None:
        """Raise what `refuse_foreign` does about groups that the API declares. Blocks."""
        parts = self._engine.parts
        groups = after.groups_of_api & after.catalogue.groups.keys()
        refuse_foreign(before.catalogue, after.catalogue, groups, parts.balancer_for, parts.converger.installation)

    async def _applied(  # noqa: PLR0913  # one change, whole
        self,
        before: Declaration,
        after: Declaration,
        changes: tuple[EntityChange, ...],
        proposal: DeclarationProposal,
        by: Actor,
        *,
        members: bool,
        dry_run: bool,
    ) -> tuple[Edit, ...]:
        engine, store, file = self._engine, self._engine.parts.store, before.path
        deleted = before.groups_of_api - after.groups_of_api
        async with contextlib.AsyncExitStack() as still:
            for group in sorted(deleted):
                await still.enter_async_context(self._settled(group, members=members))
            if dry_run:
                await asyncio.to_thread(definitions, after.catalogue, store, file)
                return (await asyncio.to_thread(edited_by, by.name, after.catalogue, store, file)).edits
            revision = EntityRevision(
                number=after.revision,
                at=engine.parts.clock().wall,
                by=by.name,
                origin=_words_of(by.origin),
                restored=proposal.restored,
                changes=changes,
            )
            return await engine.take(after, by=by.name, over=DeclaredOverApi(revision=revision, deleted=deleted))

    @contextlib.asynccontextmanager
    async def _settled(self, group: GroupId, *, members: bool) -> AsyncIterator[None]:
        """Hold off the passes of a group that is to be deleted.

        Raises:
            Refused: it has members, and the request does not say that they are to be removed.
        """
        runtime = self._engine.runtimes.get(group)
        if runtime is None:
            yield
            return
        async with self._engine.keeper.between(runtime):
            count = len(await asyncio.to_thread(self._engine.parts.store.members, group))
            if count and not members:
                have = "1 member" if count == 1 else f"{count} members"
                raise Refused(f"group {group} has {have}: to have them leave first, ask with members=true (--members)")
            yield

    def _affected(self, before: Declaration, after: Declaration, edits: tuple[Edit, ...]) -> Iterator[AffectedGroup]:
        old, new = before.catalogue.groups, after.catalogue.groups
        touched = {group for edit in edits for group in edit.groups} & {*old, *new}
        for group in sorted(touched | (before.groups_of_api - after.groups_of_api)):
            runtime = self._engine.runtimes.get(group)
            size = None if runtime is None else runtime.state.desired
            wanted = new.get(group)
            clamped = None if size is None or wanted is None else min(max(size, wanted.minimum), wanted.maximum)
            seen = None if runtime is None else runtime.seen
            yield AffectedGroup(
                group=group,
                act="removed" if wanted is None else "changed" if group in old else "added",
                members=0 if seen is None else len(seen.world.members),
                desired_from=size,
                desired_to=clamped,
                changes=tuple(edit.words for edit in edits if group in edit.groups),
            )


@contextlib.asynccontextmanager
async def _rewritten(there: FileText, text: str) -> AsyncIterator[None]:
    """Write a text into the file, and put the old one back if the block fails."""
    written = await asyncio.to_thread(there.replaced, text)
    try:
        yield
    except TrimtabError:
        await asyncio.to_thread(written.replaced, there.text)
        raise


def _words_of(origin: Origin) -> str:
    return " ".join(filter(None, (origin.way.value, origin.credential, origin.peer)))
