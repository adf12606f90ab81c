"""What is declared: the file as it was taken last, and the entities of the API over it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from config.checks.references import needed
from config.document.entities import Entity, key_at
from config.document.overlay import OFFERED, narrowed
from config.document.places import ParsedText
from config.errors import DeclarationError, Problem, Refused
from config.load import read
from config.merge import Merged, losses, merge
from config.model.catalogue import Catalogue
from config.model.sections import Section
from config.model.where import Where, dotted
from config.settings import loose_secrets
from config.units import ROOT_ACCOUNT, AccountId, GroupId
from handler import logs
from handler.engine.file_digest import declaration_digest
from handler.ports.declarations import AppliedFile, EntityChange
from handler.ports.store import FileChange, Store
from handler.runtime.definitions import definitions, edited_by

if TYPE_CHECKING:
    from handler.engine.parts import EngineParts

_LOGGED_AT_MOST = 20  # edits, and entities in quarantine; the history and the API have all


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """The declaration in force, or one that is proposed."""

    file: ParsedText
    """As it was taken, whatever was written into it since."""
    entities: Mapping[Where, Entity]
    """Everything that is declared over the API, the quarantined included."""
    revision: int
    """Number of the newest revision of the entities; 0: there is none."""
    merged: Merged
    applied: AppliedFile | None = None
    """Where ``file`` comes from, if all daemons over the store go by it; ``None``: it is this machine's own."""

    @property
    def path(self) -> Path:
        """Where the file is on this machine: its own, or the copy of the one that was applied."""
        return Path(self.file.file)

    def change(self, by: str, before: Declaration | None, parts: EngineParts) -> FileChange:
        """Return what comes into force with this declaration, and what was edited in its file. It reads the store.

        Args:
            by: what caused it.
            before: the declaration in force; ``None``: the daemon starts.
            parts: of the engine.
        """
        edited = edited_by(by, self.catalogue, parts.store, self.path)
        digest = declaration_digest(self.file) if parts.workers_may_follow else ""
        return replace(edited, applied=self.newly_applied(before, parts.applied), digest=digest)

    def newly_applied(self, before: Declaration | None, stored: AppliedFile | None) -> AppliedFile | None:
        """Return the file that was applied, unless the store has it already.

        Args:
            before: the declaration in force; ``None``: the daemon starts.
            stored: what the store had at the start.
        """
        known = stored if before is None else before.applied
        return None if self.applied == known else self.applied

    def refuse_applied(self) -> None:
        """Refuse to take or to write this machine's own file, which counts for nothing now.

        Raises:
            Refused: a file was applied for all daemons over the store.
        """
        if self.applied is not None:
            raise Refused(
                f"revision {self.applied.revision} of the declaration is in force, which {self.applied.by} applied "
                f"from {self.applied.source}: apply a file in its place (trimtab apply FILE)"
            )

    @property
    def catalogue(self) -> Catalogue:
        """Return the catalogue of both."""
        return self.merged.catalogue

    @property
    def quarantined(self) -> Mapping[GroupId, str]:
        """Return the groups in quarantine, and why; not those whose id the file has taken."""
        return {
            GroupId(name): "; ".join(map(str, problems))
            for (section, name), problems in self.merged.quarantined.items()
            if section == Section.GROUPS.value and GroupId(name) not in self.catalogue.groups
        }

    @property
    def accounts(self) -> Mapping[GroupId, AccountId]:
        """Return the groups that belong to another account than the root, which has those of the file."""
        return {
            GroupId(entity.id): entity.account
            for key, entity in self.entities.items()
            if entity.section is Section.GROUPS and entity.account != ROOT_ACCOUNT and key not in self.file.keys
        }

    def account_of(self, key: Where) -> AccountId:
        """Return the account that something declared belongs to; the root, if it is the file's."""
        entity = None if key in self.file.keys else self.entities.get(key)
        return ROOT_ACCOUNT if entity is None else entity.account

    def offers(self, uses: Collection[str]) -> Mapping[str, frozenset[Where]]:
        """Return what each of these words offers to another account: an entity of the root account's, and its needs.

        A word that is missing offers nothing: there is no such entity, or it needs a group or an alert.
        """
        found: dict[str, frozenset[Where]] = {}
        for word in uses:
            section, _, name = word.partition(".")
            entity = self.entities.get((section, name))
            owned = (section, name) in self.file.keys or (entity is not None and entity.account == ROOT_ACCOUNT)
            keys = needed(self.catalogue, ((section, name),)) if owned and section in OFFERED else frozenset()
            if keys and all(key[0] in OFFERED for key in keys):
                found[word] = keys
        return found

    @property
    def groups_of_api(self) -> frozenset[GroupId]:
        """Return the groups that are declared over the API and nowhere else."""
        return frozenset(
            GroupId(name)
            for section, name in self.entities
            if section == Section.GROUPS.value and (section, name) not in self.file.keys
        )


