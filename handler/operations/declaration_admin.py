"""Make, replace, delete and restore what is declared over the API, and show it beside what the file declares."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from config.checks.references import users
from config.document.entities import Entity
from config.document.overlay import narrowed, overlaid, place_of
from config.document.places import Plain
from config.model.sections import Section
from config.model.where import Where, dotted
from config.units import AccountId
from handler.engine.declared import Declaration
from handler.engine.declaring import DeclarationProposal, Declaring, Redeclared
from handler.engine.engine import Engine
from handler.identity.actors import Actor
from handler.identity.grants import Grants
from handler.operations.declaration_proposals import (
    Body,
    applied,
    deleted,
    entries,
    made,
    owned,
    replaced,
    require,
    unchanged,
)
from handler.operations.lookup import NoSuch
from handler.ports.declarations import EntityRevision, rewound


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredEntry:
    """One entity as it is declared, by whichever owner."""

    section: Section
    id: str
    name: str
    """The display name; of an entry of the file, its id."""
    owner: str
    """``file`` or ``api``."""
    account: AccountId
    """That it belongs to."""
    at: str
    """``FILE:LINE``, or ``api/SECTION/ID:REVISION``."""
    revision: int | None
    """The revision that wrote it; ``None``: the file did."""
    declared: Mapping[str, Plain]
    """Its document, secrets included; who may not see those is shown a veiled one."""
    quarantined: tuple[str, ...]
    """Why the entity of the API is not in force, also one whose id the file has taken; empty: it is."""
    used_by: tuple[str, ...]
    """The entities that name it, sorted."""


class DeclarationAdmin:
    """Proposes changes to the engine, which judges and applies them."""

    def __init__(self, engine: Engine, declaring: Declaring) -> None:
        self._engine, self._declaring = engine, declaring

    # Reading

    def all(self, grants: Grants, section: Section | None = None) -> tuple[DeclaredEntry, ...]:
        """Return what the caller's accounts declare, in the order of sections and ids."""
        declared = self._engine.declared()
        used_by = users(declared.catalogue)
        sections = tuple(Section) if section is None else (section,)
        keys = [(each.value, name) for each in sections for name in sorted(entries(declared, each))]
        own = [key for key in keys if grants.holds(declared.account_of(key))]
        return tuple(_shown(declared, key, used_by) for key in own)

    def one(self, section: Section, id: str) -> DeclaredEntry:
        """Return one entity.

        Raises:
            NoSuch: there is none.
        """
        declared = self._engine.declared()
        require(declared, section, id)
        return _shown(declared, (section.value, id), users(declared.catalogue))

    def document(self, grants: Grants) -> Mapping[str, Plain]:
        """Return what is in force of the caller's accounts as one file would say it, with the secrets in it."""
        declared = self._engine.declared()
        kept = [entity for key, entity in declared.entities.items() if key not in declared.merged.quarantined]
        if grants.groups is None:
            return overlaid(declared.file, kept).data
        own = [entity for entity in kept if grants.holds(entity.account)]
        return overlaid(narrowed(declared.file, ()), own).data

    async def revisions(self, grants: Grants) -> tuple[EntityRevision, ...]:
        """Return every revision of the caller's entities, newest first; what it changed of others is left out.

        An account has nothing of an earlier one that had its name.
        """
        found = await asyncio.to_thread(self._engine.parts.store.entity_revisions)
        if grants.groups is None:
            return tuple(each for each in found if each.changes)
        known = (self._engine.users.accounts.named(name) for name in grants.accounts)
        after = {account.id: account.after_revision for account in known if account is not None}
        own = (
            replace(each, changes=tuple(one for one in each.changes if each.number > after.get(one.account, math.inf)))
            for each in found
        )
        return tuple(each for each in own if each.changes)

    # Changing

    async def make(  # an entity's parts
        self, account: AccountId, section: Section, name: str, body: Body, by: Actor, *, dry_run: bool
    ) -> Redeclared:
        """Declare a new entity of an account.

        Raises:
            Refused: the name or the document is none, or the name is taken.
            StoreError: the store cannot be written, and nothing has changed.
        """
        return await self._change(
            lambda declared: made(declared, account, section, name, body, self._ids()), by, dry_run
        )

    async def replace(  # noqa: PLR0913  # an entity's parts
        self,
        section: Section,
        id: str,
        name: str | None,
        body: Body,
        by: Actor,
        *,
        if_match: str | None,
        dry_run: bool,
    ) -> Redeclared:
        """Replace the document of an entity, and its display name if one is given.

        Raises:
            NoSuch: there is none.
            ChangedSince: it is no longer what an entity tag of ``if_match`` says.
            Refused: the file owns it; or as `make`.
            StoreError: as `make`.
        """

        def propose(declared: Declaration) -> Mapping[Where, Entity]:
            return replaced(declared, unchanged(owned(declared, section, id), if_match), name, body)

        return await self._change(propose, by, dry_run)

    async def delete(
        self, section: Section, id: str, by: Actor, *, members: bool, if_match: str | None, dry_run: bool
    ) -> Redeclared:
        """Delete an entity; the members of a group leave first, if ``members`` allows it.

        Raises:
            NoSuch: there is none.
            ChangedSince: it is no longer what an entity tag of ``if_match`` says.
            Refused: the file owns it, another entity uses it, or it has members that may not be removed.
            StoreError: as `make`.
        """

        def propose(declared: Declaration) -> Mapping[Where, Entity]:
            return deleted(declared, unchanged(owned(declared, section, id), if_match))

        return await self._change(propose, by, dry_run, members=members)

    async def apply(
        self, account: AccountId, sections: Mapping[Section, Mapping[str, Body]], by: Actor, *, dry_run: bool
    ) -> Redeclared:
        """Make or replace several entities of an account, each by its display name or its id. Raises as `replace`."""
        return await self._change(lambda declared: applied(declared, account, sections, self._ids()), by, dry_run)

    async def restore(self, number: int, by: Actor, *, members: bool, dry_run: bool) -> Redeclared:
        """Declare again over the API what was declared after a revision; 0: nothing.

        Raises:
            NoSuch: there is no such revision.
            Refused: a group that goes has members that may not be removed.
            StoreError: as `make`.
        """

        def propose(declared: Declaration) -> DeclarationProposal:
            if not 0 <= number <= declared.revision:
                raise NoSuch(f"there is no revision {number}: the newest is {declared.revision}")
            store = self._engine.parts.store
            later = tuple(each for each in store.entity_revisions() if each.number > number)
            return DeclarationProposal(entities=rewound(declared.entities, later), restored=number)

        return await self._declaring.change(propose, by, members=members, dry_run=dry_run)

    async def _change(
        self,
        propose: Callable[[Declaration], Mapping[Where, Entity]],
        by: Actor,
        dry_run: bool,
        *,
        members: bool = False,
    ) -> Redeclared:
        def proposal(declared: Declaration) -> DeclarationProposal:
            return DeclarationProposal(entities=propose(declared))

        return await self._declaring.change(proposal, by, members=members, dry_run=dry_run)

    def _ids(self) -> Collection[str]:
        """Return the groups that there are or that are still being deleted: their ids are not given again."""
        return frozenset(self._engine.runtimes)


def _shown(declared: Declaration, key: Where, used_by: Mapping[Where, Mapping[Where, Where]]) -> DeclaredEntry:
    section, name = key
    entity = declared.entities.get(key)
    if key in declared.file.keys:
        entity = None  # the file has taken its id
    site = declared.file.key_site(key) if entity is None else entity.site
    found = entries(declared, Section(section))[name]
    return DeclaredEntry(
        section=Section(section),
        id=name,
        name=name if entity is None else entity.name,
        owner="file" if entity is None else "api",
        account=declared.account_of(key),
        at=place_of(site),
        revision=None if entity is None else entity.revision,
        declared=found,
        quarantined=tuple(map(str, declared.merged.quarantined.get(key, ()))),
        used_by=tuple(dotted(user) for user in sorted(used_by.get(key, ()))),
    )
