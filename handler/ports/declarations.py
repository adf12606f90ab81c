"""What is declared in the store: entities, with every change as a revision, and the file that all daemons go by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from config.document.entities import Entity
from config.model.where import Where
from config.units import ROOT_ACCOUNT, AccountId, GroupId, Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityChange:
    """What one revision did to one entity."""

    key: Where
    """Section and id."""
    before: Entity | None
    """``None``: it was made."""
    after: Entity | None
    """``None``: it was deleted."""

    @property
    def account(self) -> AccountId:
        """That it belongs to."""
        entity = self.after or self.before
        return ROOT_ACCOUNT if entity is None else entity.account

    @property
    def name(self) -> str:
        """Its display name, the newest that it had."""
        entity = self.after or self.before
        return "" if entity is None else entity.name


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRevision:
    """One change of what is declared over the API, whole or not at all."""

    number: int
    """From 1, without gaps."""
    at: Instant
    by: str
    """The user, or the name that a caller gave itself."""
    origin: str
    """Where the request came from, in words."""
    restored: int | None = None
    """The revision that this one restores; ``None``: it restores none."""
    changes: tuple[EntityChange, ...]
    """Sorted by section and id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredOverApi:
    """What a declaration that comes into force has of the API beside the file's."""

    revision: EntityRevision | None = None
    """The change that brings it; ``None``: it is the file's, or the daemon's start."""
    deleted: frozenset[GroupId] = frozenset()
    """Groups of the API that this deletes: they are emptied, and then forgotten."""
    quarantined: Mapping[GroupId, str] = field(default_factory=dict)
    """Groups of the API that cannot be judged, and why: they keep their members, and nothing is evaluated."""
    accounts: Mapping[GroupId, AccountId] = field(default_factory=dict)
    """The groups of the API that belong to another account than `ROOT_ACCOUNT`."""


NOTHING_OVER_API = DeclaredOverApi()


class DeclarationStore(Protocol):
    """Entities of the API and their revisions; `declare` of the whole store writes them."""

    def entities(self) -> tuple[Entity, ...]:
        """Everything that is declared over the API, sorted by section and id."""
        ...

    def entity_revisions(self, limit: int | None = None) -> tuple[EntityRevision, ...]:
        """The newest revisions, newest first; ``None``: all."""
        ...


def changes_between(before: Mapping[Where, Entity], after: Mapping[Where, Entity]) -> tuple[EntityChange, ...]:
    """Return what leads from some entities to others, sorted; entities of equal name and text are the same."""
    found = (EntityChange(key=key, before=before.get(key), after=after.get(key)) for key in sorted({*before, *after}))
    return tuple(change for change in found if _content(change.before) != _content(change.after))


def _content(entity: Entity | None) -> tuple[str, str] | None:
    return None if entity is None else (entity.name, entity.text)


def rewound(entities: Mapping[Where, Entity], later: tuple[EntityRevision, ...]) -> Mapping[Where, Entity]:
    """Return the entities as they were before some revisions.

    Args:
        entities: as they are now.
        later: the revisions to undo, newest first, without gaps.
    """
    found = dict(entities)
    for revision in later:
        for change in revision.changes:
            if change.before is None:
                found.pop(change.key, None)
            else:
                found[change.key] = change.before
    return found


SEALING = 48
"""Characters at the beginning of a sealed text: its key's id, and random ones of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedFile:
    """A declaration that every daemon over the store goes by, in place of its own machine's file."""

    revision: int
    """Grows by one with each file that is applied, from 1."""
    at: Instant
    by: str
    source: str
    """What the file was called where it was applied."""
    sealed: str = field(repr=False)
    """Its text, encrypted for this revision (`handler.sealing`): commands and environments in it may hold secrets."""

    @property
    def sealing(self) -> str:
        """What tells one sealing of a text from the next."""
        return self.sealed[:SEALING]


class AppliedStore(Protocol):
    """The file that was applied last. A new one is written by `Store.declare`, with the groups that it declares."""

    def applied_file(self) -> AppliedFile | None:
        """Return it; ``None``: each daemon goes by its own machine's file."""
        ...

    def last_applied(self) -> int:
        """Return the newest revision that was ever given out; 0: none was."""
        ...

    def save_applied_file(self, applied: AppliedFile) -> None:
        """Replace the sealed text of the revision that is in force."""
        ...

    def withdraw_applied_file(self) -> None:
        """Have each daemon go by its own machine's file again; the next file that is applied has a new revision."""
        ...