def at_start(path: Path, store: Store, applied: AppliedFile | None = None) -> Declaration:
    """Read the file and the store. An entity of the API that is unsound is quarantined, and never fatal.

    ``applied`` is what has its text at ``path``; ``None``: that is this machine's own file.

    Raises:
        DeclarationError: the file is refused.
        StoreError: the store cannot be read.
    """
    file, entities = read(path), {entity.key: entity for entity in store.entities()}
    newest = store.entity_revisions(1)
    kept, unsound = dict(entities), dict[Where, tuple[Problem, ...]]()
    while True:
        merged = merge(file, kept.values(), kept.keys())
        problems = _misplaced(merged.catalogue, store, path, kept.keys())
        if not problems:
            break
        for key, each in problems.items():
            unsound[key] = each
            del kept[key]
    return Declaration(
        file=file,
        entities=MappingProxyType(entities),
        revision=newest[0].number if newest else 0,
        merged=replace(merged, quarantined=MappingProxyType({**unsound, **merged.quarantined})),
        applied=applied,
    )


def _misplaced(
    catalogue: Catalogue, store: Store, path: Path, suspects: Collection[Where]
) -> Mapping[Where, tuple[Problem, ...]]:
    """Return the groups of the API whose members are on another cloud than the one that is declared now.

    Raises:
        DeclarationError: there is such a group of the file.
    """
    try:
        definitions(catalogue, store, path)
    except DeclarationError as error:
        found: dict[Where, tuple[Problem, ...]] = {}
        for problem in error.problems:
            key = key_at(problem.file)
            if key is None or key not in suspects:
                raise
            found[key] = (*found.get(key, ()), problem)
        return found
    return {}


def taken_again(file: ParsedText, before: Declaration) -> Declaration:
    """Take the file again. The entities of the API stay, and an edit may take away nothing that they use.

    Raises:
        DeclarationError: the file is refused, also for what it would do to entities of the API.
    """
    quarantined = before.merged.quarantined
    lost = [
        problem for key, problem in losses(before.catalogue, file, before.entities.values()) if key not in quarantined
    ]
    if lost:
        raise DeclarationError(tuple(sorted(lost)))
    return replace(before, file=file, merged=merge(file, before.entities.values(), quarantined.keys()))


def changed(
    before: Declaration, changes: Collection[EntityChange], uses: Mapping[AccountId, Collection[str]], *, sees_all: bool
) -> Declaration:
    """Return the declaration that changes over the API lead to, one revision on.

    Args:
        before: the declaration in force.
        changes: of entities.
        uses: what the accounts of these entities may name of the root account's.
        sees_all: problems may tell of what other accounts have.

    Raises:
        DeclarationError: it is refused whole; each problem has its place.
    """
    entities = dict(before.entities)
    for change in changes:
        if change.after is None:
            entities.pop(change.key, None)
        else:
            entities[change.key] = change.after
    suspects = before.merged.quarantined.keys() - {change.key for change in changes}
    for account, named in sorted(uses.items()):
        judge_alone(before, entities.values(), account, named, suspects)
    try:
        merged = merge(before.file, entities.values(), suspects)
    except DeclarationError as error:
        raise error if sees_all else _beside_others(changes, error) from error
    return replace(before, entities=MappingProxyType(entities), revision=before.revision + 1, merged=merged)


def judge_alone(
    declared: Declaration,
    entities: Iterable[Entity],
    account: AccountId,
    uses: Collection[str],
    suspects: Collection[Where] = (),
) -> None:
    """Judge what one account declares as if there were no other: it has what it may use, and nothing else.

    So what another account has is answered like what does not exist, and no message names it.

    Raises:
        DeclarationError: it is unsound by itself.
    """
    known = tuple(entities)
    if account == ROOT_ACCOUNT:
        if any(entity.account != account for entity in known):
            merge(declared.file, [entity for entity in known if entity.account == account], suspects)
        return
    offered = frozenset[Where]().union(*declared.offers(uses).values())
    seen = [
        entity
        for entity in known
        if entity.account == account or (entity.account == ROOT_ACCOUNT and entity.key in offered)
    ]
    merge(narrowed(declared.file, offered), seen, suspects)


def _beside_others(changes: Collection[EntityChange], error: DeclarationError) -> DeclarationError:
    """Return what a caller hears whose declaration is sound, but not beside those of others."""
    logs.warn("declaration_refused", problem=str(error.problems[0]))
    message = "this cannot stand beside what the installation has: ask its operator, whose log has the reason"
    places = [change.after.site for change in changes if change.after is not None]
    file, line = (places[0].file, places[0].line) if places else ("api", 0)
    return DeclarationError((Problem(file=file, line=line, column=1, message=message),))


def log_declared(declared: Declaration, edited: FileChange) -> None:
    """Write into the log what came into force. It looks at files of secrets."""
    catalogue = declared.catalogue
    for warning in loose_secrets(catalogue):
        logs.warn("secret_exposed", at=f"{warning.file}:{warning.line}", message=warning.message)
    for key, problems in list(declared.merged.quarantined.items())[:_LOGGED_AT_MOST]:
        logs.warn("quarantined", entity=dotted(key), problem=str(problems[0]))
    logs.say("catalogue", digest=catalogue.digest[:12], groups=len(catalogue.groups))
    for edit in edited.edits[:_LOGGED_AT_MOST]:
        logs.say("edited", at=f"{edit.file}:{edit.line}", change=edit.words, groups=len(edit.groups), by=edited.by)
