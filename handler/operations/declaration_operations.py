"""Operations on what is declared over the API: counters, conditions, policies, profiles and groups."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, cast

from annotated_types import Ge, Len

from config.document.statement import veiled
from config.model.sections import Section
from config.units import AccountId
from handler.identity.rights import Right, Verb
from handler.operations.address import ABOUT, HEADER, installation, its_account, its_entity, over

if TYPE_CHECKING:
    from config.document.places import Plain
    from handler.engine.declaring import Redeclared
    from handler.identity.actors import Actor
    from handler.operations.facade import Operations

Body = Mapping[str, object]
Named = Annotated[str, Len(1, 80)]
Tags = Annotated[str, Len(1, 1000)] | None
_IF_MATCH = {HEADER: "If-Match", ABOUT: "Only if it still has one of these entity tags."}
_DOCUMENT = {ABOUT: "The document, as an entry of the file has it."}
_ACCOUNT = {ABOUT: "That it belongs to; null: the caller's own."}
_DRY_RUN = {ABOUT: "Only say what would change."}
_MEMBERS = {ABOUT: "Groups that are deleted may have members, which leave first."}


def _audited(operation: Any) -> str:  # noqa: ANN401  # an operation with a document
    """Return the fields of a request as the audit trail keeps them: without what may be a secret."""
    body = veiled(dict(operation.declared), (operation.section.value, "*"))
    return _json({"declared": body, "name": operation.name, "dry_run": operation.dry_run})


def _audited_sections(operation: Any) -> str:  # noqa: ANN401  # an operation with sections
    return _json({"sections": _veiled(operation.sections), "dry_run": operation.dry_run})


def _veiled(sections: Mapping[Section, Mapping[str, Body]]) -> dict[str, object]:
    return {
        section.value: {
            name: veiled(cast("dict[str, Plain]", dict(body)), (section.value, name)) for name, body in bodies.items()
        }
        for section, bodies in sections.items()
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, default=str)


@over(
    "POST", "/declarations/{section}", "declare", verb=Verb.TUNE, on=its_account, body="NewEntityBody",
    tag="declarations", status=201, audited=_audited,
)  # fmt: skip
class Declare:
    """Declare a new entity, whole or not at all. Its id is derived from its display name, and never changes."""

    section: Section
    name: Named = field(metadata={ABOUT: "The display name, unique in its account and section."})
    declared: Body = field(metadata=_DOCUMENT)
    dry_run: bool = field(default=False, metadata=_DRY_RUN)
    account: AccountId | None = field(default=None, metadata=_ACCOUNT)

    async def perform(self, operations: Operations, by: Actor) -> Redeclared:
        account = by.account if self.account is None else self.account
        return await operations.declarations.make(
            account, self.section, self.name, self.declared, by, dry_run=self.dry_run
        )


@over(
    "PUT", "/declarations/{section}/{id}", "redeclare", verb=Verb.TUNE, on=its_entity, body="EntityBody",
    tag="declarations", audited=_audited,
)  # fmt: skip
class Redeclare:
    """Replace the document of an entity, whole or not at all; with ``name``, its display name as well."""

    section: Section
    id: str
    declared: Body = field(metadata=_DOCUMENT)
    name: Named | None = field(default=None, metadata={ABOUT: "A new display name; the id stays."})
    dry_run: bool = field(default=False, metadata=_DRY_RUN)
    if_match: Tags = field(default=None, metadata=_IF_MATCH)

    async def perform(self, operations: Operations, by: Actor) -> Redeclared:
        return await operations.declarations.replace(
            self.section, self.id, self.name, self.declared, by, if_match=self.if_match, dry_run=self.dry_run
        )


@over("DELETE", "/declarations/{section}/{id}", "delete_declared", verb=Verb.TUNE, on=its_entity, tag="declarations")
class DeleteDeclared:
    """Delete an entity that nothing uses. The members of a group leave first, which ``members`` must allow.

    A caller who may declare may delete what has no members; to have members leave takes the right to delete groups.
    """

    section: Section
    id: str
    members: bool = field(default=False, metadata=_MEMBERS)
    dry_run: bool = field(default=False, metadata=_DRY_RUN)
    if_match: Tags = field(default=None, metadata=_IF_MATCH)

    async def perform(self, operations: Operations, by: Actor) -> Redeclared:
        if self.members:
            operations.authorising.check(by, Right(Verb.DELETE, its_entity(self)))
        return await operations.declarations.delete(
            self.section, self.id, by, members=self.members, if_match=self.if_match, dry_run=self.dry_run
        )


@over(
    "POST", "/declarations", "apply_declarations", verb=Verb.TUNE, on=its_account, body="DeclarationsBody",
    tag="declarations", audited=_audited_sections,
)  # fmt: skip
class ApplyDeclarations:
    """Make or replace several entities at once: all of them or none. They may name each other by display names."""

    sections: Mapping[Section, Mapping[str, Body]] = field(
        metadata={ABOUT: "Section → display name or id → document, as the file has them."}
    )
    dry_run: bool = field(default=False, metadata=_DRY_RUN)
    account: AccountId | None = field(default=None, metadata=_ACCOUNT)

    async def perform(self, operations: Operations, by: Actor) -> Redeclared:
        account = by.account if self.account is None else self.account
        return await operations.declarations.apply(account, self.sections, by, dry_run=self.dry_run)


@over(
    "POST", "/declarations/revisions/{number}/restore", "restore_revision", verb=Verb.DELETE, on=installation,
    body="RestoreBody", may_be_bare=True, tag="declarations",
)  # fmt: skip
class RestoreRevision:
    """Declare over the API what was declared after a revision, as a new revision; 0 is before the first."""

    number: Annotated[int, Ge(0)]
    members: bool = field(default=False, metadata=_MEMBERS)
    dry_run: bool = field(default=False, metadata=_DRY_RUN)

    async def perform(self, operations: Operations, by: Actor) -> Redeclared:
        return await operations.declarations.restore(self.number, by, members=self.members, dry_run=self.dry_run)


DeclarationOperation = Declare | Redeclare | DeleteDeclared | ApplyDeclarations | RestoreRevision
